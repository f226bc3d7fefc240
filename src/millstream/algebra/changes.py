"""The one value that flows: rows with an instant, an expiration and a weight."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.time import INFINITY, Span
from millstream.columns.keys import factorize
from millstream.columns.order import is_sorted, moved, stable_order

TIME_FIELDS = ("#ts", "#exp", "#weight", "#seq")


@dataclass(frozen=True, eq=False)
class Changes:
    """A bag of weighted intervals: a row counts `weight` times at every instant ts ≤ τ < exp.

    A relation at τ is the sum of all of them. A row whose end is known from the start has a finite
    `exp`; one that leaves early or whose end was not known is followed by the same row with weight
    −1, from the instant it leaves to the same `exp`. A stream is the same thing with every element
    present at its own instant only (exp = ts + 1).

    `seq` identifies rows: at or above 0 it is an arrival number and orders elements of equal ts;
    below 0 it is an identity without an order, for tuples that did not arrive but were made. A row
    that retracts another has the same `seq`.

    `previous`, when an operator knows it, gives for every row the one of the same key before it
    among these rows, or −1. Such changes may also hold rows of weight 0, where a key is gone; only
    operators that accept `previous` see them, the others get the changes `plain`.
    """

    rows: pa.RecordBatch
    ts: np.ndarray
    exp: np.ndarray
    weight: np.ndarray
    seq: np.ndarray
    previous: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.ts)

    @property
    def schema(self) -> pa.Schema:
        return self.rows.schema

    @staticmethod
    @cache
    def empty(schema: pa.Schema) -> Changes:
        none = np.zeros(0, np.int64)
        return Changes(no_rows(schema), none, none, none, none)

    @staticmethod
    def elements(rows: pa.RecordBatch, ts: np.ndarray, seq: np.ndarray) -> Changes:
        """The elements of a stream, each at its instant."""
        return Changes(rows, ts, ts + 1, np.ones(len(ts), np.int64), seq)

    @staticmethod
    def concat(parts: Sequence[Changes], schema: pa.Schema) -> Changes:
        parts = [part for part in parts if len(part)]
        if not parts:
            return Changes.empty(schema)
        if len(parts) == 1:
            return parts[0]
        return Changes(
            concat_rows([p.rows for p in parts], schema),
            np.concatenate([p.ts for p in parts]),
            np.concatenate([p.exp for p in parts]),
            np.concatenate([p.weight for p in parts]),
            np.concatenate([p.seq for p in parts]),
        )

    @property
    def arrival(self) -> np.ndarray:
        """What orders elements of equal ts: their arrival numbers, 0 for those that have none."""
        return np.maximum(self.seq, 0)

    def with_rows(self, rows: pa.RecordBatch) -> Changes:
        return replace(self, rows=rows)

    def plain(self) -> Changes:
        """The same without what is known of keys, and without rows of weight 0."""
        if self.previous is None:
            return self
        bare = replace(self, previous=None)
        return bare if self.weight.all() else bare.keep(self.weight != 0)

    def slice(self, start: int, stop: int) -> Changes:
        """Rows of a stretch, without copying."""
        if start == 0 and stop == len(self):
            return self
        return Changes(
            self.rows.slice(start, stop - start) if self.rows.num_columns else self.rows,
            self.ts[start:stop],
            self.exp[start:stop],
            self.weight[start:stop],
            self.seq[start:stop],
        )

    def sorted_by_exp(self) -> Changes:
        order = stable_order(self.exp)
        return self if order is None else self.take(order)

    def split(self, by: np.ndarray, bound: int) -> tuple[Changes, Changes]:
        """The rows whose value is at most the bound, and the others; no copying when sorted."""
        if is_sorted(by):
            at = int(np.searchsorted(by, bound, side="right"))
            return self.slice(0, at), self.slice(at, len(self))
        below = by <= bound
        return self.keep(below), self.keep(~below)

    def within(self, by: np.ndarray, span: Span) -> Changes:
        """The rows whose value lies in the span; no copying when sorted."""
        if not is_sorted(by):
            return self.keep((by > span.start) & (by <= span.end))
        low, high = np.searchsorted(by, [span.start, span.end], side="right")
        return self.slice(int(low), int(high))

    def take(self, index: np.ndarray) -> Changes:
        return Changes(
            take_rows(self.rows, index),
            self.ts[index],
            self.exp[index],
            self.weight[index],
            self.seq[index],
        )

    def laid_out(self, order: np.ndarray) -> Changes:
        """All rows in another order. Every column is read once, from its begin to its end, which
        memory likes better than to be asked for rows here and there."""
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        columns = [
            pa.array(moved(column.view(pa.int64()).to_numpy(), place)).view(column.type)
            if _has_words(column)
            else column.take(pa.array(order))
            for column in self.rows.columns
        ]
        rows = pa.RecordBatch.from_arrays(columns, schema=self.schema) if columns else self.rows
        return Changes(
            rows, *(moved(time, place) for time in (self.ts, self.exp, self.weight, self.seq))
        )

    def keep(self, mask: np.ndarray) -> Changes:
        """The rows where the mask is true, in the same order and grouping."""
        return self.pick(np.flatnonzero(mask))

    def pick(self, index: np.ndarray) -> Changes:
        """The rows at these places, which count up."""
        if len(index) == len(self):
            return self
        kept = self.take(index)
        if self.previous is None:
            return kept
        place = np.full(len(self) + 1, -1)
        place[index] = np.arange(len(index))
        return replace(kept, previous=place[self.previous[index]])

    def chained(self, key: Sequence[str]) -> Changes:
        """The same rows of a relation, which know those of their keys before them: in the order of
        time, at one instant those that leave first."""
        codes, _ = factorize([self.rows.column(name) for name in key], len(self))
        order = np.lexsort((self.weight, self.ts, codes))
        follows = codes[order][1:] == codes[order][:-1]
        previous = np.full(len(self), -1)
        previous[order[1:][follows]] = order[:-1][follows]
        return replace(self, previous=previous)

    def in_time_order(self) -> Changes:
        """Sorted by ts, and by arrival inside one ts; free when it already is."""
        changes = self if is_sorted(self.seq) else self.take(np.argsort(self.seq, kind="stable"))
        order = stable_order(changes.ts)
        return changes if order is None else changes.take(order)

    def to_batch(self) -> pa.RecordBatch:
        """One record batch for the way between processes and to disk.

        Times that follow from others stand as rules in the metadata instead of being written out.
        """
        rules: dict[str, int | str] = {}
        columns, names = list(self.rows.columns), list(self.rows.schema.names)
        for name, values, rule in (
            ("#ts", self.ts, _rule_for_ts(self.ts, self.weight)),
            ("#exp", self.exp, _rule_for_exp(self.ts, self.exp)),
            ("#weight", self.weight, 1 if (self.weight == 1).all() else None),
            ("#seq", self.seq, 0 if not self.seq.any() else None),
        ):
            if rule is None:
                columns.append(pa.array(values))
                names.append(name)
            else:
                rules[name] = rule
        fields = [pa.field(n, c.type) for n, c in zip(names, columns)]
        schema = pa.schema(fields, metadata={"millstream": json.dumps(rules)})
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    @staticmethod
    def from_batch(batch: pa.RecordBatch) -> Changes:
        rules = json.loads((batch.schema.metadata or {})[b"millstream"])
        width = batch.num_columns - len(TIME_FIELDS) + len(rules)
        written = iter(range(width, batch.num_columns))
        times: dict[str, np.ndarray] = {}
        for name in TIME_FIELDS:
            if name in rules and name == "#ts":
                times[name] = np.full(batch.num_rows, rules[name], np.int64)
            elif name in rules:
                times[name] = _follow_rule(rules[name], times["#ts"], name)
            else:
                times[name] = batch.column(next(written)).to_numpy()
        rows = pa.RecordBatch.from_arrays(
            batch.columns[:width], schema=pa.schema(list(batch.schema)[:width])
        )
        return Changes(rows, *times.values())


def _rule_for_ts(ts: np.ndarray, weight: np.ndarray) -> int | None:
    """The instant that all rows have, beside weights that say how many rows there are."""
    if len(ts) == 0 or (weight == 1).all() or (ts != ts[0]).any():
        return None
    return int(ts[0])


def _rule_for_exp(ts: np.ndarray, exp: np.ndarray) -> int | str | None:
    """How exp follows from ts: "never", or a constant distance; None if it does not."""
    if len(exp) == 0 or (exp[0] == INFINITY and (exp == INFINITY).all()):
        return "never"
    distance = int(exp[0]) - int(ts[0])
    return distance if exp[0] != INFINITY and (exp - ts == distance).all() else None


def _follow_rule(rule: int | str, ts: np.ndarray, name: str) -> np.ndarray:
    if rule == "never":
        return forever(len(ts))
    return ts + rule if name == "#exp" else np.full(len(ts), rule, np.int64)


def _has_words(column: pa.Array) -> bool:
    """Whether a column is 64-bit words, none of them NULL."""
    kind = column.type
    return column.null_count == 0 and pa.types.is_primitive(kind) and kind.bit_width == 64


def no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema)


def take_rows(rows: pa.RecordBatch, index: np.ndarray) -> pa.RecordBatch:
    if rows.num_columns == 0:
        return rows
    return rows.take(pa.array(index))


def those(rows: pa.RecordBatch, wanted: Mapping[str, pa.Scalar]) -> pa.RecordBatch:
    """The rows with these values in these columns."""
    return take_rows(rows, _places(rows, wanted)) if wanted else rows


def wanted_of(changes: Changes, wanted: Mapping[str, pa.Scalar]) -> Changes:
    """The changes of rows with these values in these columns."""
    return changes.pick(_places(changes.rows, wanted)) if wanted else changes


def _places(rows: pa.RecordBatch, wanted: Mapping[str, pa.Scalar]) -> np.ndarray:
    tests = [pc.equal(rows.column(name), value) for name, value in wanted.items()]
    every = reduce(pc.and_, tests)
    return pc.indices_nonzero(pc.fill_null(every, False)).to_numpy().astype(np.int64)


def concat_rows(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """One batch from many of the same column types; the names are the schema's."""
    if len(schema) == 0:
        return no_rows(schema)
    if all(batch.schema.equals(schema) for batch in batches):
        return pa.concat_batches(batches)
    arrays = [pa.concat_arrays([batch.column(i) for batch in batches]) for i in range(len(schema))]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def forever(count: int) -> np.ndarray:
    return np.full(count, INFINITY, np.int64)
