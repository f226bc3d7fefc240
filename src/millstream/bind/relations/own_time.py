"""Whether a column of a stream is known to hold the instants of its rows."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.expressions import Column
from millstream.algebra.node import Node, walk
from millstream.bind.relations.clock_column import CLOCK
from millstream.catalog import Catalog, Stream
from millstream.operators import (
    Dated,
    Distinct,
    Elements,
    Fill,
    Filter,
    Intersect,
    Istream,
    Join,
    LookupJoin,
    Merge,
    NonRetroactiveJoin,
    Now,
    Project,
    Range,
    Retime,
    Scan,
    Stamp,
    Sync,
    SyncAt,
    Tagger,
    Ticks,
    Unbounded,
    UnionAll,
    Within,
)
from millstream.operators.stamp import INSTANT


def at_own_instants(plan: Node, catalog: Catalog) -> Node:
    """What Istream is asked of, with windows that hold one instant where nothing else is needed.

    Law: Istream over it is the same. Where a column holds the instants of the rows, DISTINCT and
    INTERSECT find equal rows at one instant only, so nothing older has to be kept.
    """
    nodes = list(walk(plan))
    streams = [n.stream for n in nodes if isinstance(n, Scan)]
    scales = {e.scale for s in streams if isinstance(e := catalog.entries.get(s.lower()), Stream)}
    if not any(isinstance(node, Distinct | Intersect) for node in nodes) or len(scales) != 1:
        return plan
    (scale,) = scales
    if any(names_own_time(plan, name, scale, catalog) for name in plan.schema.names):
        return _now(plan) or plan
    return plan


def _now(node: Node) -> Node | None:
    """The same over Now instead of Unbounded; None where rows of different instants meet."""
    match node:
        case Unbounded(input=stream):
            return Now(stream)
        case Project() | Filter() | Distinct():
            below = _now(node.input)
            return None if below is None else replace(node, input=below)
        case UnionAll() | Intersect():
            left, right = _now(node.left), _now(node.right)
            return None if left is None or right is None else replace(node, left=left, right=right)
    return None


def names_own_time(node: Node, column: str, scale: int, catalog: Catalog) -> bool:
    """Whether every row is at the instant that the column holds, in units of that scale.

    Law: where it is true, `Retime` by the column changes nothing. What enters a window that
    rows enter at once enters at its own instant, so Istream gives it there.
    """
    match node:
        case Scan():
            source = catalog.entries.get(node.stream.lower())
            if not isinstance(source, Stream) or source.is_internal:
                return False
            return source.order_by == column and source.scale == scale
        case Retime():
            return node.order == column and node.scale == scale
        case Ticks():
            return scale == 1
        case Stamp() if column == INSTANT:
            return scale == 1
        case Project():
            value = dict(node.outputs).get(column)
            if value == CLOCK and isinstance(node.input, Stamp):
                return scale == 1
            return isinstance(value, Column) and names_own_time(
                node.input, value.name, scale, catalog
            )
        case Merge():
            return all(names_own_time(n, column, scale, catalog) for n in node.inputs)
        case UnionAll(left=left, right=right) | Intersect(left=left, right=right):
            at = left.schema.get_field_index(column)
            return names_own_time(left, column, scale, catalog) and names_own_time(
                right, right.schema.names[at], scale, catalog
            )
        case LookupJoin() | NonRetroactiveJoin():
            below = node.inputs[0]
            return column in below.schema.names and names_own_time(below, column, scale, catalog)
        case Istream() | Elements() | Filter() | Distinct() | Fill() | Stamp():
            return names_own_time(node.inputs[0], column, scale, catalog)
        case Unbounded() | Now() | Range():
            return names_own_time(node.inputs[0], column, scale, catalog)
    return False


def came_at(node: Node, column: str, catalog: Catalog) -> bool:
    """Whether a column holds the instant at which a row came into what it is made of.

    Law: where it is true, the column is never NULL and never after the instant at which the row is
    there first.
    """
    match node:
        case Join(left=left, right=right):
            side = left if column in left.schema.names else right
            return came_at(side, column, catalog)
        case Sync() | Filter() | Within():
            return came_at(node.inputs[0], column, catalog)
        case SyncAt(left=left):
            return came_at(left, column, catalog)
        case Dated():
            return column == INSTANT
        case Tagger(input=stream):
            return names_own_time(stream, column, 1, catalog)
        case Project(outputs=outputs, input=below):
            value = dict(outputs).get(column)
            if value == CLOCK and isinstance(below, Stamp | Dated):
                return True
            return isinstance(value, Column) and came_at(below, value.name, catalog)
    return names_own_time(node, column, 1, catalog)
