"""Projection pruning: read and keep only the columns somebody uses."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.expressions import columns_of
from millstream.algebra.node import Node, map_inputs
from millstream.operators import (
    AntiJoin,
    Elements,
    Filter,
    Join,
    LookupJoin,
    NonRetroactiveJoin,
    Now,
    Project,
    Range,
    RangeSlide,
    Rows,
    Scan,
    SemiJoin,
    SingleJoin,
    Stamp,
    Unbounded,
    UnionAll,
)
from millstream.operators.project import handed_on

Names = frozenset[str]


def prune_columns(node: Node) -> Node | None:
    """Leave out columns below a projection that nobody uses on the way.

        Project a                       Project a
          Join a = b             →        Join a = b
            L (a, c)                        L (a)
            R (b, d)                        Project b
                                              R (b, d)

    Sound because no operator in between looks at a column it does not name, or takes rows that
    have become equal for one: tuples are known by their arrival or their parts, copies stay copies.
    It ends at operators that compare whole rows (Distinct, Intersect, Minus, TopK, Istream, …), at
    windows by rows over elements without an arrival of their own, which come in the order of all
    their values, and at groups: several queries may share them.
    """
    if not isinstance(node, Project):
        return None
    used: Names = frozenset().union(*(columns_of(e) for _, e in node.outputs))
    below = _narrow(node.input, used)
    return None if below is node.input else replace(node, input=below)


def _narrow(node: Node, used: Names) -> Node:
    """The same plan over fewer columns, or the node itself if there is nothing to leave out."""
    match node:
        case Scan(columns=found):
            kept = tuple(c for c in found if c[0] in used)
            return node if kept == found else replace(node, columns=kept)
        case Project(outputs=outputs):
            some = tuple(o for o in outputs if o[0] in used)
            return node if some == outputs else replace(node, outputs=some)
        case Filter(condition=condition):
            return _below(node, used | columns_of(condition))
        case LookupJoin(left_keys=keys, condition=condition):
            return _below(node, used | columns_of(condition) | frozenset(keys))
        case Rows(partition_by=keys, input=source) if _has_arrivals(source):
            return _below(node, used | frozenset(keys))
        case Now() | Range() | RangeSlide() | Unbounded() | Stamp() | Elements():
            return _below(node, used)
        case Join(condition=condition) | SingleJoin(condition=condition):
            used = used | columns_of(condition)
            return map_inputs(node, lambda side: _cut(side, used))
        case (SemiJoin(condition=condition) | AntiJoin(condition=condition)) as match:
            asked = columns_of(condition)
            left, right = _cut(match.left, used | asked), _cut(match.right, asked)
            same = left is match.left and right is match.right
            return match if same else replace(match, left=left, right=right)
        case NonRetroactiveJoin(condition=condition, left=left) if left.never_retracts:
            used = used | columns_of(condition)
            return map_inputs(node, lambda side: _cut(side, used))
        case UnionAll():
            return _narrow_union(node, used)
    return node


def _below(node: Node, used: Names) -> Node:
    return map_inputs(node, lambda source: _narrow(source, used))


def _cut(node: Node, used: Names) -> Node:
    """An input of a join that keeps its rows: without the columns nobody uses, whatever it is."""
    node = _narrow(node, used)
    kept = [name for name in node.schema.names if name in used]
    return node if len(kept) == len(node.schema) else Project(handed_on(node.schema, kept), node)


def _narrow_union(node: UnionAll, used: Names) -> Node:
    """Both sides in the same columns, by position."""
    names = node.left.schema.names
    places = [i for i, name in enumerate(names) if name in used]
    if len(places) == len(names):
        return node

    def side(source: Node) -> Node:
        return Project(handed_on(source.schema, [source.schema.names[i] for i in places]), source)

    return UnionAll(side(node.left), side(node.right))


def _has_arrivals(node: Node) -> bool:
    """Whether every element of a stream has an arrival number that no other has."""
    match node:
        case Scan():
            return True
        case Filter() | Project() | Stamp() | Elements() | Now():
            return _has_arrivals(node.inputs[0])
    return False
