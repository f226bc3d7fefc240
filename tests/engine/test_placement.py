"""Placement: small batches stay in the driver, large ones go to the executors, as measured."""

import pytest

from millstream.connect.source import Slice
from millstream.engine.placement import (
    AUTO,
    DRIVER,
    EXECUTORS,
    FIRST,
    START,
    TRIGGER,
    Pace,
    Placement,
    planned_rows,
)
from millstream.engine.read_tasks import ReadTask
from millstream.errors import MillstreamError
from millstream.settings import Settings


def tasks(*rows: int | None) -> list[ReadTask]:
    return [ReadTask("s", (Slice("s", {}, 1, n),), None, False, 0) for n in rows]


def test_small_batches_stay_and_large_ones_travel():
    knows = Placement(cores=2)
    assert knows.choose(AUTO, tasks(1_000)) == DRIVER
    assert knows.choose(AUTO, tasks(50_000_000)) == EXECUTORS
    assert knows.choose(EXECUTORS, tasks(1)) == EXECUTORS
    assert knows.choose(DRIVER, tasks(20_000_000)) == DRIVER


def test_on_one_core_nothing_is_gained_by_travelling():
    assert Placement(cores=1).choose(AUTO, tasks(50_000_000)) == DRIVER


def test_what_was_measured_decides():
    """A query that costs a lot per row travels earlier; executors that are slow are left alone."""
    rows = 200_000
    assert Placement(cores=2).choose(AUTO, tasks(rows)) == DRIVER
    heavy = Placement(cores=2)
    for _ in range(20):
        heavy = heavy.after(DRIVER, rows, 4.0)
    assert heavy.choose(AUTO, tasks(rows)) == EXECUTORS
    for _ in range(20):
        heavy = heavy.after(EXECUTORS, rows, 9.0)
    assert heavy.choose(AUTO, tasks(rows)) == DRIVER


def test_threads_that_wait_for_each_other_send_large_batches_away():
    rows = 20_000_000
    both = Placement(cores=2, threads=2, missed=START)
    both = both.after(DRIVER, 1_000_000, 0.5, busy=1.8)
    assert both.choose(AUTO, tasks(rows)) == DRIVER
    one = Placement(cores=2, threads=2, missed=START)
    one = one.after(DRIVER, 1_000_000, 0.5, busy=1.0)
    assert one.choose(AUTO, tasks(rows)) == EXECUTORS
    assert one.choose(AUTO, tasks(10_000)) == DRIVER


def test_workers_are_started_when_they_would_have_paid_for_it():
    """Each batch would save a third of a second: the sixth is the first that travels."""
    knows, rows, places = Placement(cores=2), 8_800_000, []
    for _ in range(9):
        places.append(knows.choose(AUTO, tasks(rows)))
        knows = knows.after(places[-1], rows, knows.driver.seconds(rows))
    assert places == [DRIVER] * 5 + [EXECUTORS] * 4
    few = Placement(cores=2)
    for _ in range(1_000):
        few = few.after(DRIVER, 1_000, 0.02)
    assert few.missed == 0.0


def test_a_pace_is_learnt_from_batches():
    true, known = Pace(0.3, 2e-6), Pace(0.02, 0.4e-6)
    for turn in range(200):
        rows = (10, 5_000_000)[turn % 2]
        known = known.after(rows, true.seconds(rows))
    assert known.fixed == pytest.approx(0.3, rel=0.05)
    assert known.per_row == pytest.approx(2e-6, rel=0.05)


def test_rows_that_are_not_known_are_those_of_the_last_batch():
    assert planned_rows(tasks(5, 7), 100) == 12
    assert planned_rows(tasks(5, None), 100) == 100
    assert planned_rows(tasks(500, None), 100) == 500
    assert planned_rows([ReadTask("s", (), None, True, 0)], 100) == 0


def test_batches_grow_while_rows_wait_and_stay_within_their_bound():
    knows, sizes = Placement(cores=2), []
    for _ in range(8):
        sizes.append(knows.limit(AUTO, 3_000_000))
        knows = knows.after(EXECUTORS, sizes[-1], 0.25 + sizes[-1] * 0.2e-6)
    assert sizes[0] == FIRST
    assert sizes == sorted(sizes) and sizes[-1] == 3_000_000


def test_the_fixed_cost_of_a_large_batch_is_a_tenth():
    knows = Placement(cores=2, executors=Pace(0.25, 0.5e-6), typical=10_000_000)
    rows = knows.limit(EXECUTORS, 10**9)
    whole = Pace(0.25, 0.5e-6).seconds(rows) + TRIGGER
    assert (0.25 + TRIGGER) / whole == pytest.approx(0.1)


def test_one_disturbed_batch_does_not_decide():
    """The first batch of the executors starts workers; a later one met a busy machine."""
    knows = Placement(cores=2).after(EXECUTORS, 1_600_000, 11.5)
    assert knows.executors_pace == Placement(cores=2).executors_pace
    calm = knows.after(EXECUTORS, 4_000_000, 0.8)
    odd = calm.after(EXECUTORS, 4_000_000, 60.0)
    assert odd.executors_pace.per_row < 2 * calm.executors_pace.per_row


def test_settings():
    assert Settings().with_value("batch_rows", "auto").batch_rows == 0
    assert Settings().with_value("placement", "Driver").placement == "driver"
    with pytest.raises(MillstreamError, match='setting "placement" cannot be "moon"'):
        Settings().with_value("placement", "moon")
    with pytest.raises(MillstreamError) as error:
        Settings().with_value("batch_rows", "many")
    assert error.value.hint == "Write a whole number from 1 to 100,000,000, or auto."
