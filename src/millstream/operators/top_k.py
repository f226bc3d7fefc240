"""TopK: the first rows of a relation in a given order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.changes import Changes, forever, no_rows
from millstream.algebra.expressions import name_text
from millstream.algebra.lifetime import Lifetime, left_open
from millstream.algebra.node import Distribution, Node, Step
from millstream.algebra.pattern import Label, Pattern
from millstream.algebra.state_parts import Extent, StatePart, Structure, ending
from millstream.algebra.time import Span
from millstream.columns.keys import factorize
from millstream.columns.order import sorted_order
from millstream.columns.positions import as_intervals, follow_positions
from millstream.state.chunks import Log, State
from millstream.state.events import summed, unfold_all

EVER = 2**61
"""A number of rows that no relation has: the end of a TopK without LIMIT."""

NEAR = 128
"""So many of the first rows are always kept in order, if there are that many."""


@dataclass(frozen=True, eq=False)
class TopK(Node):
    """`ORDER BY … LIMIT k OFFSET m`: of every partition, the first k rows after the first m.

    `order` is (column, descending, nulls first) for each column; ties go by the values of all
    columns, ascending, NULL first, then by arrival. Without a limit it is all rows after m.
    Law: at every instant, the rows at positions m … m+k−1 of the partition as it is then.
    State: the rows present, the first ones of every partition (`near`) in order, the others (`far`)
    as they came; the rows whose expiration lies ahead.
    Cost: the batch and the near rows; all rows when too many of the near ones have left.
    """

    follows_content: ClassVar[bool] = True
    takes_at_once: ClassVar[bool] = True

    state_parts: ClassVar[tuple[StatePart, ...]] = (
        StatePart("near", "the first rows", Structure.SORTED, Extent.ROWS),
        StatePart("far", "the rows after them", Structure.LIST, Extent.ROWS),
        ending(),
    )

    order: tuple[tuple[str, bool, bool], ...]
    limit: int | None
    offset: int
    partition_by: tuple[str, ...]
    input: Node

    @property
    def required_distribution(self) -> Distribution:
        return self.partition_by

    @property
    def words(self) -> str:
        order = ", ".join(
            f"{name_text(n)}{' desc' if down else ''}{' nulls first' if first else ' nulls last'}"
            for n, down, first in self.order
        )
        by = ", ".join(name_text(name) for name in self.partition_by)
        skip = f" offset {self.offset}" if self.offset else ""
        count = "all" if self.limit is None else str(self.limit)
        return f"{count}{skip} by {order}" + (f" per {by}" if by else "")

    @property
    def end(self) -> int:
        """The position after the last one shown."""
        return EVER if self.limit is None else min(self.offset + self.limit, EVER)

    def room(self, rows: int) -> int:
        """How many near rows a partition has at least: more, where there are many rows, so that
        far ones are seldom fetched."""
        return max(NEAR, 4 * self.end, rows // 16)

    def lives(self, given: Lifetime) -> Lifetime:
        label = Label(Pattern.STR, "a row that comes in pushes another one out")
        return left_open(label, bounded=self.limit is not None or given.bounded)

    @cached_property
    def row_limit(self) -> int | None:
        return None if self.partition_by else self.limit

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        if self.limit == 0:
            return {}, Changes.empty(self.schema)
        near: pa.RecordBatch = state.get("near", no_rows(self._near_schema))
        far: Log = state.get("far", Log())
        passing = (changes.exp <= span.end) & self._surely_far(near, changes)
        found = self._moved(state, near, far, changes.keep(~passing), span)
        if found is None:
            found = self._moved(state, self._all(near, far), Log(), changes, span)
            assert found is not None, "without far rows there are always enough"
        return found

    def _moved(
        self, state: State, near: pa.RecordBatch, far: Log, changes: Changes, span: Span
    ) -> Step | None:
        """The state and the answer after the changes; None if rows are missing.

        Far rows that come and go within the span need not be among the changes.
        """
        due, events = unfold_all(state.get("due", Log()), changes, span, self.state_layout)
        every = events.merged()
        if len(every) == 0:
            return {"due": due, "near": near, "far": far}, Changes.empty(self.schema)
        found = self._advance(near, far, every)
        if found is None:
            return None
        near, far, out = found
        return {"due": due, "near": near, "far": far}, out

    def _surely_far(self, near: pa.RecordBatch, rows: Changes) -> np.ndarray:
        """Where rows come after the last near one of a partition that has far rows, as the first
        column of the order shows: most rows do, and this costs far less than to sort them."""
        more = near.column("#more").to_numpy(zero_copy_only=False)
        if not more.any() or not self.order:
            return np.zeros(len(rows), np.bool_)
        name, down, _ = self.order[0]
        if pa.types.is_nested(self.schema.field(name).type):
            return np.zeros(len(rows), np.bool_)
        is_after = pc.less if down else pc.greater
        keys = [
            pa.concat_arrays([near.column(key), rows.rows.column(key)]) for key in self.partition_by
        ]
        codes, first = factorize(keys, near.num_rows + len(rows))
        last = np.full(len(first), -1)
        last[codes[: near.num_rows]] = np.arange(near.num_rows)
        at = last[codes[near.num_rows :]]
        after = is_after(rows.rows.column(name), near.column(name).take(pa.array(at % len(more))))
        return after.fill_null(False).to_numpy(zero_copy_only=False) & (at >= 0) & more[at]

    @cached_property
    def _near_schema(self) -> pa.Schema:
        """The rows with their arrival and count, and whether their partition has far rows."""
        return pa.schema(
            [*self.schema, ("#seq", pa.int64()), ("#count", pa.int64()), ("#more", pa.bool_())]
        )

    def _advance(
        self, near: pa.RecordBatch, far: Log, every: Changes
    ) -> tuple[pa.RecordBatch, Log, Changes] | None:
        """The rows after the events, and what changed among those shown; None if rows are missing.

        What comes after the last near row of a partition that has far rows is far, too.
        """
        far_ones = self._surely_far(near, every)
        gone, every = every.keep(far_ones), every.keep(~far_ones)
        near, aside = self._split(near, every)
        known, more_rows = _content(near)
        slots = _Slots.of(self, known, every)
        more = np.zeros(slots.partitions, np.bool_)
        more[slots.partition[slots.known[more_rows]]] = True
        frontier = np.full(slots.partitions, -1)
        np.maximum.at(frontier, slots.partition[slots.known], slots.known)
        place = slots.partition[slots.event]
        beyond = more[place] & (slots.event > frontier[place])
        counts = np.zeros(len(slots.rows), np.int64)
        counts[slots.known] = known.weight
        index = np.flatnonzero(~beyond)
        index = index[np.lexsort((every.ts[index], place[index]))]
        *moves, short = follow_positions(
            slots.event[index],
            every.ts[index],
            every.weight[index],
            np.searchsorted(place[index], np.arange(slots.partitions + 1)),
            np.searchsorted(slots.partition, np.arange(slots.partitions + 1)),
            counts,
            more,
            self.offset,
            self.end,
        )
        if short:
            return None
        away = Changes.concat([gone, every.keep(beyond)], self.schema)
        kept, far = self._keep(slots, counts, more, away, far)
        return pa.concat_batches([aside, kept]), far, _emit(slots.rows, moves)

    def _split(self, near: pa.RecordBatch, every: Changes) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """The near rows of partitions that the events touch, and the others."""
        if not self.partition_by or near.num_rows == 0:
            return near, near.slice(0, 0)
        keys = [
            pa.concat_arrays([near.column(name), every.rows.column(name)])
            for name in self.partition_by
        ]
        codes, first = factorize(keys, near.num_rows + len(every))
        touched = np.zeros(len(first), np.bool_)
        touched[codes[near.num_rows :]] = True
        here = touched[codes[: near.num_rows]]
        return near.filter(pa.array(here)), near.filter(pa.array(~here))

    def _keep(
        self, slots: _Slots, counts: np.ndarray, more: np.ndarray, away: Changes, far: Log
    ) -> tuple[pa.RecordBatch, Log]:
        """What is left of the near rows; where there are too many, the last ones become far."""
        alive = np.flatnonzero(counts)
        part = slots.partition[alive]
        begin, end = np.searchsorted(part, part), np.searchsorted(part, part, side="right")
        room = self.room(len(alive) + far.rows)
        over = end - begin > 2 * room
        more = more.copy()
        more[part[over]] = True
        last = over & (np.arange(len(alive)) - begin >= room)
        rows = replace(slots.rows.take(alive), weight=counts[alive])
        near = rows.keep(~last)
        batch = pa.RecordBatch.from_arrays(
            [
                *near.rows.columns,
                pa.array(near.seq),
                pa.array(near.weight),
                pa.array(more[part[~last]]),
            ],
            schema=self._near_schema,
        )
        return batch, _added(far, Changes.concat([away, rows.keep(last)], self.schema))

    def _all(self, near: pa.RecordBatch, far: Log) -> pa.RecordBatch:
        """All rows as near ones."""
        rows = Changes.concat(far.all(), self.schema)
        rows = summed(rows, rows.exp)
        columns = [*rows.rows.columns, pa.array(rows.seq), pa.array(rows.weight)]
        none = pa.array(np.zeros(len(rows), np.bool_))
        fetched = pa.RecordBatch.from_arrays([*columns, none], schema=self._near_schema)
        cleared = pa.array(np.zeros(near.num_rows, np.bool_))
        near = near.set_column(near.num_columns - 1, self._near_schema.field("#more"), cleared)
        return pa.concat_batches([near, fetched])


@dataclass(frozen=True, eq=False)
class _Slots:
    """Every row once, by partition and in order: its number there is its slot.

    `known` and `event` are the slots of the near rows and of the events.
    """

    rows: Changes
    partition: np.ndarray
    partitions: int
    known: np.ndarray
    event: np.ndarray

    @staticmethod
    def of(node: TopK, known: Changes, every: Changes) -> _Slots:
        both = Changes.concat([known, every], node.schema)
        keys = [both.rows.column(name) for name in node.partition_by]
        partition, names = factorize(keys, len(both))
        codes, first = factorize([*both.rows.columns, pa.array(both.seq)], len(both))
        once = both.take(first)
        ordered = {name for name, _, _ in node.order}
        order = sorted_order(
            [
                (pa.array(partition[first]), False, True),
                *[(once.rows.column(name), down, nulls) for name, down, nulls in node.order],
                *[
                    (once.rows.column(name), False, True)
                    for name in node.schema.names
                    if name not in ordered
                ],
                (pa.array(np.maximum(once.seq, 0)), False, True),
                (pa.array(once.seq), False, True),
            ]
        )
        slot = np.empty(len(first), np.int64)
        slot[order] = np.arange(len(first))
        slots = slot[codes]
        return _Slots(
            once.take(order),
            partition[first][order],
            len(names),
            slots[: len(known)],
            slots[len(known) :],
        )


def _content(near: pa.RecordBatch) -> tuple[Changes, np.ndarray]:
    """The near rows with their counts as weights; where their partition has far rows."""
    width = near.num_columns - 3
    rows = near.select(list(range(width)))
    seq, count = near.column(width).to_numpy(), near.column(width + 1).to_numpy()
    more = near.column(width + 2).to_numpy(zero_copy_only=False)
    return Changes(rows, np.zeros(len(seq), np.int64), forever(len(seq)), count, seq), more


def _emit(rows: Changes, moves: list[np.ndarray]) -> Changes:
    slots, instants, changes = moves
    slot, ts, exp, weight = as_intervals(slots, instants, changes, len(rows))
    order = np.argsort(ts, kind="stable")
    moved = replace(rows.take(slot), ts=ts, exp=exp, weight=weight)
    return moved.take(order)


def _added(far: Log, rows: Changes) -> Log:
    """The far rows and more; they are added up when they have doubled."""
    content = replace(rows, ts=np.zeros(len(rows), np.int64), exp=forever(len(rows)))
    grown = far.append(content, content.exp)
    if grown.rows <= NEAR or not far.chunks or grown.rows <= 2 * far.chunks[0].rows:
        return grown
    whole = Changes.concat(grown.all(), rows.schema)
    whole = summed(whole, whole.exp)
    return Log().append(whole, whole.exp)
