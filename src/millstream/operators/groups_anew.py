"""Groups of a relation whose rows are computed anew at every instant at which a group changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, concat_rows, forever, take_rows
from millstream.algebra.identity import identity_of_version
from millstream.algebra.lifetime import Lifetime, left_open
from millstream.algebra.node import Distribution, Node, Step
from millstream.algebra.pattern import Label, Pattern
from millstream.algebra.time import Span
from millstream.columns.followed import first_at_least
from millstream.columns.keys import equal_rows, factorize, hashes_of
from millstream.operators.failures import FAILED
from millstream.state.by_key import BagByKey
from millstream.state.chunks import Log, Part, State
from millstream.state.events import settled, unfold
from millstream.state.index import Index
from millstream.state.ordered_run import OrderedRun, keys_of

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
class GroupsAnew(Node):
    """What operators share that give rows of every group, made of the rows that it has.

    State: the rows of every group, and the rows that are shown. Cost: for every instant at which
    something enters or leaves a group, the rows of that group.
    """

    @property
    def grouped_by(self) -> tuple[str, ...]:
        """The columns that make a group; the first ones of the output."""
        raise NotImplementedError

    @property
    def required_distribution(self) -> Distribution:
        return self.grouped_by

    def lives(self, given: Lifetime) -> Lifetime:
        label = Label(Pattern.WK, "the new rows of a group take the place of the old ones", 4)
        return left_open(label, bounded=given.bounded)

    def _places(self, rows: Changes, earliest: np.ndarray) -> np.ndarray:
        """The order of the different rows of a group, each of which came first at `earliest`."""
        raise NotImplementedError

    def _given(
        self, rows: Changes, moment: np.ndarray, moments: Moments, span: Span
    ) -> tuple[np.ndarray, list[pa.Array], pa.RecordBatch]:
        """What is made of the rows of every moment: the moment of each result, counting up, and the
        columns behind those of the group. What has failed is the third."""
        raise NotImplementedError

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        due, events = unfold(state.get("due", Log()), changes, span, self.state_layout)
        if not self.inputs[0].is_consolidated:
            events = settled(events)
        index = Index.of(state.get("rows"), self.input_schema)  # type: ignore[arg-type]
        kept = index.add(changes, self._hashes(changes.rows), span.end)
        parts: dict[str, Part] = {"due": due, "rows": kept.log}
        if "shown" in state:
            parts["shown"] = state["shown"]
        if len(events.starts) + len(events.ends) == 0:
            return parts, Changes.empty(self.schema)
        known = keys_of(self.grouped_by, events.starts, events.ends).slice(0, 0)
        run = OrderedRun.of(known, self.grouped_by, events.starts, events.ends)
        moments = Moments.of(run.partition, run.instants, run.partitions)
        rows, group = self._rows_of(index, changes, run)
        more, out = self._anew(state, run, moments, rows, group, span)
        return {**parts, **more}, out

    def _anew(
        self,
        state: State,
        run: OrderedRun,
        moments: Moments,
        rows: Changes,
        group: np.ndarray,
        span: Span,
    ) -> tuple[dict[str, Part], Changes]:
        """The parts of the state that follow from the rows of groups, and what has changed."""
        rows, moment = present(rows, group, moments, self._places)
        found, columns, failed = self._given(rows, moment, moments, span)
        parts: dict[str, Part] = {FAILED: failed} if failed.num_rows else {}
        parts["shown"], out = self._show(state, run, moments, found, columns)
        return parts, out

    @cached_property
    def _key_schema(self) -> pa.Schema:
        return pa.schema([self.input_schema.field(name) for name in self.grouped_by])

    def _show(
        self,
        state: State,
        run: OrderedRun,
        moments: Moments,
        found: np.ndarray,
        columns: list[pa.Array],
    ) -> tuple[Part, Changes]:
        """What groups show from now on, and the changes of it."""
        bag = BagByKey(state.get("shown"), self._shown_schema, len(self.grouped_by))
        before = bag.touched(run.touched_keys)
        now = self._shown(run, moments, found, columns)
        out = self._emit(run, moments, found, columns, before)
        return bag.after(before, *self._all_shown(before, now, run), False), out

    def _hashes(self, rows: pa.RecordBatch) -> np.ndarray:
        return hashes_of(rows.select(list(self.grouped_by)).columns, rows.num_rows)

    def _rows_of(
        self, index: Index, changes: Changes, run: OrderedRun
    ) -> tuple[Changes, np.ndarray]:
        """The rows of the groups with events, and the group of each."""
        wanted, found = run.keys, [changes]
        hashes = hashes_of(wanted.columns, run.partitions)
        for rows, there, needle in index.search(hashes):
            keys = rows.rows.select(list(self.grouped_by))
            same = equal_rows(keys, there, wanted, needle)
            found.append(rows.take(there[same]))
        every = Changes.concat(found[::-1], self.input_schema)
        return every, self._group_of(every.rows, run)

    def _group_of(self, rows: pa.RecordBatch, run: OrderedRun) -> np.ndarray:
        """The group of every row; one after the last for rows of groups without events."""
        if not self.grouped_by:
            return np.zeros(rows.num_rows, np.int64)
        both = concat_rows([run.keys, rows.select(list(self.grouped_by))], self._key_schema)
        codes, _ = factorize(both.columns, both.num_rows)
        group = np.minimum(codes[run.partitions :], run.partitions)
        return np.where(np.append(run.touched, False)[group], group, run.partitions)

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


Places = Callable[[Changes, np.ndarray], np.ndarray]


def present(
    rows: Changes, group: np.ndarray, moments: Moments, places_of: Places
) -> tuple[Changes, np.ndarray]:
    """The rows that are there at every moment of their group, in their order, and the moment of
    each."""
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
    order = places_of(rows.take(first), earliest)
    rank = np.empty(len(first), np.int64)
    rank[order] = np.arange(len(first))
    places = moment * len(first) + rank[tuples[index]]
    every, where = np.unique(places, return_inverse=True)
    weights = np.zeros(len(every), np.int64)
    np.add.at(weights, where, rows.weight[index])
    there = np.repeat(every, np.maximum(weights, 0))
    count = max(len(first), 1)
    return rows.take(first[order[there % count]]), there // count
