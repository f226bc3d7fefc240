"""Relations that follow from how often a value is there: what DISTINCT and set operations share."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, take_rows
from millstream.algebra.identity import identity_of_values
from millstream.algebra.state_layout import StateLayout
from millstream.algebra.time import INFINITY, Span
from millstream.columns.keys import equal_rows, factorize, hashes_of
from millstream.columns.tally import tally
from millstream.state.chunks import Log, State
from millstream.state.events import unfold
from millstream.state.index import Index


def count_values(
    state: State,
    inputs: tuple[Changes, ...],
    kind: int,
    schema: pa.Schema,
    span: Span,
    state_layout: StateLayout,
) -> tuple[State, Changes]:
    """The value of a function of the counts of every row on each side, as changes.

    State: the counts of the values present, by their hash, and the rows whose expiration lies
    ahead. Cost: the batch and what falls due.
    """
    logs, parts = {}, []
    for side, changes in enumerate(inputs):
        log: Log = state.get(f"due {side}", Log())
        logs[f"due {side}"], events = unfold(log, changes, span, state_layout)
        merged = events.merged()
        parts.append(merged.with_rows(merged.rows.rename_columns(schema.names)))
    every = Changes.concat(parts, schema)
    sides = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    order = np.argsort(every.ts, kind="stable")
    values = _Values.of(every)
    counts = [_Counts.of(state.get(f"counts {i}"), values) for i in range(len(inputs))]
    now = [c.before.copy() for c in counts]
    code, ts, exp, weight = tally(
        values.codes[order],
        sides[order],
        every.ts[order],
        every.weight[order],
        now[0],
        now[1] if len(now) > 1 else np.zeros(len(values.hashes), np.int64),
        kind,
    )
    kept = {f"counts {i}": c.moved(now[i], values, span) for i, c in enumerate(counts)}
    rows = take_rows(values.rows, code)
    out = Changes(rows, ts, exp, weight, identity_of_values(rows, len(ts)))
    return {**logs, **kept}, out


def counts_of(log: Log, schema: pa.Schema) -> Changes:
    """The values that a log of counts holds, each once, with its count as weight."""
    return Index.of(log, schema).rows()


def as_counts(values: Changes, end: int) -> Log:
    """A log of counts that holds values, each as often as its weight says."""
    none = np.zeros(len(values), np.int64)
    entries = replace(values, ts=none, exp=none + INFINITY, seq=none)
    hashes = hashes_of(values.rows.columns, len(values))
    return Index.of(None, values.schema).add(entries, hashes, end).log


@dataclass(frozen=True, eq=False)
class _Values:
    """The different rows among some: the number of every row's, and each of them once."""

    codes: np.ndarray
    rows: pa.RecordBatch
    hashes: np.ndarray

    @staticmethod
    def of(every: Changes) -> _Values:
        codes, first = factorize(every.rows.columns, len(every))
        rows = take_rows(every.rows, first)
        return _Values(codes, rows, hashes_of(rows.columns, len(first)))


@dataclass(frozen=True, eq=False)
class _Counts:
    """How often each value was there before a step, out of an index of all values."""

    index: Index
    before: np.ndarray

    @staticmethod
    def of(log: Log | None, values: _Values) -> _Counts:
        index = Index.of(log, values.rows.schema)
        before = np.zeros(len(values.hashes), np.int64)
        for rows, there, needle in index.search(values.hashes):
            same = equal_rows(rows.rows, there, values.rows, needle)
            np.add.at(before, needle[same], rows.weight[there[same]])
        return _Counts(index, before)

    def moved(self, now: np.ndarray, values: _Values, span: Span) -> Log:
        """The index after a step: what was added to every count is one more entry."""
        moved = np.flatnonzero(now != self.before)
        none = np.zeros(len(moved), np.int64)
        entries = Changes(
            take_rows(values.rows, moved),
            none,
            none + INFINITY,
            (now - self.before)[moved],
            none,
        )
        return self.index.add(entries, values.hashes[moved], span.end).log
