"""A filter that lets every row pass is left out."""

from __future__ import annotations

from millstream.algebra.expressions import conjunction, conjuncts
from millstream.algebra.node import Node
from millstream.operators import Filter
from millstream.rules.pieces import conditions


def remove_true_filter(node: Node) -> Node | None:
    """Leave out what is true of every row.

        Filter true               S
          S               →

    Sound because a row passes when all parts of the condition are true of it.
    """
    match node:
        case Filter(condition=condition, input=source):
            parts = conditions(condition)
            if not parts:
                return source
            if len(parts) < len(conjuncts(condition)):
                return Filter(conjunction(parts), source)
    return None
