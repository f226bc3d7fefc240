"""Rematch: a pattern over the rows of a relation, at every instant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.changes import Changes, concat_rows, take_rows
from millstream.algebra.expressions import name_text
from millstream.algebra.facts import Columns
from millstream.algebra.lengths import length_text
from millstream.algebra.node import Node, Step
from millstream.algebra.state_parts import Extent, StatePart, Structure, ending
from millstream.algebra.time import DAWN, Span
from millstream.columns.keys import as_words
from millstream.columns.order import canonical_order
from millstream.operators.affected import DECIDER, LAST, NOWHERE, affected, names_of
from millstream.operators.failures import FAILED, told
from millstream.operators.groups_anew import SINCE, GroupsAnew, Moments, present
from millstream.operators.measured import Measuring
from millstream.patterns.scene import with_shifts
from millstream.patterns.search import Search
from millstream.patterns.sequence import Sequence
from millstream.state.by_key import BagByKey
from millstream.state.chunks import Log, Part, State
from millstream.state.ordered_run import OrderedRun

SEARCHED = pa.schema([("#instants", pa.int64()), ("#rows", pa.int64())])


@dataclass(frozen=True, eq=False)
class Rematch(GroupsAnew):
    """`FROM t PARTITION BY … SEQUENCE BY … AS (X, *Y)`: the matches in the rows of a relation.

    Law: at τ the output is what the search finds in the rows that are there at τ, those of each
    partition in the order of `sequence_by`, then of their other columns, NULL first. The end of the
    rows ends a star. Attempts do not run out of time: there is no time after the last row.
    State: the rows of every partition, and the matches that are shown, of a sequence with the row
    that each ends with and the furthest that was looked at for it (`affected`). Cost: the rows of
    the partitions that change; and for every instant at which something enters or leaves one, the
    rows behind the last match that no change of the step can affect.
    """

    key: ClassVar[None] = None  # type: ignore[assignment]
    follows_content: ClassVar[bool] = True
    state_parts: ClassVar[tuple[StatePart, ...]] = (  # type: ignore[assignment]
        StatePart("rows", "rows of the partitions", Structure.HASH, Extent.ROWS),
        StatePart("shown", "matches that are shown", Structure.HASH, Extent.OWN),
        StatePart("searched", "instants searched, and rows for them", Structure.GROUPS, Extent.ONE),
        ending(),
    )

    partition_by: tuple[str, ...]
    sequence_by: tuple[str, ...]
    search: Search
    gives: tuple[tuple[str, pa.DataType], ...]
    input: Node
    descending: tuple[str, ...] = ()

    @property
    def grouped_by(self) -> tuple[str, ...]:
        return self.partition_by

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([*self._key_schema, *(pa.field(name, kind) for name, kind in self.gives)])

    @property
    def words(self) -> str:
        columns = ", ".join(name_text(name) for name in self.partition_by)
        by = f"Partition By {columns} " if columns else ""
        order = ", ".join(
            f"{name_text(name)}{' Descending' if name in self.descending else ''}"
            for name in self.sequence_by
        )
        given = ", ".join(name_text(name) for name, _ in self.gives)
        asked = self.search.words(lambda length: length_text(length, self.time_domain))
        return f"{by}Sequence By {order} {asked}" + (f" giving {given}" if given else "")

    def with_columns(self, wanted: Columns) -> Node | None:
        """Without what nobody uses of a match."""
        kept = tuple((name, kind) for name, kind in self.gives if name in wanted)
        return None if len(kept) == len(self.gives) else replace(self, gives=kept)

    def _places(self, rows: Changes, earliest: np.ndarray) -> np.ndarray:
        others = [n for n in self.input_schema.names if n not in self.sequence_by]
        ordered = rows.rows.select([*self.sequence_by, *others])
        columns = [
            _downward(column) if name in self.descending else column
            for name, column in zip(ordered.schema.names, ordered.columns)
        ]
        return canonical_order([], pa.RecordBatch.from_arrays(columns, names=ordered.schema.names))

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        """What comes first, for example a whole table, is searched by itself: then there are
        matches that the changes after it cannot affect."""
        first = span.end
        if len(changes) and _count(state.get("shown")) == 0:
            first = int(changes.ts.min())
        if not span.start < first < span.end:
            return self._stepped(state, changes, span)
        begins = changes.ts <= first
        begun, out = self._stepped(state, changes.keep(begins), replace(span, end=first))
        after, more = self._stepped(begun, changes.keep(~begins), replace(span, start=first))
        if FAILED in begun:
            said = [part[FAILED] for part in (begun, after) if FAILED in part]
            after = {**after, FAILED: pa.concat_batches(said)}
        return after, Changes.concat([out, more], self.schema)

    def _stepped(self, state: State, changes: Changes, span: Span) -> Step:
        after, out = super().step(state, changes, span)
        if "searched" in state and "searched" not in after:
            after = {**after, "searched": state["searched"]}
        return after, out

    def _anew(
        self,
        state: State,
        run: OrderedRun,
        moments: Moments,
        rows: Changes,
        group: np.ndarray,
        span: Span,
    ) -> tuple[dict[str, Part], Changes]:
        """Matches that no change can affect stay; the search begins behind them."""
        if not isinstance(self.search, Sequence):
            return super()._anew(state, run, moments, rows, group, span)
        bag = BagByKey(state.get("shown"), self._shown_schema, len(self.grouped_by))
        before = bag.touched(run.touched_keys)
        _, shifts = self.search.columns(name for name, _ in self.gives)
        back = max((-by for _, by in shifts), default=0)
        of_shown = self._group_of(before, run)
        part = affected(rows, group, run.partitions, before, of_shown, back, span, self._places)
        rows, moment = present(part.rows, part.group, moments, self._places)
        found, columns, failed = self._found(rows, moment, moments, span, part.before)
        parts: dict[str, Part] = {FAILED: failed} if failed.num_rows else {}
        left = take_rows(before, np.flatnonzero(~part.stays))
        out = self._emit(run, moments, found, columns[:-2], left)
        now = self._shown(run, moments, found, columns)
        stay = part.stays | (of_shown == run.partitions)
        kept = concat_rows([take_rows(before, np.flatnonzero(stay)), now], self._shown_schema)
        parts["shown"] = bag.after(before, kept, now.num_rows, False)
        parts["searched"] = _counted(state, len(moments.group), len(rows))
        return parts, out

    @cached_property
    def _shown_schema(self) -> pa.Schema:
        if not isinstance(self.search, Sequence):
            return super()._shown_schema
        names = [pa.field(LAST, pa.int64()), pa.field(DECIDER, pa.int64())]
        numbers = [pa.field(SINCE, pa.int64()), pa.field("#count", pa.int64())]
        return pa.schema([*self.schema, *names, *numbers])

    def _given(
        self, rows: Changes, moment: np.ndarray, moments: Moments, span: Span
    ) -> tuple[np.ndarray, list[pa.Array], pa.RecordBatch]:
        return self._found(rows, moment, moments, span, np.zeros(len(moments.starts), np.int64))

    def _found(
        self,
        rows: Changes,
        moment: np.ndarray,
        moments: Moments,
        span: Span,
        before: np.ndarray,
    ) -> tuple[np.ndarray, list[pa.Array], pa.RecordBatch]:
        """What is found in the rows of every moment, behind those `before` in each group; of a
        sequence, with the names of rows that matches end with and that decide them."""
        starts = np.searchsorted(moment, np.arange(len(moments.group) + 1))
        _, shifts = self.search.columns(name for name, _ in self.gives)
        read = with_shifts(rows.rows, starts, sorted(shifts))
        measure = Measuring(self.state_layout.native)
        found = self.search.find(
            read,
            starts,
            np.minimum(starts[:-1] + before[moments.group], starts[1:]),
            np.arange(len(rows)),
            self._times(rows.rows),
            self.search.empty_state(len(moments.group)),
            skips=self.state_layout.skips,
            steps=self.state_layout.steps,
            closed=True,
            now=DAWN,
            measure=measure,
        )
        failed = list(found.failed)
        given = self.search.results(found.matches, read, dict(self.gives), measure, failed)
        late = found.given_up[rows.ts[found.given_up[:, 1]] > span.start]
        failed = [failure for failure in failed if rows.ts[failure[1].event] > span.start]
        said = told(read, lambda at: rows.arrival[at], late, failed)
        if isinstance(self.search, Sequence):
            names = names_of(rows)
            given += [pa.array(_named(names, at)) for at in self.search.decided_by(found.matches)]
        return self.search.partitions_of(found.matches), given, said

    def _times(self, rows: pa.RecordBatch) -> np.ndarray:
        """The instants of rows, for a limit of time."""
        if self.search.within is None:
            return np.zeros(rows.num_rows, np.int64)
        return as_words(rows.column(self.sequence_by[0]))


def _named(names: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The names of rows; of none where there is −1."""
    return np.where(at < 0, NOWHERE, np.append(names, NOWHERE)[at])


def _count(part: Part | None) -> int:
    if isinstance(part, Log):
        return part.rows
    return 0 if part is None else part.num_rows


def searched(state: State) -> tuple[int, int]:
    """How many instants of partitions were searched by now, and how many rows for them."""
    part = state.get("searched")
    if not isinstance(part, pa.RecordBatch) or part.num_rows == 0:
        return 0, 0
    return part.column(0)[0].as_py(), part.column(1)[0].as_py()


def _counted(state: State, instants: int, rows: int) -> pa.RecordBatch:
    before = searched(state)
    columns = [pa.array([before[0] + instants]), pa.array([before[1] + rows])]
    return pa.RecordBatch.from_arrays(columns, schema=SEARCHED)


def _downward(column: pa.Array) -> pa.Array:
    """Numbers in the opposite order of values: NULL, which is below all of them, comes last."""
    ranks = pc.rank(column, tiebreaker="dense").to_numpy().astype(np.int64)
    return pa.array(np.where(column.is_null().to_numpy(zero_copy_only=False), 1, -ranks))
