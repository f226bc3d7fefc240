"""From rows as they were read to elements of a stream: timestamps, late rows, bad rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numba import njit

from millstream.algebra.changes import Changes, concat_rows, take_rows
from millstream.algebra.time import DAWN, Domain
from millstream.algebra.types import STRING
from millstream.catalog import Stream
from millstream.columns.keys import as_words
from millstream.engine.clock import Header

ERRORS = pa.schema([("seq", pa.int64()), ("reason", STRING), ("row", STRING)])


@dataclass(frozen=True)
class Gate:
    """What is known before a slice is read: the largest timestamp so far, and the heartbeat."""

    largest: int | None
    beat: int
    now: int


@dataclass(frozen=True, eq=False)
class Admitted:
    """The elements of a slice, which of its rows are late, the bad ones, and what it tells of time."""

    elements: Changes
    late: np.ndarray
    late_ts: np.ndarray
    errors: pa.RecordBatch
    header: Header


def admit(
    stream: Stream, rows: pa.RecordBatch, seq: np.ndarray, errors: pa.RecordBatch, gate: Gate,
    promise: int | None = None,
) -> Admitted:
    """Stamp the rows of a slice and sort out those that come too late or run too far ahead.

    Law: a row is late exactly when its ts < m − slack, m being the largest timestamp that arrived
    before it, whatever the cut into slices; a row without a timestamp is bad.
    """
    ts, missing = _stamps(stream, rows, seq, gate)
    if missing.any():
        reason = f'column "{stream.order_by}" is NULL, and the stream is ordered by it'
        errors = _with_errors(errors, rows, seq, missing, reason)
    start = DAWN if gate.largest is None else gate.largest
    ahead = -1 if stream.ahead is None else stream.ahead
    late, wild = _sort_out(ts, missing, start, stream.slack, ahead, gate.beat)
    if wild.any():
        reason = f'column "{stream.order_by}" runs further ahead of the others than allowed'
        errors = _with_errors(errors, rows, seq, wild, reason)
    good = ~(late | wild | missing)
    index = np.flatnonzero(good)
    kept = ts[index]
    header = Header(
        stream.name,
        first=int(kept.min()) if len(kept) else None,
        largest=int(kept.max()) if len(kept) else None,
        promise=promise,
        rows=len(seq),
        late=int(late.sum()),
        bad=errors.num_rows,
        now=gate.now,
    )
    taken = rows if good.all() else take_rows(rows, index)
    elements = Changes.elements(taken, kept, seq[index])
    return Admitted(elements, np.flatnonzero(late), ts[late], errors, header)


def _stamps(
    stream: Stream, rows: pa.RecordBatch, seq: np.ndarray, gate: Gate
) -> tuple[np.ndarray, np.ndarray]:
    none = np.zeros(len(seq), np.bool_)
    if stream.domain is Domain.ARRIVAL:
        return seq, none
    if stream.is_internal:
        return np.full(len(seq), gate.now, np.int64), none
    column = rows.column(stream.order_by)
    if column.null_count == 0:
        return as_words(column), none
    missing = column.is_null().to_numpy(zero_copy_only=False)
    return np.where(missing, DAWN, as_words(column)), missing


@njit(cache=True)
def _sort_out(
    ts: np.ndarray, missing: np.ndarray, largest: int, slack: int, ahead: int, beat: int
) -> tuple[np.ndarray, np.ndarray]:
    """Which rows are late, and which run too far ahead, in the order of arrival."""
    late = np.zeros(len(ts), np.bool_)
    wild = np.zeros(len(ts), np.bool_)
    for i in range(len(ts)):
        if missing[i]:
            continue
        if ahead >= 0 and largest > DAWN and ts[i] > largest + ahead:
            wild[i] = True
        elif (largest > DAWN and ts[i] < largest - slack) or ts[i] <= beat:
            late[i] = True
        elif ts[i] > largest:
            largest = ts[i]
    return late, wild


def _with_errors(
    errors: pa.RecordBatch, rows: pa.RecordBatch, seq: np.ndarray, bad: np.ndarray, reason: str
) -> pa.RecordBatch:
    index = np.flatnonzero(bad)
    told = [str(row)[:1000] for row in take_rows(rows, index).to_pylist()]
    more = pa.RecordBatch.from_arrays(
        [pa.array(seq[index]), pa.array([reason] * len(index), STRING), pa.array(told, STRING)],
        schema=ERRORS,
    )
    return concat_rows([errors, more], ERRORS)
