"""Tuples that an aggregate of one's own could not take, or a pattern: what is said of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, no_rows
from millstream.algebra.node import Node, walk
from millstream.algebra.types import INTEGER, STRING
from millstream.blocks.machine import Failure
from millstream.operators.scan import Scan
from millstream.patterns.recognition_search import SKIP, STEPS

FAILED = "#failed"
"""Beside the parts of a state, what a step hands to the error stream; it is not kept."""

NOT_THERE = "delete: there is no such row"
NO_OP = "op: it says neither insert nor update nor delete"
NO_KEY = "update: without a KEY it does not say which row it is about"
"""Why a modification does nothing."""

SCHEMA = pa.schema([("seq", INTEGER), ("reason", STRING), ("row", STRING)])


def failed_rows(tuples: Changes, failures: Iterable[tuple[str, Failure]]) -> pa.RecordBatch:
    """Rows of an error stream for tuples by their number, each with the aggregate that failed."""
    found = sorted({(f.event, f'aggregate "{name}": {f.reason}') for name, f in failures})
    if not found:
        return no_rows(SCHEMA)
    rows = tuples.take(np.array([event for event, _ in found]))
    return _written(rows.rows, rows.arrival, [reason for _, reason in found])


GIVEN_UP = {
    STEPS: "pattern: no match is looked for from this row to the last one that the attempt has "
    "come to, since it takes more steps than SET pattern_steps allows",
    SKIP: "pattern: the match that begins at this row is given up, since AFTER MATCH SKIP TO names "
    "a variable that has no row in it, or its first row",
}


def told(
    rows: pa.RecordBatch,
    arrival: Callable[[np.ndarray], np.ndarray],
    given_up: np.ndarray,
    failures: Iterable[tuple[str, Failure]],
) -> pa.RecordBatch:
    """Rows of an error stream for a pattern: the first row of each attempt that was given up, with
    the last row that it asked for and why, and rows that an aggregate could not take. `arrival`
    says when rows arrived."""
    found = sorted({(f.event, f'aggregate "{name}": {f.reason}') for name, f in failures})
    taken = np.array([event for event, _ in found], np.int64)
    at = np.concatenate([given_up[:, 0], taken])
    by = np.concatenate([given_up[:, 1], taken])
    reasons = [*(GIVEN_UP[why] for why in given_up[:, 2]), *(why for _, why in found)]
    if not len(at):
        return no_rows(SCHEMA)
    return _written(rows.take(pa.array(at)), arrival(by), reasons)


def refused_rows(rows: pa.RecordBatch, arrival: np.ndarray, reasons: list[str]) -> pa.RecordBatch:
    """Rows of an error stream for modifications that do nothing, with the reason of each."""
    return _written(rows, arrival, reasons)


def _written(rows: pa.RecordBatch, arrival: np.ndarray, reasons: list[str]) -> pa.RecordBatch:
    shown = [name for name in rows.schema.names if not name.startswith("#")]
    written = [
        ",".join("" if value is None else str(value) for value in row.values())
        for row in rows.select(shown).to_pylist()
    ]
    columns = [arrival.tolist(), reasons, written]
    return pa.RecordBatch.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, SCHEMA)], schema=SCHEMA
    )


def stream_of(node: Node) -> str:
    """The stream that tuples came from: the first of several, where that cannot be told."""
    return next((below.stream for below in walk(node) if isinstance(below, Scan)), "")
