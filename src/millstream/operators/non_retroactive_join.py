"""NonRetroactiveJoin: rows joined with a table as it stood just before they came."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, take_rows
from millstream.algebra.evaluate import holds
from millstream.algebra.expressions import TRUE, Expression, columns_of
from millstream.algebra.facts import Columns
from millstream.algebra.lifetime import Lifetime
from millstream.algebra.node import Node, Pairs, Step
from millstream.algebra.pattern import Label
from millstream.algebra.state_parts import StatePart, by_hash
from millstream.algebra.time import DAWN, Span
from millstream.columns.hashed import meetings
from millstream.columns.keys import factorize, hashes_of
from millstream.operators.keyed import Keys
from millstream.operators.to_stream import compact
from millstream.state.chunks import State
from millstream.state.events import add_up
from millstream.state.index import Index

PARTNER = "#partner"
"""The column of the kept results with the identity of the table's row."""


@dataclass(frozen=True, eq=False)
class NonRetroactiveJoin(Node):
    """Each left row with the table rows that were present just before it and meet the condition.

    `outer` keeps left rows without a partner, with NULLs. What a table begins with (right rows with
    no arrival) was there before everything.
    Law: a result lives exactly as long as its left row; what happens to the table at the instant of
    the row or later does not matter to it.
    State: the table's rows, by the hash of the columns that the condition wants equal; the results
    of left rows that may be retracted. Cost: the batch and its pairs.
    """

    keeps_ends: ClassVar[bool] = True
    """It could not find again what a negative row retracts: the table has gone on since."""

    condition: Expression
    outer: bool
    left: Node
    right: Node

    @property
    def is_stream(self) -> bool:  # type: ignore[override]
        return self.left.is_stream

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([*self.left.schema, *self.right.schema])

    @property
    def key(self) -> None:  # type: ignore[override]
        return None

    @cached_property
    def keys(self) -> Keys:
        return Keys.of(self.condition, self.left.schema, self.right.schema)

    @property
    def join_keys(self) -> Pairs:
        return self.keys.pairs

    @property
    def state_parts(self) -> tuple[StatePart, ...]:  # type: ignore[override]
        table = by_hash("right", 1, "rows of the table")
        results = by_hash("results", 0, "results that may be retracted")
        return (table,) if self.left.never_retracts else (table, results)

    @property
    def words(self) -> str:
        on = "everything" if self.condition == TRUE else str(self.condition)
        return f"{'left ' if self.outer else ''}on {on}"

    def lives(self, left: Lifetime, table: Lifetime) -> Lifetime:
        reason = "rows leave as the left ones do, whatever the table does"
        return replace(left, label=Label(left.pattern, reason, 1))

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...] | None:
        if not self.left.never_retracts:
            return None
        used = wanted | columns_of(self.condition)
        return used, used

    def step(self, state: State, left: Changes, right: Changes, span: Span) -> Step:
        right = right.pick(self.keys.findable(right.rows, len(right), 1))
        beside = Index.of(state.get("right"), self.right.schema, self.state_layout.lazy)
        met = self._met(left.keep(left.weight > 0), right, beside)
        hashes = self.keys.hashes(right.rows, len(right), 1)
        kept = {"right": beside.add(right, hashes, span.end).log}
        if not self.left.never_retracts:
            before = Index.of(state.get("results"), self._kept_schema, self.state_layout.lazy)
            back = self._retracted(before, met, left.keep(left.weight < 0))
            met = Changes.concat([met, back], self._kept_schema)
            kept["results"] = before.add(met, self._identities(met), span.end).log
        rows = pa.RecordBatch.from_arrays(met.rows.columns[:-1], schema=self.schema)
        return kept, met.with_rows(rows)

    @cached_property
    def _kept_schema(self) -> pa.Schema:
        return pa.schema([*self.schema, pa.field(PARTNER, pa.int64())])

    def _met(self, came: Changes, right: Changes, beside: Index) -> Changes:
        """The results of new left rows, each with the number of its partner."""
        mine, theirs = [np.zeros(0, np.int64)], [Changes.empty(self.right.schema)]
        for i, partners in self._partners(came, right, beside):
            mine.append(i)
            theirs.append(partners)
        i, partners = np.concatenate(mine), Changes.concat(theirs, self.right.schema)
        if (partners.weight < 0).any():
            i, partners = _present(i, partners)
        alone = np.setdiff1d(np.arange(len(came)), i) if self.outer else i[:0]
        places = np.concatenate([np.arange(len(i)), np.full(len(alone), -1)])
        index = pa.array(np.maximum(places, 0), mask=places < 0)
        left = came.take(np.concatenate([i, alone]))
        rows = pa.RecordBatch.from_arrays(
            [
                *left.rows.columns,
                *(column.take(index) for column in partners.rows.columns),
                pa.array(np.concatenate([partners.seq, np.zeros(len(alone), np.int64)])),
            ],
            schema=self._kept_schema,
        )
        weights = np.concatenate([partners.weight, np.ones(len(alone), np.int64)])
        return replace(left.with_rows(rows), weight=left.weight * weights)

    def _partners(
        self, came: Changes, right: Changes, beside: Index
    ) -> Iterator[tuple[np.ndarray, Changes]]:
        """Pairs of left rows and right rows that were there before them, block by block."""
        able = self.keys.findable(came.rows, len(came), 0)
        needles = self.keys.hashes(take_rows(came.rows, able), len(able), 0)
        for rows, there, needle in _candidates(needles, right, beside, self.keys):
            i = able[needle]
            first = (rows.seq[there] < 0) & (rows.weight[there] > 0)
            known = np.where(first, DAWN, rows.ts[there])
            before = (known < came.ts[i]) & (came.ts[i] <= rows.exp[there])
            i, there = i[before], there[before]
            if not self.keys.enough and len(i):
                both = [*take_rows(came.rows, i).columns, *take_rows(rows.rows, there).columns]
                joined = pa.RecordBatch.from_arrays(both, schema=self.schema)
                good = holds(self.condition, joined, len(i))
                i, there = i[good], there[good]
            if len(i):
                yield i, rows.take(there)

    def _identities(self, results: Changes) -> np.ndarray:
        """A number for every result that all results of its left row share."""
        left = [results.rows.column(name) for name in self.left.schema.names]
        return hashes_of([*left, pa.array(results.seq)], len(results))

    def _retracted(self, before: Index, met: Changes, gone: Changes) -> Changes:
        """The results of left rows that leave early, from the instant they do."""
        if len(gone) == 0:
            return Changes.empty(self._kept_schema)
        wanted = self._identities(gone)
        found = [rows.take(np.unique(there)) for rows, there, _ in before.search(wanted)]
        known = compact(Changes.concat(found, self._kept_schema))
        results = Changes.concat([known, met], self._kept_schema)
        codes = self._tuples(results, gone)
        return _retractions(results, codes[: len(results)], gone, codes[len(results) :])

    def _tuples(self, results: Changes, gone: Changes) -> np.ndarray:
        """Equal numbers for the left tuples of results and those that leave."""
        columns = [
            pa.concat_arrays([results.rows.column(name), gone.rows.column(name)])
            for name in self.left.schema.names
        ]
        times = [
            pa.array(np.concatenate([getattr(results, name), getattr(gone, name)]))
            for name in ("seq", "exp")
        ]
        return factorize([*columns, *times], len(results) + len(gone))[0]


