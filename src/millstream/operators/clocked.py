"""Plans that give the clock, or some of its ticks: which points these are."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.algebra.clock_conditions import points_where
from millstream.algebra.expressions import (
    TRUE,
    Call,
    Column,
    Expression,
    columns_of,
    conjunction,
    conjuncts,
    rewrite,
)
from millstream.algebra.node import Node
from millstream.algebra.points import Points, TooMany
from millstream.algebra.types import INTEGER, TIMESTAMP
from millstream.operators.anti_join import AntiJoin
from millstream.operators.distinct import Distinct
from millstream.operators.filter import Filter
from millstream.operators.group_by import GroupBy
from millstream.operators.intersect import Intersect
from millstream.operators.join import Join
from millstream.operators.minus import Minus
from millstream.operators.project import Project
from millstream.operators.semi_join import SemiJoin
from millstream.operators.stamp import INSTANT, Stamp
from millstream.operators.ticks import TIMEPOINT, Ticks
from millstream.operators.to_stream import Elements, Istream
from millstream.operators.union_all import UnionAll
from millstream.operators.windows import Now, Range, Unbounded

NOW = Call("timestamp_micros", (Column(INSTANT, INTEGER),), TIMESTAMP)
"""The instant of a row as a time."""


@dataclass(frozen=True)
class Clocked:
    """Rows that enter at these points, one at each, and columns that hold the instant of a row."""

    points: Points
    columns: frozenset[str]


def points_of(node: Node) -> Points | None:
    """The instants at which rows of a plan enter, if that is arithmetic on the clock.

    Law: where it is not None, rows enter at exactly these points, from the first instant of the
    clock on.
    """
    found = clocked(node)
    return None if found is None else found.points


def clocked(node: Node) -> Clocked | None:
    """What a plan gives of the clock; None for anything else, or if it is too long to write."""
    try:
        return _clocked(node)
    except TooMany:
        return None


def _clocked(node: Node) -> Clocked | None:
    match node:
        case Ticks(points=points):
            return Clocked(points, frozenset((TIMEPOINT,)))
        case Unbounded() | Now() | Range() | Istream() | Elements() | Distinct():
            return _clocked(node.inputs[0])
        case Stamp(input=below):
            found = _clocked(below)
            return None if found is None else Clocked(found.points, found.columns | {INSTANT})
        case Project(outputs=outputs, input=below):
            found = _clocked(below)
            return None if found is None else _renamed(found, outputs)
        case Filter(condition=condition, input=below):
            found = _clocked(below)
            return None if found is None else _where(found, condition)
        case GroupBy(keys=keys, input=below):
            found = _clocked(below)
            mine = frozenset() if found is None else found.columns & frozenset(keys)
            return Clocked(found.points, mine) if found is not None and mine else None
    return _of_two(node)


def _of_two(node: Node) -> Clocked | None:
    """Operators that put two clocks together: equal instants meet."""
    if len(node.inputs) != 2:
        return None
    left, right = (_clocked(below) for below in node.inputs)
    if left is None or right is None or left.points.tick != right.points.tick:
        return None
    match node:
        case UnionAll():
            return _by_place(left.points | right.points, left, right, node)
        case Intersect():
            return _by_place(left.points & right.points, left, right, node)
        case Minus():
            return _by_place(left.points - right.points, left, right, node)
        case Join() | SemiJoin() | AntiJoin():
            return _matched(node, left, right)
    return None


def _by_place(points: Points, left: Clocked, right: Clocked, node: Node) -> Clocked | None:
    """Columns that hold the instant on both sides; rows meet by all of their columns."""
    names = zip(*(below.schema.names for below in node.inputs))
    both = frozenset(a for a, b in names if a in left.columns and b in right.columns)
    return Clocked(points, both) if both else None


def _matched(node: Join | SemiJoin | AntiJoin, left: Clocked, right: Clocked) -> Clocked | None:
    """Rows of equal instants, where nothing else is asked of them."""
    rest = []
    for part in conjuncts(node.condition):
        match part:
            case Call(function="=", arguments=(Column(name=a), Column(name=b))) if (
                a in left.columns and b in right.columns
            ) or (b in left.columns and a in right.columns):
                continue
        rest.append(part)
    if len(rest) == len(conjuncts(node.condition)):
        return None
    if isinstance(node, Join):
        both = Clocked(left.points & right.points, left.columns | right.columns)
        return _where(both, conjunction(rest))
    if rest:
        return None
    points = (
        left.points & right.points if isinstance(node, SemiJoin) else left.points - right.points
    )
    return Clocked(points, left.columns)


def _renamed(found: Clocked, outputs: tuple[tuple[str, Expression], ...]) -> Clocked | None:
    names = frozenset(
        name
        for name, value in outputs
        if (isinstance(value, Column) and value.name in found.columns)
        or (value == NOW and INSTANT in found.columns)
    )
    return Clocked(found.points, names) if names else None


def _where(found: Clocked, condition: Expression) -> Clocked | None:
    """The points at which a condition on the instant alone holds."""
    if condition == TRUE:
        return found
    if not columns_of(condition) <= found.columns:
        return None

    def change(part: Expression) -> Expression | None:
        return Column(TIMEPOINT, part.type) if isinstance(part, Column) else None

    points = points_where(rewrite(condition, change), TIMEPOINT, found.points.tick)
    return None if points is None else Clocked(found.points & points, found.columns)
