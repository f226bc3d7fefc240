"""Projection pruning: read and keep only the columns somebody uses."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.expressions import columns_of
from millstream.algebra.facts import Columns
from millstream.algebra.node import Node, map_inputs
from millstream.operators import Project
from millstream.operators.project import handed_on


def prune_columns(node: Node) -> Node | None:
    """Leave out columns below a projection that nobody uses on the way.

        Project a                       Project a
          Join a = b             →        Join a = b
            L (a, c)                        L (a)
            R (b, d)                        Project b
                                              R (b, d)

    Sound because no operator in between looks at a column it does not name, or takes rows that
    have become equal for one: tuples are known by their arrival or their parts, copies stay copies.
    It ends where an operator says that it looks at whole rows (`Node.columns_needed`): Distinct,
    Intersect, Minus, TopK, Istream, …; windows by rows over elements without an arrival of their
    own, which come in the order of all their values; and groups: several queries may share them.
    """
    if not isinstance(node, Project):
        return None
    used: Columns = frozenset().union(*(columns_of(e) for _, e in node.outputs))
    below = _narrow(node.input, used)
    return None if below is node.input else replace(node, input=below)


def _narrow(node: Node, used: Columns) -> Node:
    """The same plan over fewer columns, or the node itself if there is nothing to leave out."""
    own = node.with_columns(used)
    if own is not None:
        return own
    needed = node.columns_needed(used)
    if needed is None:
        return node
    if len(needed) == 1:
        return map_inputs(node, lambda source: _narrow(source, needed[0]))
    cut, each = _projected if node.stateless else _cut, iter(needed)
    return map_inputs(node, lambda side: cut(side, next(each)))


def _cut(node: Node, used: Columns) -> Node:
    """An input of a join that keeps its rows: without the columns nobody uses, whatever it is."""
    return _projected(_narrow(node, used), used)


def _projected(node: Node, used: Columns) -> Node:
    """The node in the used columns; the rule goes on at the projection."""
    kept = [name for name in node.schema.names if name in used]
    return node if len(kept) == len(node.schema) else Project(handed_on(node.schema, kept), node)
