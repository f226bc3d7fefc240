"""The aggregates of the paper, on windows and without."""

import pytest

from blocks import built
from blocks.feeding import Tuple, answer, returned
from millstream.blocks.general import GeneralMachine
from millstream.blocks.machine import Ending, Frame
from millstream.blocks.native import NativeMachine


@pytest.fixture(params=[GeneralMachine, NativeMachine])
def made(request):
    """Makes a machine of a kind."""
    return request.param


PRICES = [Tuple(0, at, (price,)) for at, price in enumerate([4.0, 8.0, 2.0, 8.0, 1.0, 0.5])]


def values(machine, tuples=PRICES, cuts=()):
    return [row[0] for _, _, row in returned(machine, tuples, cuts)]


def test_average_answers_after_the_last_tuple(made):
    assert answer(made(built.AVERAGE, Ending.LAST), PRICES) == [(23.5 / 6,)]


def test_average_after_every_tuple_is_the_cumulative_one(made):
    each = values(made(built.AVERAGE, Ending.EACH))
    assert each == values(made(built.CUMULATIVE))
    assert each[:3] == [4.0, 6.0, 14.0 / 3]


def test_decay(made):
    second = (0.9 * 4.0 + 1.1 * 8.0) / 2
    assert values(made(built.DECAY))[:2] == [4.0, second]


@pytest.mark.parametrize("cuts", [(), (1,), (2, 3), (1, 2, 3, 4, 5)])
@pytest.mark.parametrize("frame", [Frame(rows=3), Frame(length=2), Frame()])
def test_window_average_with_and_without_expire(made, frame, cuts):
    naive = values(made(built.NAIVE, frame=frame), cuts=cuts)
    assert naive == values(made(built.DELTA, frame=frame), cuts=cuts)
    if frame.rows:
        assert naive == [4.0, 6.0, 14 / 3, 6.0, 11 / 3, 9.5 / 3]


@pytest.mark.parametrize("cuts", [(), (1,), (2, 3), (1, 2, 3, 4, 5)])
def test_maximum_keeps_only_what_may_become_it(made, cuts):
    machine = made(built.MAXIMUM, frame=Frame(rows=3))
    assert not machine.takes_leavers
    assert values(machine, cuts=cuts) == [4.0, 8.0, 8.0, 8.0, 8.0, 8.0]
    assert values(made(built.MAXIMUM, frame=Frame(rows=2)), cuts=cuts)[-1] == 1.0


def test_active_maximum_returns_what_leaves(made):
    machine = made(built.ACTIVE_MAXIMUM, frame=Frame(length=1, active=True))
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
def test_an_item_without_anyone_near_is_reported_when_it_leaves(made, cuts):
    machine = made(built.ALARM, frame=Frame(length=5, active=True))
    assert returned(machine, READINGS, cuts) == [
        (2, True, ("larceny alarm",)),
        (5, True, ("larceny alarm",)),
    ]


def test_rows_count_only_where_they_are_wanted(made):
    machine = made(built.DECAY)
    assert [at for at, _, _ in returned(machine, PRICES, (2,), wanted={1, 4})] == [1, 4]
