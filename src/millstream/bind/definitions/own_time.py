"""Whether a column of a stream is known to hold the instants of its rows."""

from __future__ import annotations

from millstream.algebra.expressions import Column
from millstream.algebra.node import Node
from millstream.catalog import Catalog, Stream
from millstream.operators import (
    Elements,
    Fill,
    Filter,
    Istream,
    LookupJoin,
    Merge,
    NonRetroactiveJoin,
    Now,
    Project,
    Range,
    Retime,
    Scan,
    Stamp,
    Unbounded,
    UnionAll,
)


def names_own_time(node: Node, column: str, like: Stream, catalog: Catalog) -> bool:
    """Whether every row is at the instant that the column holds, in the unit of a stream.

    Law: where it is true, `Retime` by the column changes nothing. What enters a window that
    rows enter at once enters at its own instant, so Istream gives it there.
    """
    match node:
        case Scan():
            source = catalog.entries.get(node.stream.lower())
            if not isinstance(source, Stream) or source.is_internal:
                return False
            return source.order_by == column and source.scale == like.scale
        case Retime():
            return node.order == column and node.scale == like.scale
        case Project():
            value = dict(node.outputs)[column]
            return isinstance(value, Column) and names_own_time(
                node.input, value.name, like, catalog
            )
        case Merge():
            return all(names_own_time(n, column, like, catalog) for n in node.inputs)
        case UnionAll(left=left, right=right):
            at = left.schema.get_field_index(column)
            return names_own_time(left, column, like, catalog) and names_own_time(
                right, right.schema.names[at], like, catalog
            )
        case LookupJoin() | NonRetroactiveJoin():
            below = node.inputs[0]
            return column in below.schema.names and names_own_time(below, column, like, catalog)
        case Istream() | Elements() | Filter() | Fill() | Stamp() | Unbounded() | Now() | Range():
            return names_own_time(node.inputs[0], column, like, catalog)
    return False