def _candidates(
    needles: np.ndarray, right: Changes, beside: Index, keys: Keys
) -> Iterator[tuple[Changes, np.ndarray, np.ndarray]]:
    """Rows with equal hashes, of the index and of this step: (rows, index, needle)."""
    yield from beside.search(needles)
    hashes = keys.hashes(right.rows, len(right), 1)
    order, other = np.argsort(needles), np.argsort(hashes)
    for there, needle in meetings(hashes[other], needles[order]):
        yield right, other[there], order[needle]


def _present(i: np.ndarray, partners: Changes) -> tuple[np.ndarray, Changes]:
    """Pairs without those whose partner had left again: its weights come to nothing."""
    index, sums = add_up(partners, i)
    return i[index], replace(partners.take(index), weight=sums)


def _retractions(
    results: Changes, codes: np.ndarray, gone: Changes, gone_codes: np.ndarray
) -> Changes:
    """Each result with negative weight, from the next instant on at which its left tuple leaves.

    A tuple that comes and goes several times retracts, each time, the results it came with.
    """
    order = np.lexsort((gone.ts, gone_codes))
    left, after = results.weight.copy(), results.ts
    parts: list[Changes] = []
    while True:
        place = _first_after(gone_codes[order], gone.ts[order], codes, after)
        hit = np.flatnonzero((place >= 0) & (left > 0))
        if len(hit) == 0:
            return Changes.concat(parts, results.schema)
        ending = order[place[hit]]
        weight = np.minimum(left[hit], -gone.weight[ending])
        parts.append(replace(results.take(hit), ts=gone.ts[ending], weight=-weight))
        left[hit] -= weight
        after = after.copy()
        after[hit] = gone.ts[ending]


def _first_after(
    sorted_codes: np.ndarray, sorted_ts: np.ndarray, codes: np.ndarray, after: np.ndarray
) -> np.ndarray:
    """The first of the sorted events with the code and a later instant, or −1."""
    instants = np.unique(np.concatenate([sorted_ts, after]))
    width = len(instants) + 1
    known = sorted_codes * width + np.searchsorted(instants, sorted_ts)
    asked = codes * width + np.searchsorted(instants, after)
    place = np.searchsorted(known, asked, side="right")
    inside = np.minimum(place, len(known) - 1)
    return np.where((place < len(known)) & (sorted_codes[inside] == codes), place, -1)
