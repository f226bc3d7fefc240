"""TableScan: a table as a relation that changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.changes import Changes, concat_rows, forever
from millstream.algebra.expressions import name_text
from millstream.algebra.lifetime import Lifetime, left_open
from millstream.algebra.node import Distribution, Node, Step
from millstream.algebra.pattern import Label, Pattern
from millstream.algebra.state_parts import Extent, StatePart, Structure
from millstream.algebra.time import INFINITY, Span
from millstream.columns.keys import factorize
from millstream.columns.versions import DELETE, INSERT, UPDATE, follow_copies, follow_keys
from millstream.operators.lookup_join import StaticTable
from millstream.operators.to_stream import compact
from millstream.state.chunks import Log, State

SPELLINGS = {
    INSERT: ("insert", "i", "c", "r", "+"),
    UPDATE: ("update", "u"),
    DELETE: ("delete", "d", "-"),
}
"""What a modification does, as feeds write it, in any case: the words of SQL, their first letters,
`c` (create) and `r` (read, a row of the first snapshot), and the signs of our own results."""

FEW = 4096
"""Logs shorter than this are not worth compacting."""


@dataclass(frozen=True, eq=False)
class TableScan(Node):
    """The rows of a table: those it begins with, changed by the modifications of its input.

    The first column of the input says what each element does: insert, update or delete. With keys,
    a row takes the place of the one with the same key, and a delete removes the row of its key;
    without, an insert adds a copy, and a delete removes one equal row if there is one. A table that
    never changes has no input, or one without columns that only carries the time.
    Law: at τ the table is what its rows and all modifications up to τ make, those of one instant in
    the order of arrival; an instant that leaves a key as it was emits nothing. The rows a table
    begins with were there before its first modification: one that is replaced at the instant at
    which the query begins is never in the relation. A `non_retroactive` table emits such a row all
    the same, present at no instant: the join that asks for the table as it stood just before an
    instant needs it, and no other operator may read that.
    State: the rows present, as a log that is written anew when it has doubled. Cost: the table, in
    steps that bring modifications; nothing in others.
    """

    state_parts: ClassVar[tuple[StatePart, ...]] = (
        StatePart("content", "rows of the table", Structure.LIST, Extent.OWN),
        StatePart("begun", "that the table has begun", Structure.LIST, Extent.ONE),
    )

    table: StaticTable
    keys: tuple[str, ...]
    input: Node | None = None
    since: tuple[str, ...] = ()
    non_retroactive: bool = False

    @cached_property
    def schema(self) -> pa.Schema:
        return self.table.rows.schema

    @property
    def key(self) -> tuple[str, ...] | None:  # type: ignore[override]
        return self.keys or None

    @property
    def is_static(self) -> bool:
        """True for a table that never changes: its input, if any, only carries the time."""
        return self.input is None or not self.input.schema.names

    @property
    def required_distribution(self) -> Distribution:
        """What a table begins with lies in one bucket."""
        if self.is_static or self.table.rows.num_rows:
            return ()
        return self.keys or tuple(self.schema.names)

    @property
    def words(self) -> str:
        since = f" since {', '.join(map(name_text, self.since))}" if self.since else ""
        before = " non retroactive" if self.non_retroactive else ""
        return f"{name_text(self.table.name)}{before}{since}"

    @property
    def reach(self) -> int | None:
        return 0 if self.is_static else None

    def lives(self, *modifications: Lifetime) -> Lifetime:
        if self.is_static:
            return left_open(Label(Pattern.MON, "the table never changes"), bounded=True)
        reason = "rows are updated and deleted at any time"
        return left_open(Label(Pattern.STR, reason), bounded=True)

    @cached_property
    def row_limit(self) -> int | None:
        return self.table.rows.num_rows if self.is_static else None

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        begin = self._begin(state, changes, span)
        modified, kinds = self._modifications(changes, begin)
        if len(modified) == 0:
            return state, modified
        log: Log = state.get("content", Log())
        present = compact(Changes.concat(log.all(), self.schema))
        entered, ends = self._follow(present, modified, kinds)
        known = len(present)
        left = np.flatnonzero(ends[:known] < INFINITY)
        came = np.flatnonzero(entered)
        out = Changes.concat(
            [
                replace(present.take(left), ts=ends[left], weight=np.full(len(left), -1)),
                self._since(begin, replace(modified.take(came), exp=ends[known + came])),
            ],
            self.schema,
        )
        begun = {"begun": _mark()} if begin is not None or "begun" in state else {}
        return {**begun, "content": _kept(log, present, out, left)}, out.in_time_order()

    def _since(self, begin: int | None, came: Changes) -> Changes:
        """Rows that were there before the beginning enter with it, if they are still there."""
        if begin is None:
            return came
        came = replace(came, ts=np.maximum(came.ts, begin))
        return came if self.non_retroactive else came.keep(came.exp > came.ts)

    def _begin(self, state: State, changes: Changes, span: Span) -> int | None:
        """When the rows that the table begins with enter, if that lies in this span."""
        if "begun" in state or span.end <= span.start or not self.table.rows.num_rows:
            return None
        starts = [] if span.begin is None else [span.begin]
        if len(changes):
            starts.append(int(changes.ts.min()))
        first = max(min(starts, default=INFINITY), span.start + 1)
        return first if first <= span.end else None

    def _modifications(self, changes: Changes, begin: int | None) -> tuple[Changes, np.ndarray]:
        """The rows of the modifications with what they do, after those of the beginning, which were
        there at the instant before."""
        if self.is_static:
            modified, kinds = Changes.empty(self.schema), np.zeros(0, np.int64)
        else:
            modified, kinds = self._read(changes)
        if begin is None:
            return modified, kinds
        count = self.table.rows.num_rows
        ones = np.ones(count, np.int64)
        first = Changes(
            self.table.rows, (begin - 1) * ones, forever(count), ones, -1 - np.arange(count)
        )
        both = Changes.concat([first, modified], self.schema)
        return both, np.concatenate([np.full(count, INSERT), kinds])

    def _read(self, changes: Changes) -> tuple[Changes, np.ndarray]:
        changes = changes.in_time_order()
        kinds = kinds_of(changes.rows.column(0))
        rows = pa.RecordBatch.from_arrays(
            [changes.rows.column(name) for name in self.schema.names], schema=self.schema
        )
        return replace(changes.with_rows(rows), exp=forever(len(changes))), kinds

    def _follow(
        self, present: Changes, modified: Changes, kinds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Which modifications take effect; when present rows, and those, leave."""
        both = concat_rows([present.rows, modified.rows], self.schema)
        known, size = len(present), both.num_rows
        values, _ = factorize(both.columns, size)
        groups = values
        if self.keys:
            groups, _ = factorize([both.column(name) for name in self.keys], size)
        ts = np.concatenate([present.ts, modified.ts])
        kinds = np.concatenate([np.full(known, INSERT), kinds])
        entered, ends = np.zeros(size, np.bool_), forever(size)
        order = known + np.lexsort((ts[known:], groups[known:]))
        newest = np.full(int(groups.max()) + 1, -1)
        newest[groups[:known]] = np.arange(known)
        if self.keys:
            follow_keys(order, groups, ts, kinds, values, newest, entered, ends)
        else:
            below = _copies_below(groups[:known], size)
            follow_copies(order, groups, ts, kinds, newest, below, entered, ends)
        return entered[known:], ends


