"""The ordered run under native programs that take one event after the other, cut anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.algebra.changes import Changes, no_rows
from millstream.algebra.state_layout import Buffer, StateLayout
from millstream.algebra.time import DAWN, Span
from millstream.algebra.types import DOUBLE, STRING
from millstream.columns.interleave import interleaved
from millstream.state.by_key import RowByKey
from millstream.state.chunks import Log
from millstream.state.events import unfold
from millstream.state.last_rows import LastRows, leaves
from millstream.state.ordered_run import (
    OrderedRun,
    in_order_of_arrival,
    in_order_of_leaving,
    keys_of,
)
from state.programs import DECAY, TRAIL, Row, decay, trail_over_rows, trail_over_time

LAST = 15
SCHEMA = pa.schema([("k", STRING), ("x", DOUBLE)])
COUNTS = pa.schema([("k", STRING), ("#count", pa.int64())])
NONE = Changes.empty(SCHEMA)

rows = st.lists(
    st.tuples(
        st.integers(1, LAST),
        st.sampled_from(["a", "b", None]),
        st.one_of(st.none(), st.integers(-3, 9).map(float)),
    ),
    max_size=30,
).map(lambda given: sorted(given, key=lambda row: row[0]))
cuts = st.sets(st.integers(1, LAST - 1)).map(sorted)


def elements(given: list[Row]) -> Changes:
    columns = [pa.array([row[i] for row in given], f.type) for i, f in enumerate(SCHEMA, 1)]
    batch = pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
    ts = np.array([row[0] for row in given], np.int64)
    return Changes.elements(batch, ts, np.arange(1, len(given) + 1))


def steps(given: list[Row], cut: list[int]) -> Iterator[tuple[Span, Changes]]:
    """The rows of every span, in an order that tells nothing."""
    changes = elements(given)
    for start, end in zip([DAWN, *cut], [*cut, LAST]):
        inside = np.flatnonzero((changes.ts > start) & (changes.ts <= end))
        yield Span(start, end, None), changes.take(inside[::-1])


@given(rows, cuts)
def test_a_decay_average_per_key(given_rows, cut):
    part, found = None, []
    for _, changes in steps(given_rows, cut):
        arrivals = in_order_of_arrival(changes)
        part, _, (out,) = DECAY.step(part, ["k"], arrivals, NONE, ["x"], (0.9,))
        found += out.tolist()
    assert found == pytest.approx(decay(given_rows, 0.9))


@given(rows, cuts, st.integers(0, 6), st.sampled_from(list(Buffer)))
def test_what_leaves_by_time_comes_before_what_arrives(given_rows, cut, length, buffer):
    part, due, found, gone = None, Log(), [], 0
    for span, changes in steps(given_rows, cut):
        windowed = Changes(
            changes.rows, changes.ts, changes.ts + length + 1, changes.weight, changes.seq
        )
        due, events = unfold(due, windowed, span, StateLayout(buffer))
        arrivals, ends = in_order_of_arrival(events.starts), in_order_of_leaving(events.ends)
        part, run, (trail, total) = TRAIL.step(part, ["k"], arrivals, ends, ["x"])
        count = len(run.arrivals)
        found += zip(trail[:count].tolist(), total[:count].tolist())
        gone += len(run) - count
    assert found == trail_over_time(given_rows, length)
    assert gone == sum(ts + length + 1 <= LAST for ts, _, _ in given_rows)
    left = {key for ts, key, _ in given_rows if ts + length + 1 > LAST}
    assert part is None or set(part.column(0).to_pylist()) == left


@given(rows, cuts, st.integers(1, 4))
def test_what_leaves_by_rows_comes_before_what_drives_it_out(given_rows, cut, count):
    counts, kept, part, found = None, LastRows(Log(), SCHEMA, 0.5, ("k",), count), None, []
    for span, changes in steps(given_rows, cut):
        arrivals = in_order_of_arrival(changes)
        stored = RowByKey(counts, COUNTS, 1)
        known = stored.touched(keys_of(["k"], arrivals, NONE))
        run = OrderedRun.of(known, ["k"], arrivals, NONE)
        before = run.slot(known, "#count")
        fresh = run.numbered(before)
        keys, had, has = run.touched_keys, before[run.touched], fresh.after[run.touched]
        earlier, places = kept.numbered_within(keys, had - count, np.minimum(has - count, had))
        numbered = Changes(
            fresh.arrivals.rows, fresh.arrivals.ts, np.full(len(fresh.number), 2**62), *_ids(fresh)
        )
        every = Changes.concat([earlier, numbered], SCHEMA)
        place = np.concatenate([np.flatnonzero(run.touched)[places], fresh.partition])
        driver = leaves(every.weight, count, 1) - before[place] - 1
        out = np.flatnonzero((driver >= 0) & (driver < fresh.after[place] - before[place]))
        turns = fresh.event[fresh.starts[place[out]] + driver[out]]
        order = np.argsort(turns, kind="stable")
        ends, turns = every.take(out[order]), turns[order]
        ends = Changes(ends.rows, ends.ts, arrivals.ts[turns], np.ones_like(turns), ends.seq)
        part, _, (trail, total) = TRAIL.step(part, ["k"], arrivals, ends, ["x"], turns=turns)
        found += zip(trail[: len(arrivals)].tolist(), total[: len(arrivals)].tolist())
        now = pa.RecordBatch.from_arrays([*run.keys.columns, pa.array(fresh.after)], schema=COUNTS)
        counts = stored.after(now.slice(0, 0), now, int(run.touched.sum()))
        kept = kept.with_more(numbered, span.end)
    assert found == trail_over_rows(given_rows, count)


def _ids(fresh) -> tuple[np.ndarray, np.ndarray]:
    """The number of a row as its weight, as LastRows keeps it, and its arrival."""
    return fresh.number, fresh.arrivals.seq


def many(size: int) -> list[Row]:
    return [(1, str(i), float(i)) for i in range(size)]


def test_of_many_partitions_only_those_with_events_are_looked_at():
    part, _, _ = DECAY.step(None, ["k"], elements(many(40_000)), NONE, ["x"], (0.5,))
    part, _, _ = DECAY.step(part, ["k"], elements([(2, "7", 1.0)]), NONE, ["x"], (0.5,))
    assert isinstance(part, Log)
    again = elements([(3, "7", 4.0), (3, "new", 4.0), (3, "8", 0.0)])
    part, run, (out,) = DECAY.step(part, ["k"], again, NONE, ["x"], (0.5,))
    assert (run.known, run.partitions) == (2, 3)
    rows = [(1, "7", 7.0), (1, "8", 8.0), (2, "7", 1.0)]
    rows += [(3, "7", 4.0), (3, "new", 4.0), (3, "8", 0.0)]
    assert out.tolist() == pytest.approx(decay(rows, 0.5)[3:])
    assert isinstance(part, Log) and part.rows < 40_010


def test_without_columns_all_is_one_partition():
    part, run, (out,) = DECAY.step(None, [], elements([(1, "a", 2.0)]), NONE, ["x"], (1.0,))
    part, run, (out,) = DECAY.step(part, [], elements([(2, "b", 4.0)]), NONE, ["x"], (1.0,))
    assert (run.known, run.partitions, out.tolist()) == (1, 1, [3.0])


def test_a_step_without_events_leaves_the_state_as_it_is():
    part, _, _ = DECAY.step(None, ["k"], elements([(1, "a", 2.0)]), NONE, ["x"], (1.0,))
    again, run, (out,) = DECAY.step(part, ["k"], NONE, NONE, ["x"], (1.0,))
    assert again is part and len(run) == 0 and len(out) == 0


def test_partitions_that_are_known_have_the_first_numbers():
    known = pa.RecordBatch.from_pydict({"k": ["b", None], "#count": [3, 5]}, schema=COUNTS)
    run = OrderedRun.of(known, ["k"], elements([(1, "a", 0.0), (2, None, 1.0)]), NONE)
    assert run.keys.column(0).to_pylist() == ["b", None, "a"]
    assert run.partition.tolist() == [2, 1]
    assert run.touched.tolist() == [False, True, True]
    assert run.slot(known, "#count").tolist() == [3, 5, 0]
    assert run.numbered(run.slot(known, "#count")).number.tolist() == [6, 1]
    assert run.partition_of(known.select(["k"]), 2).tolist() == [0, 1]


def test_nothing_is_known_of_no_events():
    run = OrderedRun.of(no_rows(COUNTS), ["k"], NONE, NONE)
    assert run.partitions == 0 and run.order.starts.tolist() == [0]


@pytest.mark.parametrize(
    ("turns", "wanted"), [([0, 2], [2, 0, 1, 3]), ([1, 1], [0, 2, 3, 1]), ([2, 2], [0, 1, 2, 3])]
)
def test_what_leaves_waits_for_its_turn(turns: list[int], wanted: list[int]):
    of: Callable[..., tuple[np.ndarray, np.ndarray]] = interleaved
    event, starts = of(np.zeros(4, np.int64), np.array(turns), 2, 1)
    assert event.tolist() == wanted and starts.tolist() == [0, 4]
