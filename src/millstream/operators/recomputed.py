"""Recomputed: aggregates of one's own over the groups of a relation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, concat_rows, forever, take_rows
from millstream.algebra.expressions import name_text
from millstream.algebra.identity import identity_of_version
from millstream.algebra.lifetime import Lifetime, left_open
from millstream.algebra.node import Distribution, Node, Step
from millstream.algebra.pattern import Label, Pattern
from millstream.algebra.state_parts import Extent, StatePart, Structure, ending
from millstream.algebra.time import Span
from millstream.blocks.choose import machine_for
from millstream.blocks.layout import gives_one_row
from millstream.blocks.machine import Failure, Fed, Frame, Instances, Rows
from millstream.columns.followed import first_at_least
from millstream.columns.keys import equal_rows, factorize, hashes_of
from millstream.columns.order import canonical_order
from millstream.operators.failures import FAILED, failed_rows
from millstream.operators.fed import FedCall
from millstream.operators.feed_rows import Returned, by_event, product
from millstream.operators.maintained import Fold
from millstream.state.by_key import BagByKey
from millstream.state.chunks import Log, Part, State
from millstream.state.events import Events, settled, unfold
from millstream.state.index import Index
from millstream.state.ordered_run import Order, OrderedRun, keys_of

SINCE = "#since"


@dataclass(frozen=True, eq=False)
class Moments:
    """Instants of groups, counting up within each group: those of group g start at `starts[g]`."""

    group: np.ndarray
    instant: np.ndarray
    starts: np.ndarray

    @staticmethod
    def of(group: np.ndarray, instant: np.ndarray, groups: int) -> Moments:
        """Those at which something happens, each once."""
        order = np.lexsort((instant, group))
        group, instant = group[order], instant[order]
        fresh = np.ones(len(group), np.bool_)
        fresh[1:] = (group[1:] != group[:-1]) | (instant[1:] != instant[:-1])
        group, instant = group[fresh], instant[fresh]
        return Moments(group, instant, np.searchsorted(group, np.arange(groups + 1)))

    @property
    def until(self) -> np.ndarray:
        """The next instant of the group, or for ever."""
        out = forever(len(self.group))
        followed = np.flatnonzero(self.group[1:] == self.group[:-1])
        out[followed] = self.instant[followed + 1]
        return out


@dataclass(frozen=True, eq=False)
class Recomputed(Node):
    """`f(x) … GROUP BY k`, f an aggregate of one's own: the groups of a relation, computed anew.

    Law: at τ a group has the combinations of what the calls give when they are fed its rows at τ,
    in the order of time, then of arrival. With `newest`, a call gives what it returns while the
    last row is fed, and by TERMINATE; else all that it returns. A group without rows has none.
    `by_expire`, a group has what its window version returns at the last event of an instant, being
    fed what enters and what leaves: rows leave in the order in which they came.
    State: the rows of every group, and the rows that are shown. Cost: for every instant at which
    something enters or leaves a group, the rows of that group.
    """

    keys: tuple[str, ...]
    calls: tuple[FedCall, ...]
    newest: bool
    by_expire: bool
    input: Node

    @property
    def state_parts(self) -> tuple[StatePart, ...]:  # type: ignore[override]
        shown = StatePart("shown", "rows that are shown", Structure.HASH, Extent.GROUPS)
        if not self.by_expire:
            rows = StatePart("rows", "rows of the groups", Structure.HASH, Extent.ROWS)
            return (rows, shown, ending())
        words = "instances of the groups"
        names = self._fold.kept.parts
        kept = (StatePart(name, words, Structure.GROUPS, Extent.GROUPS) for name in names)
        return (*kept, shown, ending())

    @cached_property
    def _fold(self) -> Fold:
        return Fold(self._key_schema, self.calls, self.state_layout.native)

    @cached_property
    def schema(self) -> pa.Schema:
        results = [f for call in self.calls for f in call.results]
        return pa.schema([*self._key_schema, *results])

    @cached_property
    def _key_schema(self) -> pa.Schema:
        return pa.schema([self.input_schema.field(name) for name in self.keys])

    @property
    def key(self) -> tuple[str, ...] | None:  # type: ignore[override]
        """The keys, if every call gives one row at most."""
        return self.keys if all(gives_one_row(call.routine) for call in self.calls) else None

    @property
    def required_distribution(self) -> Distribution:
        return self.keys

    @property
    def words(self) -> str:
        calls = ", ".join(call.words(self.time_domain) for call in self.calls)
        by = f"by {', '.join(map(name_text, self.keys))}: " if self.keys else ""
        how = "maintained " if self.by_expire else "newest " if self.newest else ""
        return f"{how}{by}{calls}"

    def lives(self, given: Lifetime) -> Lifetime:
        label = Label(Pattern.WK, "the new rows of a group take the place of the old ones", 4)
        return left_open(label, bounded=given.bounded)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        due, events = unfold(state.get("due", Log()), changes, span, self.state_layout.buffer)
        if self.by_expire:
            return self._maintained({**state, "due": due}, events)
        if not self.input.is_consolidated:
            events = settled(events)
        index = Index.of(state.get("rows"), self.input_schema)  # type: ignore[arg-type]
        kept = index.add(changes, self._hashes(changes.rows), span.end)
        parts: dict[str, Part] = {"due": due, "rows": kept.log}
        if "shown" in state:
            parts["shown"] = state["shown"]
        if len(events.starts) + len(events.ends) == 0:
            return parts, Changes.empty(self.schema)
        known = keys_of(self.keys, events.starts, events.ends).slice(0, 0)
        run = OrderedRun.of(known, self.keys, events.starts, events.ends)
        moments = Moments.of(run.partition, run.instants, run.partitions)
        rows, group = self._rows_of(index, changes, run)
        rows, moment = _present(rows, group, moments)
        found, columns, failed = self._given(rows, moment, moments, span)
        if failed.num_rows:
            parts[FAILED] = failed
        parts["shown"], out = self._show(state, run, moments, found, columns)
        return parts, out

    def _maintained(self, state: State, events: Events) -> Step:
        """Feed instances what enters and what leaves."""
        if len(events.starts) + len(events.ends) == 0:
            return state, Changes.empty(self.schema)
        run, parts, returned, failures, _ = self._fold.run(state, events)
        moments = Moments.of(run.partition, run.instants, run.partitions)
        event, columns = product(returned)
        group = run.partition[event]
        found = first_at_least(moments.instant, moments.starts, group, run.instants[event])
        order = np.argsort(found, kind="stable")
        columns = [column.take(pa.array(order)) for column in columns]
        shown, out = self._show(state, run, moments, found[order], columns)
        if failures:
            parts[FAILED] = failed_rows(run.arrivals, failures)
        return {**state, **parts, "shown": shown}, out

    def _show(
        self,
        state: State,
        run: OrderedRun,
        moments: Moments,
        found: np.ndarray,
        columns: list[pa.Array],
    ) -> tuple[Part, Changes]:
        """What groups show from now on, and the changes of it."""
        bag = BagByKey(state.get("shown"), self._shown_schema, len(self.keys))
        before = bag.touched(run.touched_keys)
        now = self._shown(run, moments, found, columns)
        out = self._emit(run, moments, found, columns, before)
        return bag.after(before, *self._all_shown(before, now, run), False), out

    def _hashes(self, rows: pa.RecordBatch) -> np.ndarray:
        return hashes_of(rows.select(list(self.keys)).columns, rows.num_rows)

    def _rows_of(
        self, index: Index, changes: Changes, run: OrderedRun
    ) -> tuple[Changes, np.ndarray]:
        """The rows of the groups with events, and the group of each."""
        wanted, found = run.keys, [changes]
        hashes = hashes_of(wanted.columns, run.partitions)
        for rows, there, needle in index.search(hashes):
            keys = rows.rows.select(list(self.keys))
            same = equal_rows(keys, there, wanted, needle)
            found.append(rows.take(there[same]))
        every = Changes.concat(found[::-1], self.input_schema)
        return every, self._group_of(every.rows, run)

    def _group_of(self, rows: pa.RecordBatch, run: OrderedRun) -> np.ndarray:
        """The group of every row; one after the last for rows of groups without events."""
        if not self.keys:
            return np.zeros(rows.num_rows, np.int64)
        both = concat_rows([run.keys, rows.select(list(self.keys))], self._key_schema)
        codes, _ = factorize(both.columns, both.num_rows)
        group = np.minimum(codes[run.partitions :], run.partitions)
        return np.where(np.append(run.touched, False)[group], group, run.partitions)

    def _given(
        self, rows: Changes, moment: np.ndarray, moments: Moments, span: Span
    ) -> tuple[np.ndarray, list[pa.Array], pa.RecordBatch]:
        """What the calls give at every moment, as a product; and of the rows that are new, those
        that a call could not take."""
        starts = np.searchsorted(moment, np.arange(len(moments.group) + 1))
        events = np.arange(len(rows))
        order = Order(events, starts, moments.instant[moment], len(rows))
        number = events - starts[moment] + 1
        wanted = None
        if self.newest:
            wanted = np.zeros(len(rows), np.bool_)
            wanted[starts[1:][starts[1:] > starts[:-1]] - 1] = True
        returned, failures = [], list[tuple[str, Failure]]()
        for call in self.calls:
            machine = machine_for(call.routine, call.ending, Frame(), self.state_layout.native)
            arguments = tuple(rows.rows.column(name) for name in call.arguments)
            none = np.zeros(0, np.int64)
            tables = tuple(Rows(none, _none(schema)) for _, schema in machine.tables)
            before = Instances(_none(machine.slots), tables)
            ran = machine.run(Fed(order, arguments, number, wanted), before, len(moments.group))
            failures += [
                (call.routine.name, f) for f in ran.failed if rows.ts[f.event] > span.start
            ]
            mine = by_event(ran.event, ran.rows)
            returned.append(Returned(moment[mine.event], mine.rows))
        return *product(returned), failed_rows(rows, failures)

    @cached_property
    def _shown_schema(self) -> pa.Schema:
        numbers = [pa.field(SINCE, pa.int64()), pa.field("#count", pa.int64())]
        return pa.schema([*self.schema, *numbers])

    def _shown(
        self, run: OrderedRun, moments: Moments, found: np.ndarray, columns: list[pa.Array]
    ) -> pa.RecordBatch:
        """The rows of the last moment of every group."""
        last = moments.starts[1:] - 1
        shown = np.flatnonzero(found == last[moments.group[found]])
        keys = take_rows(run.keys, moments.group[found[shown]]).columns
        values = [column.take(pa.array(shown)) for column in columns]
        since = pa.array(moments.instant[found[shown]])
        ones = pa.array(np.ones(len(shown), np.int64))
        return pa.RecordBatch.from_arrays([*keys, *values, since, ones], schema=self._shown_schema)

    def _all_shown(
        self, before: pa.RecordBatch, now: pa.RecordBatch, run: OrderedRun
    ) -> tuple[pa.RecordBatch, int]:
        """What is shown afterwards, other groups that were loaded included."""
        others = np.flatnonzero(self._group_of(before, run) == run.partitions)
        return concat_rows([take_rows(before, others), now], self._shown_schema), now.num_rows

    def _emit(
        self,
        run: OrderedRun,
        moments: Moments,
        found: np.ndarray,
        columns: list[pa.Array],
        before: pa.RecordBatch,
    ) -> Changes:
        """The rows that groups have shown leave with the first moment; then come the new ones."""
        group = self._group_of(before, run)
        old = np.flatnonzero(group < run.partitions)
        group, before = group[old], take_rows(before, old)
        since = before.column(before.num_columns - 2).to_numpy()
        times = before.column(before.num_columns - 1).to_numpy()
        gone = Changes(
            before.select(self.schema.names),
            moments.instant[moments.starts[group]],
            forever(len(old)),
            -times,
            identity_of_version(since),
        )
        keys = take_rows(run.keys, moments.group[found]).columns
        rows = pa.RecordBatch.from_arrays([*keys, *columns], schema=self.schema)
        instants = moments.instant[found]
        come = Changes(
            rows,
            instants,
            moments.until[found],
            np.ones(len(found), np.int64),
            identity_of_version(instants),
        )
        return Changes.concat([gone, come], self.schema).in_time_order()


def _present(rows: Changes, group: np.ndarray, moments: Moments) -> tuple[Changes, np.ndarray]:
    """The rows that are there at every moment of their group, in the order of time and arrival,
    and the moment of each."""
    mine = np.flatnonzero(group < len(moments.starts) - 1)
    rows, group = rows.take(mine), group[mine]
    low = first_at_least(moments.instant, moments.starts, group, rows.ts)
    high = first_at_least(moments.instant, moments.starts, group, rows.exp)
    times = np.maximum(high - low, 0)
    index = np.repeat(np.arange(len(rows)), times)
    moment = (
        np.repeat(low, times) + np.arange(len(index)) - np.repeat(np.cumsum(times) - times, times)
    )
    tuples, first = factorize([*rows.rows.columns, pa.array(rows.seq)], len(rows))
    earliest = np.full(len(first), np.iinfo(np.int64).max)
    np.minimum.at(earliest, tuples, rows.ts)
    order = canonical_order([earliest, rows.arrival[first]], take_rows(rows.rows, first))
    rank = np.empty(len(first), np.int64)
    rank[order] = np.arange(len(first))
    places = moment * len(first) + rank[tuples[index]]
    every, where = np.unique(places, return_inverse=True)
    weights = np.zeros(len(every), np.int64)
    np.add.at(weights, where, rows.weight[index])
    there = np.repeat(every, np.maximum(weights, 0))
    count = max(len(first), 1)
    return rows.take(first[order[there % count]]), there // count


def _none(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema)
