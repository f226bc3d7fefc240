"""Rematch: a pattern over the rows of a relation, at every instant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.changes import Changes
from millstream.algebra.expressions import name_text
from millstream.algebra.facts import Columns
from millstream.algebra.lengths import length_text
from millstream.algebra.node import Node
from millstream.algebra.state_parts import Extent, StatePart, Structure, ending
from millstream.algebra.time import DAWN, Span
from millstream.columns.keys import as_words
from millstream.columns.order import canonical_order
from millstream.operators.failures import told
from millstream.operators.groups_anew import GroupsAnew, Moments
from millstream.operators.measured import Measuring
from millstream.patterns.scene import with_shifts
from millstream.patterns.search import Search


@dataclass(frozen=True, eq=False)
class Rematch(GroupsAnew):
    """`FROM t PARTITION BY … SEQUENCE BY … AS (X, *Y)`: the matches in the rows of a relation.

    Law: at τ the output is what the search finds in the rows that are there at τ, those of each
    partition in the order of `sequence_by`, then of their other columns, NULL first. The end of the
    rows ends a star. Attempts do not run out of time: there is no time after the last row.
    State: the rows of every partition, and the matches that are shown. Cost: for every instant at
    which something enters or leaves a partition, the rows of that partition.
    """

    key: ClassVar[None] = None  # type: ignore[assignment]
    follows_content: ClassVar[bool] = True
    state_parts: ClassVar[tuple[StatePart, ...]] = (  # type: ignore[assignment]
        StatePart("rows", "rows of the partitions", Structure.HASH, Extent.ROWS),
        StatePart("shown", "matches that are shown", Structure.HASH, Extent.GROUPS),
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

    def _given(
        self, rows: Changes, moment: np.ndarray, moments: Moments, span: Span
    ) -> tuple[np.ndarray, list[pa.Array], pa.RecordBatch]:
        starts = np.searchsorted(moment, np.arange(len(moments.group) + 1))
        _, shifts = self.search.columns(name for name, _ in self.gives)
        read = with_shifts(rows.rows, starts, sorted(shifts))
        measure = Measuring(self.state_layout.native)
        found = self.search.find(
            read,
            starts,
            starts[:-1].copy(),
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
        said = told(read, rows.arrival, late, failed)
        return self.search.partitions_of(found.matches), given, said

    def _times(self, rows: pa.RecordBatch) -> np.ndarray:
        """The instants of rows, for a limit of time."""
        if self.search.within is None:
            return np.zeros(rows.num_rows, np.int64)
        return as_words(rows.column(self.sequence_by[0]))


def _downward(column: pa.Array) -> pa.Array:
    """Numbers in the opposite order of values: NULL, which is below all of them, comes last."""
    ranks = pc.rank(column, tiebreaker="dense").to_numpy().astype(np.int64)
    return pa.array(np.where(column.is_null().to_numpy(zero_copy_only=False), 1, -ranks))
