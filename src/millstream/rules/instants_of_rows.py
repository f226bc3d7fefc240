"""Which columns hold the instants at which rows came."""

from __future__ import annotations

from millstream.algebra.expressions import Column
from millstream.algebra.node import Node
from millstream.operators import Filter, Join, Project, Range, Stamp, Sync, Unbounded, Within
from millstream.operators.clocked import NOW
from millstream.operators.stamp import INSTANT


def came_then(node: Node, column: str) -> bool:
    """Whether a column is the instant at which an element came, which is in the row by its stamp.

    Law: where it is true, the column is never NULL and never after the instant at which the row is
    there first.
    """
    match node:
        case Stamp():
            return column == INSTANT
        case Project(outputs=outputs, input=below):
            value = dict(outputs).get(column)
            if value == NOW:
                return came_then(below, INSTANT)
            return isinstance(value, Column) and came_then(below, value.name)
        case Filter() | Unbounded() | Range() | Sync() | Within():
            return came_then(node.inputs[0], column)
        case Join(left=left, right=right):
            return came_then(left if column in left.schema.names else right, column)
    return False
