"""The aggregates of the paper, on windows and without."""

import pytest

from blocks import built
from blocks.feeding import Tuple, answer, returned
from millstream.blocks.general import GeneralMachine
from millstream.blocks.machine import Ending, Frame

PRICES = [Tuple(0, at, (price,)) for at, price in enumerate([4.0, 8.0, 2.0, 8.0, 1.0, 0.5])]


def values(machine, tuples=PRICES, cuts=()):
    return [row[0] for _, _, row in returned(machine, tuples, cuts)]


def test_average_answers_after_the_last_tuple():
    assert answer(GeneralMachine(built.AVERAGE, Ending.LAST), PRICES) == [(23.5 / 6,)]


def test_average_after_every_tuple_is_the_cumulative_one():
    each = values(GeneralMachine(built.AVERAGE, Ending.EACH))
    assert each == values(GeneralMachine(built.CUMULATIVE))
    assert each[:3] == [4.0, 6.0, 14.0 / 3]


def test_decay():
    second = (0.9 * 4.0 + 1.1 * 8.0) / 2
    assert values(GeneralMachine(built.DECAY))[:2] == [4.0, second]


@pytest.mark.parametrize("cuts", [(), (1,), (2, 3), (1, 2, 3, 4, 5)])
@pytest.mark.parametrize("frame", [Frame(rows=3), Frame(length=2), Frame()])
def test_window_average_with_and_without_expire(frame, cuts):
    naive = values(GeneralMachine(built.NAIVE, frame=frame), cuts=cuts)
    assert naive == values(GeneralMachine(built.DELTA, frame=frame), cuts=cuts)
    if frame.rows:
        assert naive == [4.0, 6.0, 14 / 3, 6.0, 11 / 3, 9.5 / 3]


@pytest.mark.parametrize("cuts", [(), (1,), (2, 3), (1, 2, 3, 4, 5)])
def test_maximum_keeps_only_what_may_become_it(cuts):
    machine = GeneralMachine(built.MAXIMUM, frame=Frame(rows=3))
    assert not machine.takes_leavers
    assert values(machine, cuts=cuts) == [4.0, 8.0, 8.0, 8.0, 8.0, 8.0]
    assert values(GeneralMachine(built.MAXIMUM, frame=Frame(rows=2)), cuts=cuts)[-1] == 1.0


def test_active_maximum_returns_what_leaves():
    machine = GeneralMachine(built.ACTIVE_MAXIMUM, frame=Frame(length=1, active=True))
    # 4 and 2 have been deleted when their time comes.
    assert returned(machine, PRICES) == [
        (0, False, (4.0,)),
        (1, True, (8.0,)),
        (3, True, (8.0,)),
    ]


READINGS = [
    Tuple(0, at, (tag, kind, at))
    for at, tag, kind in [
        (0, "lamp", "item"),
        (3, "ann", "ap"),
        (10, "clock", "item"),
        (20, "bob", "ap"),
        (23, "vase", "item"),
        (40, "cup", "item"),
        (60, "ann", "ap"),
    ]
]


@pytest.mark.parametrize("cuts", [(), (1, 4), (2, 3, 6), tuple(range(1, 12))])
def test_an_item_without_anyone_near_is_reported_when_it_leaves(cuts):
    machine = GeneralMachine(built.ALARM, frame=Frame(length=5, active=True))
    assert returned(machine, READINGS, cuts) == [
        (2, True, ("larceny alarm",)),
        (5, True, ("larceny alarm",)),
    ]


def test_rows_count_only_where_they_are_wanted():
    machine = GeneralMachine(built.DECAY)
    assert [at for at, _, _ in returned(machine, PRICES, (2,), wanted={1, 4})] == [1, 4]
