"""Plans that have at most one row by their form."""

from __future__ import annotations

from millstream.algebra.expressions import Call, Column, Expression, Literal, conjuncts
from millstream.algebra.node import Node
from millstream.operators import (
    AntiJoin,
    Distinct,
    Filter,
    GroupBy,
    Join,
    Project,
    Rows,
    SemiJoin,
    SingleJoin,
    TopK,
    Within,
)


def at_most_one(plan: Node, given: frozenset[str]) -> bool:
    """True when no two rows that are equal in the given columns are present at one instant."""
    match plan:
        case Project(outputs=outputs, input=below):
            handed = [e.name for name, e in outputs if name in given and isinstance(e, Column)]
            return at_most_one(below, frozenset(handed))
        case Filter(condition=condition, input=below):
            return at_most_one(below, given | _fixed(condition))
        case GroupBy(keys=keys, input=below):
            handed_down = {_origin(below, name) for name in given if name in keys}
            return {_origin(below, name) for name in keys} <= handed_down
        case Rows(count=1, partition_by=partition):
            return given >= set(partition)
        case TopK(limit=0 | 1, partition_by=partition) if given >= set(partition):
            return True
        case Join(left=left, right=right):
            return at_most_one(left, given) and at_most_one(right, given)
        case Within(input=below):
            return at_most_one(below, given)
        case Distinct(input=below) | TopK(input=below):
            return at_most_one(below, given) or _has_key(plan, given)
        case SemiJoin(left=left) | AntiJoin(left=left) | SingleJoin(left=left):
            return at_most_one(left, given)
    return _has_key(plan, given)


def _has_key(plan: Node, given: frozenset[str]) -> bool:
    return plan.key is not None and given >= set(plan.key)


def _origin(plan: Node, name: str) -> tuple[Node, object]:
    """Where a column comes from, through projections and filters."""
    match plan:
        case Project(outputs=outputs, input=below):
            value = dict(outputs)[name]
            return _origin(below, value.name) if isinstance(value, Column) else (below, value)
        case Filter(input=below) | Within(input=below):
            return _origin(below, name)
    return plan, name


def _fixed(condition: Expression) -> frozenset[str]:
    """Columns that a condition makes equal to a constant."""
    found = set()
    for part in conjuncts(condition):
        match part:
            case Call(function="=", arguments=(Column(name=name), Literal())):
                found.add(name)
            case Call(function="=", arguments=(Literal(), Column(name=name))):
                found.add(name)
    return frozenset(found)
