"""The columns that a window gives to its rows: from when to when the slot or session is."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.facts import Columns
from millstream.algebra.time import Domain
from millstream.algebra.types import INTEGER, TIMESTAMP

WINDOW_COLUMNS = ("window_start", "window_end")


def hidden_columns(schema: pa.Schema) -> tuple[str, ...]:
    """Those that a window over rows of this schema does not give: the rows have columns of that
    name themselves, and these are the ones that are meant."""
    taken = {name.lower() for name in schema.names}
    return tuple(name for name in WINDOW_COLUMNS if name in taken)


def with_window_columns(schema: pa.Schema, domain: Domain | None) -> pa.Schema:
    """The columns of the rows, then those of the window."""
    kind = TIMESTAMP if domain is Domain.TIMESTAMP else INTEGER
    hidden = hidden_columns(schema)
    return pa.schema([*schema, *(pa.field(n, kind) for n in WINDOW_COLUMNS if n not in hidden)])


def without_window_columns(wanted: Columns, schema: pa.Schema) -> Columns:
    """Of the wanted columns, those that the rows below the window have themselves."""
    return wanted & frozenset(schema.names)


def bounded_by(rows: Changes, start: np.ndarray, end: np.ndarray, schema: pa.Schema) -> Changes:
    """The rows with the first and last instant of their window beside them, in this schema."""
    bounds = dict(zip(WINDOW_COLUMNS, (start, end)))
    own = list(schema)[len(rows.schema) :]
    columns = [*rows.rows.columns, *(pa.array(bounds[f.name]).cast(f.type) for f in own)]
    if not columns:
        return rows
    return rows.with_rows(pa.RecordBatch.from_arrays(columns, schema=schema))
