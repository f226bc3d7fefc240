"""The rows that calls return: put together as a product, tuple by tuple, and held until their slot
has ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, concat_rows, take_rows
from millstream.columns.keys import factorize
from millstream.columns.order import is_sorted

THERE = "#there"
"""Whether a row that is held is one: a tuple may have returned none."""


@dataclass(frozen=True, eq=False)
class Returned:
    """Rows by the number of the event that returned them, counting up."""

    event: np.ndarray
    rows: pa.RecordBatch


def product(returned: Sequence[Returned]) -> tuple[np.ndarray, list[pa.Array]]:
    """For every event the product of what calls return there, those of the first slowest: the
    events, and the columns of all calls."""
    first = returned[0]
    event, columns = first.event, list(first.rows.columns)
    for more in returned[1:]:
        low = np.searchsorted(more.event, event, side="left")
        times = np.searchsorted(more.event, event, side="right") - low
        mine = np.repeat(np.arange(len(event)), times)
        offset = np.arange(len(mine)) - np.repeat(np.cumsum(times) - times, times)
        theirs = np.repeat(low, times) + offset
        columns = [column.take(pa.array(mine)) for column in columns]
        columns += [column.take(pa.array(theirs)) for column in more.rows.columns]
        event = event[mine]
    return event, columns


def by_event(event: np.ndarray, rows: pa.RecordBatch) -> Returned:
    """What a machine returned, in the order of the events."""
    if is_sorted(event):
        return Returned(event, rows)
    order = _of_permutation(event)
    order = np.argsort(event, kind="stable") if order is None else order
    return Returned(event[order], take_rows(rows, order))


def _of_permutation(event: np.ndarray) -> np.ndarray | None:
    """The order that sorts events each of which returned one row; None if that is not so."""
    order = np.full(len(event), -1)
    if event.max() >= len(event):
        return None
    order[event] = np.arange(len(event))
    return order if (order >= 0).all() else None


def last_of_slot(partition: np.ndarray, slot: np.ndarray) -> np.ndarray:
    """Whether each of some tuples, in order, is the last of its partition and slot."""
    _, last = factorize([pa.array(partition[::-1]), pa.array(slot[::-1])], len(slot))
    out = np.zeros(len(slot), np.bool_)
    out[len(slot) - 1 - last] = True
    return out


def with_markers(rows: Changes, held: Changes, schema: pa.Schema) -> Changes:
    """Rows to be held, and for tuples without one (`held`) a row that says so."""
    marked = pa.schema([*schema, pa.field(THERE, pa.bool_())])
    there = [*rows.rows.columns, pa.array(np.ones(len(rows), np.bool_))]
    more = len(schema) - held.rows.num_columns
    nulls = [pa.nulls(len(held), f.type) for f in list(schema)[len(schema) - more :]]
    missing = [*held.rows.columns, *nulls, pa.array(np.zeros(len(held), np.bool_))]
    both = [
        rows.with_rows(pa.RecordBatch.from_arrays(there, schema=marked)),
        held.with_rows(pa.RecordBatch.from_arrays(missing, schema=marked)),
    ]
    return Changes.concat(both, marked)


def yielded(held: Changes, partition_by: Sequence[str], schema: pa.Schema) -> Changes:
    """Of what was held of slots that have ended, the rows of the last tuple of every partition."""
    keys = [held.rows.column(name) for name in partition_by]
    codes, first = factorize([*keys, pa.array(held.exp)], len(held))
    newest = np.full(len(first), np.iinfo(np.int64).min)
    np.maximum.at(newest, codes, held.ts)
    there = held.rows.column(THERE).to_numpy(zero_copy_only=False)
    kept = held.keep((held.ts == newest[codes]) & there)
    rows = concat_rows([kept.rows.select(schema.names)], schema)
    return Changes.elements(rows, kept.exp, kept.seq).in_time_order()
