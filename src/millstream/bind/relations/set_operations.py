"""UNION, INTERSECT and EXCEPT: two queries made alike, column by column."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from millstream.algebra.expressions import Column, Expression, Literal
from millstream.algebra.node import Node
from millstream.algebra.types import common_type, type_name
from millstream.bind.expressions.constants import coerce
from millstream.bind.names.words import find_word
from millstream.bind.relations.times import check_times
from millstream.errors import MillstreamError, Place
from millstream.lang import place_of
from millstream.operators import Distinct, Intersect, Minus, Project, UnionAll


def combine(node: exp.SetOperation, left: Node, right: Node, skip: int, text: str) -> Node:
    """The plan of a set operation over the plans of its sides.

    Of the columns, the first `skip` are the domain's.
    """
    if node.args.get("by_name"):
        raise MillstreamError(
            f"{node.key.upper()} BY NAME is not part of the language",
            word_place(node, text),
            hint="Write the columns of both sides in the same order.",
        )
    merges = not isinstance(node, exp.Except)
    check_times(left, right, place_of(node.expression, text), merges)
    left, right = _alike(node, left, right, skip, text)
    bags = not node.args.get("distinct")
    match node:
        case exp.Union():
            both = UnionAll(left, right)
            return both if bags else Distinct(both)
        case exp.Intersect():
            return Intersect(left, right) if bags else Intersect(Distinct(left), Distinct(right))
    return Minus(left, right) if bags else Minus(Distinct(left), Distinct(right))


def word_place(node: exp.SetOperation, text: str) -> Place | None:
    """Where UNION, INTERSECT or EXCEPT stands."""
    left = place_of(node.this, text)
    return find_word(node.key, text, left.end if left else 0)


def _alike(
    node: exp.SetOperation, left: Node, right: Node, skip: int, text: str
) -> tuple[Node, Node]:
    """Both sides with as many columns, of the same types."""
    if len(left.schema) != len(right.schema):
        first, second = (len(side.schema) - skip for side in (left, right))
        raise MillstreamError(
            f"{node.key.upper()} needs as many columns on both sides, and here are {first} and "
            f"{second}",
            place_of(node.expression, text),
            hint="Leave columns out, or add NULL for those that are missing.",
        )
    kinds = [
        _common(node, at - skip, left, right, mine, theirs, text)
        for at, (mine, theirs) in enumerate(zip(left.schema, right.schema))
    ]
    return _as_types(left, kinds), _as_types(right, kinds)


def _common(
    node: exp.SetOperation,
    at: int,
    left: Node,
    right: Node,
    mine: pa.Field,
    theirs: pa.Field,
    text: str,
) -> pa.DataType:
    if _is_null(right, theirs.name):
        return mine.type
    if _is_null(left, mine.name):
        return theirs.type
    kind = common_type(mine.type, theirs.type)
    if kind is None:
        raise MillstreamError(
            f'column "{mine.name}" of {node.key.upper()} is a {type_name(mine.type)} on the left '
            f"and a {type_name(theirs.type)} on the right",
            place_of(node.expression, text),
            detail=f"It is column {at + 1} of both select lists.",
            hint="CAST one of them, or put the columns in the same order.",
        )
    return kind


def _is_null(plan: Node, name: str) -> bool:
    """True for a column that is written NULL, and can be of any type."""
    value = dict(plan.outputs).get(name) if isinstance(plan, Project) else None
    return isinstance(value, Literal) and value.value is None


def _as_types(plan: Node, kinds: list[pa.DataType]) -> Node:
    if [f.type for f in plan.schema] == kinds:
        return plan
    outputs: list[tuple[str, Expression]] = []
    for field, kind in zip(plan.schema, kinds):
        null = _is_null(plan, field.name)
        value = Literal(None, kind) if null else coerce(Column(field.name, field.type), kind)
        outputs.append((field.name, value))
    return Project(tuple(outputs), plan)
