"""SemiJoin: the left rows for which some right row is there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from millstream.algebra.changes import Changes
from millstream.algebra.expressions import TRUE, Expression, columns_of
from millstream.algebra.facts import Columns, Probe
from millstream.algebra.lifetime import Lifetime, ends_of
from millstream.algebra.node import Node, Pairs, Step
from millstream.algebra.pattern import Label, weak
from millstream.algebra.state_parts import LEFT_AND_RIGHT, Extent, StatePart, Structure
from millstream.algebra.time import Span
from millstream.columns.cover import changes_of_cover
from millstream.columns.hashed import numbered
from millstream.operators.join import Found, Matcher, Side
from millstream.operators.keyed import Keys
from millstream.operators.table_scan import label_beside_table
from millstream.state.chunks import Log, State
from millstream.state.index import Index
from millstream.state.pending import release


@dataclass(frozen=True, eq=False)
class Matched(Node):
    """What SemiJoin and AntiJoin share: left rows are emitted if they have partners, or have none.

    State: the rows of both sides that have not expired, by the hash of the columns that the
    condition wants equal, and changes that are known to come. Cost: the batch, and the partners of
    left rows whose partners change.
    """

    has_partner: ClassVar[bool]
    can_broadcast_right: ClassVar[bool] = True
    probe: ClassVar[Probe] = Probe.TESTS
    state_parts: ClassVar[tuple[StatePart, ...]] = (
        *LEFT_AND_RIGHT,
        StatePart("waiting", "changes that are known to come", Structure.DUE, Extent.OWN),
    )

    condition: Expression
    left: Node
    right: Node

    @cached_property
    def keys(self) -> Keys:
        return Keys.of(self.condition, self.left.schema, self.right.schema)

    @property
    def join_keys(self) -> Pairs:
        return self.keys.pairs

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        tested = columns_of(self.condition)
        return wanted | tested, tested

    def matched(self, label: Label, retracts: bool, left: Lifetime, right: Lifetime) -> Lifetime:
        """The lifetime of left rows that enter and leave with their partners."""
        return Lifetime(
            label,
            retracts=retracts,
            ends=ends_of(left, right),
            transient=left.transient,
            consolidated=False,
            bounded=left.bounded,
        )

    @property
    def words(self) -> str:
        return "everything" if self.condition == TRUE else str(self.condition)

    def step(self, state: State, left: Changes, right: Changes, span: Span) -> Step:
        mine, theirs = Side.of(self.keys, left, 0), Side.of(self.keys, right, 1)
        before = Index.of(state.get("left"), self.left.schema, self.state_layout.lazy)
        beside = Index.of(state.get("right"), self.right.schema, self.state_layout.lazy)
        moved = [self._of_new(left, mine, theirs, beside), self._of_old(before, theirs, beside)]
        waiting, out = release(
            state.get("waiting", Log()),
            Changes.concat(moved, self.schema),
            span,
            self.state_layout.buffer,
        )
        kept = {
            "left": before.add(mine.rows, mine.hashes, span.end).log,
            "right": beside.add(theirs.rows, theirs.hashes, span.end).log,
            "waiting": waiting,
        }
        return kept, out

    @property
    def _matcher(self) -> Matcher:
        return Matcher(self.condition, self.keys.enough)

    def _of_new(self, left: Changes, mine: Side, theirs: Side, beside: Index) -> Changes:
        """The changes that new left rows cause."""
        met = [*self._matcher.among(mine, theirs), *self._matcher.beside(mine, beside)]
        covers = [_Cover.of(found, mine.place[found.i], True) for found in met]
        return self._emit(left, np.ones(len(left), np.bool_), covers)

    def _of_old(self, before: Index, theirs: Side, beside: Index) -> Changes:
        """The changes of left rows whose partners change because of new right rows."""
        touched: list[Changes] = []
        covers: list[_Cover] = []
        count = 0
        for found in _by_chunk(self._matcher.behind(before, theirs)):
            rows, places = numbered(np.concatenate([f.i for f in found]))
            touched.append(found[0].left.take(rows))
            parts = np.split(count + places, np.cumsum([len(f.i) for f in found[:-1]]))
            covers += [_Cover.of(f, part, True) for f, part in zip(found, parts)]
            count += len(rows)
        whole = Changes.concat(touched, self.left.schema)
        if len(whole) == 0:
            return whole
        side = Side.of(self.keys, whole, 0)
        for known in self._matcher.beside(side, beside):
            covers.append(_Cover.of(known, side.place[known.i], False))
        return self._emit(whole, np.zeros(len(whole), np.bool_), covers)

    def _emit(self, rows: Changes, fresh: np.ndarray, covers: list[_Cover]) -> Changes:
        cover = _Cover.concat(covers)
        index, start, end, sign = changes_of_cover(
            rows.ts,
            rows.exp,
            fresh,
            cover.row,
            cover.start,
            cover.end,
            cover.weight,
            cover.added,
            self.has_partner,
        )
        return replace(rows.take(index), ts=start, exp=end, weight=sign * rows.weight[index])


def _by_chunk(met: Iterable[Found]) -> list[list[Found]]:
    """The pairs found, grouped by the chunk of their left rows."""
    chunks: dict[int, list[Found]] = {}
    for found in met:
        chunks.setdefault(id(found.left), []).append(found)
    return list(chunks.values())


@dataclass(frozen=True, eq=False)
class SemiJoin(Matched):
    """IN or EXISTS: the left rows, while a right row is present that meets the condition."""

    follows_content: ClassVar[bool] = True

    has_partner: ClassVar[bool] = True

    def lives(self, left: Lifetime, right: Lifetime) -> Lifetime:
        reason = "a row leaves with the last of its partners"
        label = label_beside_table(self.right, left)
        label = label or weak((left.pattern, right.pattern), reason)
        return self.matched(label, left.retracts or right.retracts, left, right)


@dataclass(frozen=True, eq=False)
class _Cover:
    """Partners of left rows: which row, from when until when, and whether they are new."""

    row: np.ndarray
    start: np.ndarray
    end: np.ndarray
    weight: np.ndarray
    added: np.ndarray

    @staticmethod
    def of(found: Found, row: np.ndarray, added: bool) -> _Cover:
        news = np.full(len(row), added)
        return _Cover(row, found.ts, found.exp, found.right.weight[found.j], news)

    @staticmethod
    def concat(covers: list[_Cover]) -> _Cover:
        none = np.zeros(0, np.int64)
        empty = _Cover(none, none, none, none, np.zeros(0, np.bool_))
        every = [empty, *covers]
        return _Cover(
            *(
                np.concatenate([getattr(c, name) for c in every])
                for name in ("row", "start", "end", "weight", "added")
            )
        )