def table_below(node: Node) -> TableScan | None:
    """The table that a node is, or some of whose rows or columns it gives."""
    while node.row_by_row or node.moves_rows:
        (node,) = node.inputs
    return node if isinstance(node, TableScan) else None


def label_beside_table(side: Node, other: Lifetime) -> Label | None:
    """The label of rows of the other side that meet those of this side, if this is a table."""
    table = table_below(side)
    if table is None:
        return None
    if table.is_static:
        return Label(other.pattern, "rows leave as the others do: the table never changes", 1)
    return Label(Pattern.STR, "a change of the table retracts results", 5)


def kinds_of(ops: pa.Array) -> np.ndarray:
    """What each op does, by any of its spellings in any case; −1 for one that is none.

    >>> kinds_of(pa.array(["+", "Update", "D", "drop", None])).tolist()
    [0, 1, 2, -1, -1]
    """
    encoded = ops.dictionary_encode()
    words = pc.utf8_lower(pc.utf8_trim_whitespace(encoded.dictionary)).to_pylist()
    meaning = {word: kind for kind, words in SPELLINGS.items() for word in words}
    kinds = np.array([*(meaning.get(word, -1) for word in words), -1], np.int64)
    return kinds[pc.fill_null(encoded.indices, len(words)).to_numpy(zero_copy_only=False)]


def _copies_below(groups: np.ndarray, size: int) -> np.ndarray:
    """For every present row the equal one before it, or −1; room for `size` rows."""
    below = np.full(size, -1)
    order = np.argsort(groups, kind="stable")
    same = groups[order][1:] == groups[order][:-1]
    below[order[1:][same]] = order[:-1][same]
    return below


def _kept(log: Log, present: Changes, out: Changes, left: np.ndarray) -> Log:
    """The log with what came and what left, or the rows present if that is much shorter."""
    news = out.keep(out.exp == INFINITY)
    grown = log.append(news, news.exp)
    size = len(present) - 2 * len(left) + len(news)
    if grown.rows <= max(FEW, 2 * size):
        return grown
    whole = compact(Changes.concat([present, news], out.schema))
    return Log().append(whole, whole.exp)


def _mark() -> pa.RecordBatch:
    return pa.record_batch([pa.array([True])], names=["begun"])
