"""From rows as they were read to elements of a stream: timestamps, late rows, bad rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.changes import Changes, concat_rows, take_rows
from millstream.algebra.time import DAWN, Domain
from millstream.algebra.types import STRING
from millstream.catalog import Stream
from millstream.columns.keys import as_words
from millstream.columns.native import native
from millstream.columns.versions import UPDATE
from millstream.connect.cells import as_csv
from millstream.connect.partitioned import arrivals
from millstream.connect.source import ERRORS, ROW_TEXT, Slice
from millstream.engine.clock import Clock, Header, PartitionClock
from millstream.operators.table_scan import SPELLINGS, kinds_of

FARTHEST = 2**60
"""Instants beyond this cannot be counted with: windows would run out of numbers."""

FAR, AHEAD = 1, 2


@dataclass(frozen=True)
class Gate:
    """What is known of a partition before a slice of it is read.

    `largest` is its largest timestamp so far, `beat` the heartbeat that its rows must be after.
    `number` makes the arrival numbers of one partition differ from those of others; None where the
    positions of rows are their arrival numbers.
    """

    largest: int | None
    beat: int
    now: int
    partition: str = ""
    number: int | None = None

    @staticmethod
    def of(clock: Clock, stream: Stream, slice: Slice, now: int) -> Gate:
        """The gate at the beginning of a batch.

        Partitions that Spark feeds are those of one batch, and begin where the ones before were.
        """
        beat, known = clock.beats.get(stream.name, DAWN), clock.sources.get(stream.name)
        if known is None:
            return Gate(None, beat, now, slice.partition, slice.number)
        if stream.foreign:
            beat = max(beat, known.heartbeat(stream))
            return Gate(None, beat, now, slice.partition, slice.number)
        part = known.partitions.get(slice.partition, PartitionClock())
        beat = beat if part.promise is None else max(beat, part.promise)
        return Gate(part.largest, beat, now, slice.partition, slice.number)

    def after(self, largest: int | None, promise: int | None = None) -> Gate:
        """The gate for the rows that follow."""
        seen = [t for t in (self.largest, largest) if t is not None]
        beat = self.beat if promise is None else max(self.beat, promise)
        return replace(self, largest=max(seen, default=None), beat=beat)


@dataclass(frozen=True, eq=False)
class Admitted:
    """The elements of a slice, its rows that arrive late, its bad rows, and its header."""

    elements: Changes
    late: np.ndarray
    late_ts: np.ndarray
    errors: pa.RecordBatch
    header: Header


def admit(
    stream: Stream,
    rows: pa.RecordBatch,
    seq: np.ndarray,
    errors: pa.RecordBatch,
    gate: Gate,
    whole: Callable[[], pa.RecordBatch],
    beats: tuple[tuple[int, int], ...] = (),
) -> Admitted:
    """Stamp the rows of a slice and sort out those that arrive late or run too far ahead.

    Law: a row is late exactly when its ts < m − slack, m being the largest timestamp of its
    partition that arrived before it, or at or before a heartbeat that its source sent before it,
    whatever the cut into slices; a row without a timestamp is bad, and so is a modification that
    does nothing known.
    `seq` are the positions of the rows in their partition. `whole` gives the same rows with all
    their columns, to show those that are refused.
    """
    ts, missing = _stamps(stream, rows, seq, gate)
    unreadable = errors.num_rows
    if missing.any():
        what = "stream is" if stream.op is None else "changes of the table are"
        reason = f'column "{stream.order_by}" is NULL, and the {what} ordered by it'
        errors = _with_errors(errors, whole(), seq, missing, reason)
    if stream.says is not None:
        wrong, reasons = _wrong_ops(stream, rows.column(stream.says), missing)
        if wrong.any():
            errors = _with_errors(errors, whole(), seq, wrong, reasons)
            missing = missing | wrong
    start = DAWN if gate.largest is None else gate.largest
    ahead = -1 if stream.ahead is None else stream.ahead
    sent = np.array(beats, np.int64).reshape(-1, 2)
    late, wild = _sort_out(ts, seq, missing, start, stream.slack, ahead, gate.beat, sent)
    for mark, reason in (
        (FAR, "is too far from now to be counted with"),
        (AHEAD, "runs further ahead of the others than allowed"),
    ):
        if (wild == mark).any():
            said = f'column "{stream.order_by}" {reason}'
            errors = _with_errors(errors, whole(), seq, wild == mark, said)
    refused = late | (wild > 0) | missing
    numbers = arrivals(seq, gate.number)
    if refused.any():
        index = np.flatnonzero(~refused)
        elements = Changes.elements(take_rows(rows, index), ts[index], numbers[index])
    else:
        elements = Changes.elements(rows, ts, numbers)
    header = Header(
        stream.name,
        first=int(elements.ts.min()) if len(elements) else None,
        largest=int(elements.ts.max()) if len(elements) else None,
        promise=max((beat for _, beat in beats), default=None),
        rows=len(seq),
        late=int(late.sum()),
        bad=errors.num_rows,
        now=gate.now,
        partition=gate.partition,
        unreadable=unreadable,
    )
    return Admitted(elements, np.flatnonzero(late), ts[late], errors, header)


def _wrong_ops(stream: Stream, ops: pa.Array, known_bad: np.ndarray) -> tuple[np.ndarray, pa.Array]:
    """More modifications of a table that cannot be carried out, and the reason of each."""
    kinds = kinds_of(ops)
    keyless = stream.op is not None and not stream.keyed
    wrong = ((kinds < 0) | ((kinds == UPDATE) & keyless)) & ~known_bad
    known = ", ".join(word for words in SPELLINGS.values() for word in words)
    shown = pc.binary_join_element_wise('"', ops, '"', "").fill_null("NULL")
    column = f'column "{stream.says}": '
    said = pc.binary_join_element_wise(column, shown, f" is none of {known}", "")
    no_key = pa.scalar("an update needs a KEY, and the table has none")
    return wrong, pc.if_else(pa.array(kinds == UPDATE), no_key, said).filter(pa.array(wrong))


def _stamps(
    stream: Stream, rows: pa.RecordBatch, seq: np.ndarray, gate: Gate
) -> tuple[np.ndarray, np.ndarray]:
    none = np.zeros(len(seq), np.bool_)
    if stream.domain is Domain.ARRIVAL:
        return seq, none
    if stream.is_internal:
        return np.full(len(seq), max(gate.now, gate.beat + 1), np.int64), none
    column = rows.column(stream.order_by)
    words = as_words(column)
    if stream.scale > 1:
        words = _scaled(words, stream.scale)
    if column.null_count == 0:
        return words, none
    missing = column.is_null().to_numpy(zero_copy_only=False)
    return np.where(missing, DAWN, words), missing


def largest_instant(stream: Stream, values: pa.Array) -> int | None:
    """The largest instant in the order column that can be counted with."""
    words = as_words(values.drop_null())
    instants = _scaled(words, stream.scale) if stream.scale > 1 else words
    instants = instants[np.abs(instants) <= FARTHEST]
    return int(instants.max()) if len(instants) else None


def _scaled(words: np.ndarray, scale: int) -> np.ndarray:
    """Numbers of some unit in microseconds; those that are too far to be counted with stay so."""
    most = FARTHEST // scale
    near = np.clip(words, -most, most) * scale
    return np.where(words > most, FARTHEST + 1, np.where(words < -most, -FARTHEST - 1, near))


@native
def _sort_out(
    ts: np.ndarray,
    seq: np.ndarray,
    missing: np.ndarray,
    largest: int,
    slack: int,
    ahead: int,
    beat: int,
    beats: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Which rows arrive late, and which run too far ahead, in the order of arrival."""
    late = np.zeros(len(ts), np.bool_)
    wild = np.zeros(len(ts), np.uint8)
    passed = 0
    for i in range(len(ts)):
        while passed < len(beats) and beats[passed, 0] < seq[i]:
            beat = max(beat, beats[passed, 1])
            passed += 1
        if missing[i]:
            continue
        if ts[i] > FARTHEST or ts[i] < -FARTHEST:
            wild[i] = FAR
        elif ahead >= 0 and largest > DAWN and ts[i] > largest + ahead:
            wild[i] = AHEAD
        elif (largest > DAWN and ts[i] < largest - slack) or ts[i] <= beat:
            late[i] = True
        elif ts[i] > largest:
            largest = ts[i]
    return late, wild


def _with_errors(
    errors: pa.RecordBatch,
    rows: pa.RecordBatch,
    seq: np.ndarray,
    bad: np.ndarray,
    reason: str | pa.Array,
) -> pa.RecordBatch:
    index = np.flatnonzero(bad)
    reasons = pa.array([reason] * len(index), STRING) if isinstance(reason, str) else reason
    cells = [as_csv(column) for column in take_rows(rows, index).columns]
    texts = pc.utf8_slice_codeunits(pc.binary_join_element_wise(*cells, ","), 0, ROW_TEXT)
    more = pa.RecordBatch.from_arrays([pa.array(seq[index]), reasons, texts], schema=ERRORS)
    both = concat_rows([errors, more], ERRORS)
    return take_rows(both, np.argsort(both.column(0).to_numpy(), kind="stable"))
