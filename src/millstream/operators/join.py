"""Join: pairs of rows that are present together and meet a condition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, take_rows
from millstream.algebra.evaluate import holds
from millstream.algebra.expressions import TRUE, Expression, columns_of
from millstream.algebra.facts import Columns, Probe
from millstream.algebra.identity import identity_of_pair
from millstream.algebra.lifetime import Lifetime, ends_of
from millstream.algebra.node import Node, Pairs, Step
from millstream.algebra.pattern import Label, weak
from millstream.algebra.state_parts import LEFT_AND_RIGHT, StatePart
from millstream.algebra.time import Span
from millstream.columns.hashed import hash_order, meetings
from millstream.columns.native import native
from millstream.operators.keyed import Keys
from millstream.operators.table_scan import label_beside_table
from millstream.state.chunks import State
from millstream.state.index import Index


@dataclass(frozen=True, eq=False)
class Paired(Node):
    """What Join and SingleJoin share: pairs of rows that are present together and meet a condition.

    Law: a pair lives from the later start to the earlier end; its weight is the product of theirs.
    State: the rows of both sides that have not expired, by the hash of the columns that the
    condition wants equal. Cost: the batch and its pairs.
    """

    can_broadcast_right: ClassVar[bool] = True
    probe: ClassVar[Probe] = Probe.PAIRS
    state_parts: ClassVar[tuple[StatePart, ...]] = LEFT_AND_RIGHT

    condition: Expression
    left: Node
    right: Node

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([*self.left.schema, *self.right.schema])

    @cached_property
    def keys(self) -> Keys:
        return Keys.of(self.condition, self.left.schema, self.right.schema)

    @property
    def join_keys(self) -> Pairs:
        return self.keys.pairs

    def label_of(self, left: Lifetime, right: Lifetime) -> Label:
        beside = label_beside_table(self.right, left) or label_beside_table(self.left, right)
        reason = "a pair leaves with the first of its parts"
        return beside or weak((left.pattern, right.pattern), reason)

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...]:
        used = wanted | columns_of(self.condition)
        return used, used

    @property
    def words(self) -> str:
        return "everything" if self.condition == TRUE else str(self.condition)

    def step(self, state: State, left: Changes, right: Changes, span: Span) -> Step:
        mine = Side.of(self.keys, left, 0)
        theirs = Side.of(self.keys, right, 1)
        before = Index.of(state.get("left"), self.left.schema, self.state_layout.lazy)
        beside = Index.of(state.get("right"), self.right.schema, self.state_layout.lazy)
        matcher = Matcher(self.condition, self.keys.enough)
        met = [self._joined(found) for found in matcher.all(mine, theirs, before, beside)]
        kept = {
            "left": before.add(mine.rows, mine.hashes, span.end).log,
            "right": beside.add(theirs.rows, theirs.hashes, span.end).log,
        }
        return kept, Changes.concat(met, self.schema)

    def _joined(self, found: Found) -> Changes:
        left, right = found.left, found.right
        columns = [
            *take_rows(left.rows, found.i).columns,
            *take_rows(right.rows, found.j).columns,
        ]
        return Changes(
            pa.RecordBatch.from_arrays(columns, schema=self.schema),
            found.ts,
            found.exp,
            left.weight[found.i] * right.weight[found.j],
            self.identity(found),
        )

    def identity(self, found: Found) -> np.ndarray:
        """What the results are known by."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Join(Paired):
    """Each left row with every right row that is present with it and meets the condition.

    A result is known by its two parts.
    """

    follows_content: ClassVar[bool] = True

    can_broadcast_left: ClassVar[bool] = True

    @cached_property
    def key(self) -> tuple[str, ...] | None:
        if self.left.key is None or self.right.key is None:
            return None
        return (*self.left.key, *self.right.key)

    def lives(self, left: Lifetime, right: Lifetime) -> Lifetime:
        retracts = left.retracts or right.retracts
        return Lifetime(
            self.label_of(left, right),
            retracts=retracts,
            ends=ends_of(left, right),
            transient=left.transient or right.transient,
            consolidated=not retracts and left.consolidated and right.consolidated,
            bounded=left.bounded and right.bounded,
        )

    def identity(self, found: Found) -> np.ndarray:
        return identity_of_pair(found.left.seq[found.i], found.right.seq[found.j])


