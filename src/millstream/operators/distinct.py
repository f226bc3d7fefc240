"""Distinct: one copy of every row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from millstream.algebra.changes import Changes, forever
from millstream.algebra.node import Node, Spread, Step
from millstream.algebra.pattern import Label, weak
from millstream.algebra.state import Log, State
from millstream.algebra.time import INFINITY, Span
from millstream.columns.keys import hashes_of
from millstream.columns.tally import PRESENT
from millstream.operators.counted import count_values
from millstream.operators.identity import identity_of_values
from millstream.operators.keyed import Index, Latest


@dataclass(frozen=True, eq=False)
class Distinct(Node):
    """One copy of every row that is present, as long as any copy is.

    State: the counts of the values present, and the rows whose expiration lies ahead.
    Cost: the batch and what falls due.
    """

    only_adds: ClassVar[bool] = False  # type: ignore[assignment]
    is_clean: ClassVar[bool] = False  # type: ignore[assignment]

    input: Node

    @property
    def key(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(self.schema.names) if self.input.key is None else self.input.key

    @property
    def needs(self) -> Spread:
        return tuple(self.schema.names)

    @property
    def label(self) -> Label:
        return weak(
            (node.pattern for node in self.inputs), "a value leaves with the last of its copies"
        )

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        if "known" not in state:
            return count_values(state, (changes,), PRESENT, self.schema, span, self.manner)
        state, told = self._from_delta_star(state["known"], span)
        state, out = count_values(state, (changes,), PRESENT, self.schema, span, self.manner)
        return state, Changes.concat([told, out], self.schema)

    def _from_delta_star(self, known: Log, span: Span) -> Step:
        """State that DeltaStar left, as counts. Values that it told with an end are told openly
        from now on, so that the two sums are the same."""
        rows = Latest.of(known, self.schema).rows()
        rows = rows.keep(rows.exp > span.start)
        count, now = len(rows), np.full(len(rows), span.start + 1)
        ones, none = np.ones(count, np.int64), np.zeros(count, np.int64)
        hashes = hashes_of(rows.rows.columns, count)
        counts = Index.of(None, self.schema).add(
            Changes(rows.rows, none, forever(count), ones, none), hashes, span.start
        )
        copies = replace(rows, ts=now, weight=ones, seq=none).keep(rows.exp != INFINITY)
        due = self.manner.buffer.add(Log(), copies, span.start)
        seq = identity_of_values(rows.rows, count)
        closed = Changes(rows.rows, now, rows.ts, -ones, seq).keep(rows.ts > span.start + 1)
        opened = Changes(rows.rows, now, forever(count), ones, seq)
        restated = Changes.concat([closed, opened], self.schema).keep(
            np.concatenate([closed.exp != INFINITY, rows.ts != INFINITY])
        )
        return {"counts 0": counts.log, "due 0": due}, restated
