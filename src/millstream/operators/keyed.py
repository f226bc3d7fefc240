"""Rows found by their key: which columns of a condition are keys, and an index of rows by hash."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numba import njit

from millstream.algebra.changes import Changes
from millstream.algebra.expressions import TRUE, Call, Column, Expression, conjuncts
from millstream.algebra.state import Log
from millstream.columns.keys import factorize, hashes_of, validity

HASH = "#hash"
MOST_PAIRS = 1_000_000
"""Candidates are looked at in blocks of about this many."""


def equal_columns(
    condition: Expression, left: pa.Schema, right: pa.Schema
) -> tuple[tuple[str, str], ...]:
    """The pairs of a left and a right column, of one type, whose equality a condition asks for.

    Equality that holds between NULLs as well counts, too.
    """
    found: dict[tuple[str, str], None] = {}
    for part in conjuncts(condition):
        match part:
            case Call(function="=", arguments=(Column() as a, Column() as b)):
                pass
            case Call(
                function="not",
                arguments=(
                    Call(function="distinct_from", arguments=(Column() as a, Column() as b)),
                ),
            ):
                pass
            case _:
                continue
        if a.name in right.names and b.name in left.names:
            a, b = b, a
        if a.name in left.names and b.name in right.names and a.type == b.type:
            found[a.name, b.name] = None
    return tuple(found)


@dataclass(frozen=True)
class Keys:
    """What a condition between two inputs says about keys.

    `strict` tells of every pair whether NULL in it matches nothing; `enough` that the hash of the
    keys decides about the whole condition.
    """

    pairs: tuple[tuple[str, str], ...]
    strict: tuple[bool, ...]
    enough: bool

    @staticmethod
    def of(condition: Expression, left: pa.Schema, right: pa.Schema) -> Keys:
        pairs = equal_columns(condition, left, right)
        asked = {_equality(part) for part in conjuncts(condition)}
        strict = tuple(bool({(a, b), (b, a)} & asked) for a, b in pairs)
        kinds = [left.field(a).type for a, _ in pairs]
        enough = condition == TRUE or (len(asked) == 1 and strict == (True,) and _is_word(kinds[0]))
        return Keys(pairs, strict, enough)

    def findable(self, rows: pa.RecordBatch, length: int, side: int) -> np.ndarray:
        """Where no key is NULL that must not be; side 0 is the left, 1 the right."""
        mask = np.ones(length, np.bool_)
        for pair, strict in zip(self.pairs, self.strict):
            valid = validity(rows.column(pair[side])) if strict else None
            if valid is not None:
                mask &= valid
        return mask

    def hashes(self, rows: pa.RecordBatch, length: int, side: int) -> np.ndarray:
        """A number for every row that rows with equal keys share; one for all without keys."""
        return hashes_of([rows.column(pair[side]) for pair in self.pairs], length)


def _equality(part: Expression) -> tuple[str, str] | None:
    match part:
        case Call(function="=", arguments=(Column() as a, Column() as b)):
            return a.name, b.name
    return None


def _is_word(kind: pa.DataType) -> bool:
    """True for types whose hash is another number for every value."""
    return pa.types.is_integer(kind) or pa.types.is_timestamp(kind)


@dataclass(frozen=True, eq=False)
class Index:
    """Rows by the hash of their key, in a few chunks sorted by it.

    Law: the sum of the chunks is the sum of what was added, less what has expired.
    Cost: rows are sorted into larger chunks as they grow old, each about log(rows) times; a search
    costs the needles, not the rows.
    """

    log: Log
    schema: pa.Schema

    @staticmethod
    def of(log: Log | None, schema: pa.Schema) -> Index:
        return Index(Log() if log is None else log, schema)

    def add(self, changes: Changes, hashes: np.ndarray, end: int) -> Index:
        """With more rows, without those that have expired by the end."""
        log = self.log.after(end)
        fresh = changes.exp > end
        if not fresh.all():
            changes, hashes = changes.keep(fresh), hashes[fresh]
        if len(changes) == 0:
            return Index(log, self.schema)
        order = np.argsort(hashes, kind="stable")
        log = log.append(_hashed(changes.take(order), hashes[order]), changes.exp[order])
        return Index(_merged(log, self.hashed_schema, end), self.schema)

    @property
    def hashed_schema(self) -> pa.Schema:
        return pa.schema([*self.schema, pa.field(HASH, pa.int64())])

    def search(self, hashes: np.ndarray) -> Iterator[tuple[Changes, np.ndarray, np.ndarray]]:
        """Rows with equal hashes: (rows, index into them, index of the needle), block by block."""
        order = np.argsort(hashes, kind="stable")
        for part in self.log.all():
            rows, known = _unhashed(part, self.schema)
            for there, needle in meetings(known, hashes[order]):
                yield rows, there, order[needle]


def meetings(known: np.ndarray, needles: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """All pairs of equal numbers in two sorted lists, as indices into both, block by block."""
    low = np.searchsorted(known, needles, side="left")
    times = np.searchsorted(known, needles, side="right") - low
    hits = np.flatnonzero(times)
    if len(hits) == 0:
        return
    totals = np.cumsum(times[hits])
    begin = 0
    while begin < len(hits):
        done = int(totals[begin - 1]) if begin else 0
        stop = max(int(np.searchsorted(totals, done + MOST_PAIRS, side="right")), begin + 1)
        block = hits[begin:stop]
        yield _unroll(low[block], times[block], block, int(totals[stop - 1]) - done)
        begin = stop


@njit(cache=True)
def _unroll(low, times, needles, total):  # type: ignore[no-untyped-def]
    there = np.empty(total, np.int64)
    needle = np.empty(total, np.int64)
    k = 0
    for i in range(len(low)):
        for j in range(times[i]):
            there[k] = low[i] + j
            needle[k] = needles[i]
            k += 1
    return there, needle


def _merged(log: Log, schema: pa.Schema, end: int) -> Log:
    """Merge the newest chunks until each is at least twice as large as the one after it."""
    chunks = log.chunks
    size, count = chunks[-1].rows, 1
    while count < len(chunks) and chunks[-count - 1].rows < 2 * size:
        size += chunks[-count - 1].rows
        count += 1
    if count == 1:
        return log
    parts = [Changes.from_batch(chunk.load()) for chunk in chunks[-count:]]
    rows = Changes.concat([part.keep(part.exp > end) for part in parts], schema)
    rows = _compact(rows)
    rows = rows.take(np.argsort(rows.rows.column(HASH).to_numpy(), kind="stable"))
    return Log(chunks[:-count]).append(rows, rows.exp)


def _compact(rows: Changes) -> Changes:
    """Without rows that were taken back, from now on."""
    if (rows.weight > 0).all():
        return rows
    keys = [rows.rows.column(HASH), pa.array(rows.seq), pa.array(rows.exp), *rows.rows.columns]
    codes, first = factorize(keys, len(rows))
    sums = np.bincount(codes, weights=rows.weight, minlength=len(first)).astype(np.int64)
    latest = np.full(len(first), np.iinfo(np.int64).min)
    np.maximum.at(latest, codes, rows.ts)
    kept = np.flatnonzero(sums)
    return replace(rows.take(first[kept]), weight=sums[kept], ts=latest[kept])


def _hashed(changes: Changes, hashes: np.ndarray) -> Changes:
    columns = [*changes.rows.columns, pa.array(hashes)]
    names = [*changes.rows.schema.names, HASH]
    return changes.with_rows(pa.RecordBatch.from_arrays(columns, names=names))


def _unhashed(part: Changes, schema: pa.Schema) -> tuple[Changes, np.ndarray]:
    rows = pa.RecordBatch.from_arrays(part.rows.columns[:-1], schema=schema)
    return part.with_rows(rows), part.rows.column(part.rows.num_columns - 1).to_numpy()
