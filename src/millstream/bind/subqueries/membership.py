"""IN and NOT IN with a subquery, where they are conditions of their own."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from millstream.algebra.expressions import (
    TRUE,
    Call,
    Column,
    Expression,
    Literal,
    columns_of,
    conjunction,
)
from millstream.algebra.types import BOOLEAN
from millstream.bind.names.trees import is_query
from millstream.bind.subqueries.correlation import is_not_null
from millstream.bind.subqueries.relations import Keep, SubqueryRelation, Test
from millstream.operators import Distinct, Filter, Project, UnionAll

FALSE = Literal(False, BOOLEAN)


@dataclass(frozen=True)
class Rows:
    """The rows of a subquery beside a plan, what ties them to it, and their values."""

    relation: SubqueryRelation
    conditions: tuple[Expression, ...]
    values: tuple[Expression, ...]


def without_not(node: exp.Expr) -> tuple[exp.Expr, bool]:
    """A condition without the NOTs and parentheses around it, and whether it is negated."""
    negated = False
    while isinstance(node, (exp.Not, exp.Paren)):
        negated ^= isinstance(node, exp.Not)
        node = node.this
    return node, negated


def membership(node: exp.Expr) -> tuple[exp.Expr, exp.Expr, bool] | None:
    """(operand, subquery, whether it must not be in it) of IN, = ANY and <> ALL."""
    match node:
        case exp.In() if node.args.get("query") is not None:
            return node.this, node.args["query"], False
        case exp.EQ(expression=exp.Any()) if is_query(node.expression.this):
            return node.this, node.expression.this, False
        case exp.NEQ(expression=exp.All()) if is_query(node.expression.this):
            return node.this, node.expression.this, True
    return None


def not_in(pairs: list[tuple[Expression, Expression]], rows: Rows) -> list[Test]:
    """NOT IN: no row of the subquery may be equal, or unknown to be.

    Unknown is a NULL beside any row, and a value beside a NULL: of the subquery's rows it matters
    only that there are any (true) and that there is a NULL (false).
    """
    mixed = any(columns_of(y) - set(rows.relation.plan.schema.names) for _, y in pairs)
    if rows.conditions or rows.relation.links or mixed or len(pairs) > 1:
        unequal = [_maybe_equal(*pair) for pair in pairs]
        return [Keep(conjunction([*rows.conditions, *unequal]), rows.relation, anti=True)]
    (mine, theirs), plan, place = pairs[0], rows.relation.plan, rows.relation.place
    present = SubqueryRelation(Filter(is_not_null(theirs), plan), place=place)
    missing = Filter(Call("is_null", (theirs,), BOOLEAN), plan)
    unknown = UnionAll(Project((("#in0", TRUE),), plan), Project((("#in0", FALSE),), missing))
    is_null = Call("is_null", (mine,), BOOLEAN)
    makes_unknown = Call("=", (is_null, Column("#in0", BOOLEAN)), BOOLEAN)
    return [
        Keep(makes_unknown, SubqueryRelation(Distinct(unknown), place=place), anti=True),
        Keep(Call("=", (mine, theirs), BOOLEAN), present, anti=True),
    ]


def _maybe_equal(left: Expression, right: Expression) -> Expression:
    """True when equality is true or unknown."""
    equal = Call("=", (left, right), BOOLEAN)
    nulls = [Call("is_null", (side,), BOOLEAN) for side in (left, right)]
    return Call("or", (Call("or", (equal, nulls[0]), BOOLEAN), nulls[1]), BOOLEAN)
