"""The trail of a source: few marks, however long a job runs, and dense where they are needed."""

from __future__ import annotations

import json

import pyarrow as pa

from millstream.catalog import Stream
from millstream.connect.source import Slice
from millstream.engine.clock import Clock, Header
from millstream.engine.trail import (
    MOST,
    Mark,
    Planned,
    followed,
    mark_before,
    trail_from_json,
    trail_to_json,
)

STREAMS = {"s": Stream("s", (("ts", pa.int64()),), "ts", slack=3, source="s.csv")}


def after(batches: int, rows: int | None = 10) -> dict[str, tuple[Mark, ...]]:
    """The trail of a source whose rows come one at every instant."""
    trail: dict[str, tuple[Mark, ...]] = {}
    clock = Clock.start()
    for number in range(batches):
        first = 10 * number
        header = Header("s", first, first + 9, rows=10, partition="")
        now = clock.advance([header], STREAMS, {})
        place = {"s": {"at": {"row": first + 10}, "start": {"row": 0}}}
        planned = Planned((Slice("s", {"row": first}, first + 1, rows),), place)
        trail, clock = followed(trail, STREAMS, planned, [header], clock, now), now
    return trail


def test_what_is_read_in_excess_is_a_part_of_what_is_asked_for() -> None:
    (marks,) = after(1000).values()
    assert len(marks) == MOST
    assert (marks[0].at, marks[-1].at) == ({"row": 0}, {"row": 10_000})
    for back in (10, 100, 1_000, 5_000):
        mark = mark_before(marks, 10_000 - back)
        assert mark is not None and mark.newest < 10_000 - back <= mark.newest + 2 * back + 20


def test_it_is_read_back_as_it_was() -> None:
    trail = after(50)
    assert trail_from_json(json.loads(json.dumps(trail_to_json(trail)))) == trail


def test_a_source_that_does_not_count_its_rows_has_none() -> None:
    assert after(3, rows=None) == {}


def test_it_begins_anew_where_rows_were_late_by_the_heartbeat_of_others() -> None:
    trail, before = after(3), Clock.start()
    before = before.advance([Header("s", 0, 29, rows=30, partition="")], STREAMS, {})
    before = Clock(before.sources, {"s": 100})
    header = Header("s", 101, 104, rows=9, late=5, partition="")
    now = before.advance([header], STREAMS, {})
    place = {"s": {"at": {"row": 39}, "start": {"row": 0}}}
    planned = Planned((Slice("s", {"row": 30}, 31, 9),), place)
    (marks,) = followed(trail, STREAMS, planned, [header], before, now).values()
    assert [mark.at for mark in marks] == [{"row": 39}]
