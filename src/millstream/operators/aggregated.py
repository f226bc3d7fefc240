"""The aggregates of groups: what is kept for them, and how they run along a trace."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from millstream.aggregates.aggregate import Placing
from millstream.aggregates.call import AggregateCall
from millstream.aggregates.entries import Entries
from millstream.aggregates.running import Running
from millstream.aggregates.totals import COUNT, Total
from millstream.aggregates.values import Values
from millstream.algebra.changes import take_rows
from millstream.algebra.state_parts import Extent, StatePart, Structure
from millstream.columns.trace import Trace
from millstream.state.by_key import BagByKey
from millstream.state.chunks import Part, State
from millstream.state.ordered_run import OrderedRun

PRESENT = "#present"
"""The column of the groups that counts their rows: a group without any is not in the answer."""


@dataclass(frozen=True)
class Moved:
    """A bag of values, the rows of it that a step has read, as they were before and as they are
    after, and how many of them belong to groups that the step changed."""

    bag: BagByKey
    before: pa.RecordBatch
    now: pa.RecordBatch
    changed: int

    def after(self, beside_index: bool) -> Part:
        return self.bag.after(self.before, self.now, self.changed, beside_index)


@dataclass(frozen=True)
class Aggregates:
    """Calls over groups of rows of a schema, with the columns that make a group."""

    keys: tuple[str, ...]
    calls: tuple[AggregateCall, ...]
    schema: pa.Schema

    @property
    def state_parts(self) -> tuple[StatePart, ...]:
        """The values of groups, for calls that keep them."""
        return tuple(
            StatePart(f"values {c.name}", f"values for {c}", Structure.SORTED, Extent.COLLECTED)
            for c in self.calls
            if c.aggregate.keeps_values
        )

    @cached_property
    def key_schema(self) -> pa.Schema:
        return pa.schema([self.schema.field(name) for name in self.keys])

    @cached_property
    def totals(self) -> dict[str, type]:
        """The columns of numbers kept per group: each total once, however many calls rest on it."""
        found: dict[str, type] = {PRESENT: np.int64}
        for call in self.calls:
            for total, argument in self._totals_of(call):
                for i, kind in enumerate(total.columns):
                    found[f"#{total.name} {argument} {i}"] = kind
        return found

    def _totals_of(self, call: AggregateCall) -> list[tuple[Total, str]]:
        way = call.aggregate.way
        if not isinstance(way, Running) or not call.arguments:
            return []
        argument = call.arguments[0]
        kind = self.schema.field(argument).type
        return [(total, argument) for total in way.totals(kind)]

    def run(
        self,
        run: OrderedRun,
        trace: Trace,
        totals: dict[str, np.ndarray],
        before: np.ndarray,
        state: State,
    ) -> tuple[dict[str, pa.Array], dict[str, Moved]]:
        """The result of every call in every row of the trace, and the ordered values after it."""
        results: dict[str, pa.Array] = {}
        bags: dict[str, Moved] = {}
        done: dict[tuple[Total, str], tuple[np.ndarray, ...]] = {}
        for call in self.calls:
            way = call.aggregate.way
            assert not isinstance(way, Placing), "only OVER has places"
            if not isinstance(way, Running):
                part = f"values {call.name}"
                results[call.name], bags[part] = self._ordered(
                    call, way, run, trace, state.get(part)
                )
                continue
            for need in self._totals_of(call):
                if need not in done:
                    done[need] = self._total(need, run, trace, totals, before)
            needs = [done[need] for need in self._totals_of(call)]
            counts = needs[0][0] if needs else trace.present
            argument = run.column(call.arguments[0]).type if call.arguments else pa.int64()
            results[call.name] = way.finish(
                counts, needs[-1] if len(needs) > 1 else (), argument, call.type
            )
        return results, bags

    def _total(
        self,
        need: tuple[Total, str],
        run: OrderedRun,
        trace: Trace,
        totals: dict[str, np.ndarray],
        before: np.ndarray,
    ) -> tuple[np.ndarray, ...]:
        total, argument = need
        values = run.column(argument)
        columns = [totals[f"#{total.name} {argument} {i}"] for i in range(len(total.columns))]
        if total == COUNT and values.null_count == 0 and np.array_equal(before, columns[0]):
            columns[0][:] = totals[PRESENT]  # never NULL so far: its count is that of the rows
            return (trace.present,)
        return total.run(trace, run.weights, values, columns)

    def _ordered(
        self, call: AggregateCall, way: Values, run: OrderedRun, trace: Trace, part: Part | None
    ) -> tuple[pa.Array, Moved]:
        by_names = (*call.arguments[1:], call.arguments[0]) if way.by_rest else call.arguments
        fields = [self.schema.field(n) for n in (call.arguments[0], *by_names)]
        layout = pa.schema(
            [
                *self.key_schema,
                *[pa.field(f"#{i}", f.type) for i, f in enumerate(fields)],
                ("#count", pa.int64()),
            ]
        )
        width = len(self.keys)
        bag = BagByKey(part, layout, width)
        saved = bag.touched(run.touched_keys)
        present = Entries(
            run.partition_of(saved.select(list(range(width))), saved.num_rows),
            saved.column(width),
            tuple(saved.column(width + 1 + i) for i in range(len(by_names))),
            saved.column(saved.num_columns - 1).to_numpy(),
        )
        result, left = way.run(
            trace,
            run.weights,
            run.partition,
            run.column(call.arguments[0]),
            tuple(run.column(n) for n in by_names),
            present,
            run.partitions,
            call.parameter,
        )
        named = take_rows(run.keys, left.group)
        now = pa.RecordBatch.from_arrays(
            [*named.columns, left.value, *left.by, pa.array(left.count)], schema=layout
        )
        changed = int(run.touched[left.group].sum())
        return result, Moved(bag, saved, now, changed)
