"""Aggregates over spans of rows, as the searches for patterns ask for them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.aggregates.aggregate import Sorting
from millstream.aggregates.call import AggregateCall
from millstream.algebra.changes import Changes, no_rows
from millstream.blocks.choose import machine_for
from millstream.blocks.machine import Ending, Fed, Frame, Instances, Rows
from millstream.columns.trace import follow
from millstream.operators.aggregated import PRESENT, Aggregates
from millstream.operators.stamp import STAMPS
from millstream.patterns.tallies import Measured, OwnCall, Tally
from millstream.state.ordered_run import Order, OrderedRun

SPAN = "#span"


@dataclass(frozen=True)
class Measuring:
    """Computes aggregates over spans of rows; routines run as machine code if they are `native`.

    Law: after an event, an aggregate is what it is over the rows of the span up to that event.
    Cost: the events.
    """

    native: bool = True

    def __call__(
        self,
        tally: Tally,
        rows: pa.RecordBatch,
        index: np.ndarray,
        starts: np.ndarray,
        wanted: np.ndarray | None,
    ) -> Measured:
        if isinstance(tally.call, OwnCall):
            return self._own(tally.call, rows, index, starts, wanted)
        return Measured(_built_in(tally.call, rows, index, starts), [])

    def _own(
        self,
        call: OwnCall,
        rows: pa.RecordBatch,
        index: np.ndarray,
        starts: np.ndarray,
        wanted: np.ndarray | None,
    ) -> Measured:
        """An instance for every span; of what an event returns, the last row counts."""
        count, events = len(index), np.arange(len(index))
        ending = Ending.WANTED if call.routine.is_blocking else Ending.NEVER
        machine = machine_for(call.routine, ending, Frame(), self.native)
        arguments = tuple(rows.column(name).take(pa.array(index)) for name in call.arguments)
        number = events - np.repeat(starts[:-1], np.diff(starts)) + 1
        none = np.zeros(0, np.int64)
        tables = tuple(Rows(none, no_rows(schema)) for _, schema in machine.tables)
        before = Instances(no_rows(machine.slots), tables)
        counts = np.ones(count, np.bool_) if wanted is None else wanted
        fed = Fed(Order(events, starts, events, count), arguments, number, counts)
        ran = machine.run(fed, before, len(starts) - 1)
        place = np.full(count, -1)
        place[ran.event] = np.arange(len(ran.event))
        values = ran.rows.column(call.column).take(pa.array(place, mask=place < 0))
        return Measured(values, [(call.routine.name, failure) for failure in ran.failed])


def _built_in(
    call: AggregateCall, rows: pa.RecordBatch, index: np.ndarray, starts: np.ndarray
) -> pa.Array:
    """Every event has an instant of its own, so that there is a result after each."""
    count, place = len(index), pa.array(np.arange(len(index)))
    if count == 0:
        return pa.array([], call.type)
    given = [rows.column(name).take(pa.array(index)) for name in call.arguments]
    if call.aggregate.sorting is Sorting.ARGUMENT:
        given[1] = pc.if_else(given[0].is_valid(), given[1], pa.scalar(None, given[1].type))
    names = [f"#given{i}" for i in range(len(given))]
    if call.aggregate.goes_by_time:
        given, names = [*given, place, place], [*names, *STAMPS]
    spans = pa.array(np.repeat(np.arange(len(starts) - 1), np.diff(starts)))
    batch = pa.RecordBatch.from_arrays([spans, *given], [SPAN, *names])
    events = Changes.elements(batch, np.arange(count), np.arange(count))
    none = events.slice(0, 0)
    run = OrderedRun.of(none.rows, (SPAN,), events, none)
    mine = replace(call, arguments=tuple(names))
    groups = Aggregates((SPAN,), (mine,), batch.schema)
    totals = {n: np.zeros(run.partitions, np.dtype(k)) for n, k in groups.totals.items()}
    before, nothing = totals[PRESENT].copy(), np.zeros(run.partitions, np.bool_)
    instants = np.arange(count)
    trace = follow(run.partition, instants, run.weights, count, totals[PRESENT], nothing)
    found, _ = groups.run(run, trace, totals, before, {})
    row = np.empty(count, np.int64)
    row[trace.event] = trace.row
    return found[mine.name].take(pa.array(row))
