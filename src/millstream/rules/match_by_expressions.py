"""Equal expressions are keys, as equal columns are: for semi- and antijoins."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.node import Node
from millstream.operators import AntiJoin, SemiJoin
from millstream.rules.pieces import keyed_by_columns, only


def match_by_expressions(node: Node) -> Node | None:
    """Compute the two sides of an equality before rows are matched.

        AntiJoin a = b + 1            AntiJoin a = #key
          L (a)                 →       L (a)
          R (b)                         Project b, b + 1 as #key
                                          R (b)

    Sound because an expression over one side has the same value for a row, whichever rows it is
    compared with. It pays because partners are found by columns that must be equal: without it,
    every row is tested with all that agree in the other columns. What is computed on the left is
    left out again above.
    """
    match node:
        case SemiJoin(condition=condition) | AntiJoin(condition=condition):
            keyed = keyed_by_columns(condition, node.left, node.right)
            if keyed is None:
                return None
            condition, left, right = keyed
            return only(node.schema, replace(node, condition=condition, left=left, right=right))
    return None