@dataclass(frozen=True, eq=False)
class Side:
    """The rows of one input that can have partners, in the order of the hashes of their keys.

    `place` says where they were among all rows.
    """

    rows: Changes
    hashes: np.ndarray
    place: np.ndarray

    @staticmethod
    def of(keys: Keys, changes: Changes, side: int) -> Side:
        place = keys.findable(changes.rows, len(changes), side)
        if len(place) < len(changes):
            changes = changes.take(place)
        hashes = keys.hashes(changes.rows, len(changes), side)
        order = hash_order(hashes)
        if order is None:
            return Side(changes, hashes, place)
        return Side(changes.take(order), hashes[order], place[order])


@dataclass(frozen=True, eq=False)
class Found:
    """Pairs that met: row i of the left with row j of the right, from `ts` until `exp`."""

    left: Changes
    i: np.ndarray
    right: Changes
    j: np.ndarray
    ts: np.ndarray
    exp: np.ndarray


@dataclass(frozen=True)
class Matcher:
    """Finds pairs that are present together and meet a condition."""

    condition: Expression
    enough: bool

    def all(self, left: Side, right: Side, before: Index, beside: Index) -> Iterator[Found]:
        """New rows with new ones, new left ones with old right ones, and the reverse."""
        yield from self.among(left, right)
        yield from self.beside(left, beside)
        yield from self.behind(before, right)

    def among(self, left: Side, right: Side) -> Iterator[Found]:
        for j, i in meetings(right.hashes, left.hashes):
            yield from self._met(left.rows, i, right.rows, j)

    def beside(self, left: Side, index: Index) -> Iterator[Found]:
        """Left rows with those of an index."""
        for rows, there, needle in index.search(left.hashes):
            yield from self._met(left.rows, needle, rows, there)

    def behind(self, index: Index, right: Side) -> Iterator[Found]:
        """The rows of an index with right rows."""
        for rows, there, needle in index.search(right.hashes):
            yield from self._met(rows, there, right.rows, needle)

    def _met(self, left: Changes, i: np.ndarray, right: Changes, j: np.ndarray) -> Iterator[Found]:
        i, j, ts, exp = _overlaps(left.ts, left.exp, right.ts, right.exp, i, j)
        if not self.enough and len(i):
            met = holds(self.condition, self._columns(left, i, right, j), len(i))
            i, j, ts, exp = i[met], j[met], ts[met], exp[met]
        if len(i):
            yield Found(left, i, right, j, ts, exp)

    def _columns(
        self, left: Changes, i: np.ndarray, right: Changes, j: np.ndarray
    ) -> pa.RecordBatch:
        """The columns that the condition looks at."""
        names = sorted(columns_of(self.condition))
        mine = left.rows.schema.names
        columns = [
            left.rows.column(n).take(pa.array(i))
            if n in mine
            else right.rows.column(n).take(pa.array(j))
            for n in names
        ]
        return pa.RecordBatch.from_arrays(columns, names=names)


@native
def _overlaps(lts, lexp, rts, rexp, i, j):  # type: ignore[no-untyped-def]
    """The pairs whose intervals overlap, with the interval they have in common."""
    ts = np.empty(len(i), np.int64)
    exp = np.empty(len(i), np.int64)
    oi = np.empty(len(i), np.int64)
    oj = np.empty(len(i), np.int64)
    n = 0
    for k in range(len(i)):
        a = max(lts[i[k]], rts[j[k]])
        b = min(lexp[i[k]], rexp[j[k]])
        if a < b:
            ts[n] = a
            exp[n] = b
            oi[n] = i[k]
            oj[n] = j[k]
            n += 1
    return oi[:n], oj[:n], ts[:n], exp[:n]
