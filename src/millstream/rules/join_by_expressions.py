"""Equal expressions are keys, as equal columns are: for joins."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.node import Node
from millstream.operators import Join, SingleJoin
from millstream.rules.pieces import keyed_by_columns, only


def join_by_expressions(node: Node) -> Node | None:
    """Compute the two sides of an equality before rows are joined.

        Join a = b + 1                Project a, b
          L (a)                 →       Join a = #key
          R (b)                           L (a)
                                          Project b, b + 1 as #key
                                            R (b)

    Sound because an expression over one side has the same value for a row, whichever rows it is
    compared with. It pays because pairs are found by columns that must be equal, and rows can be
    spread by them. It comes last: the projection above would keep joins from being put in order.
    """
    match node:
        case Join(condition=condition) | SingleJoin(condition=condition):
            keyed = keyed_by_columns(condition, node.left, node.right)
            if keyed is None:
                return None
            condition, left, right = keyed
            return only(node.schema, replace(node, condition=condition, left=left, right=right))
    return None
