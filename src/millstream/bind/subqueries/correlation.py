"""Correlation: which columns of the query around it a subquery uses, and how they come into it.

A subquery that uses columns of the query around it is computed for all values of those columns at
once. Its *domain* are the different values they have there; its rows carry them along, and are
joined back by them. The domain is a Hole until the plan around is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from sqlglot import exp

from millstream.algebra.expressions import (
    Call,
    Column,
    Expression,
    columns_of,
    conjunction,
)
from millstream.algebra.node import Node, map_inputs
from millstream.algebra.types import BOOLEAN
from millstream.bind.names.scope import Scope
from millstream.bind.relations.predicate_windows import holding
from millstream.bind.relations.timed_joins import plain_and_timed
from millstream.operators import AntiJoin, Join, Project, UnionAll
from millstream.operators.project import handed_on


@dataclass(frozen=True, eq=False)
class Hole(Node):
    """The place in a plan where the domain of a subquery will stand."""

    columns: tuple[tuple[str, pa.DataType], ...]

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema(list(self.columns))

    @property
    def key(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(self.schema.names)


@dataclass(frozen=True)
class Around:
    """A query as the subqueries in it see it: its names, and what it uses itself from outside."""

    scope: Scope
    outer: Outer | None = None

    @property
    def depth(self) -> int:
        return self.outer.depth if self.outer is not None else 0

    def find(self, node: exp.Expr) -> Column | None:
        """The column of this query, or of one further out, that a name means, or what is said of
        the tuples of a sequence."""
        found = self.scope.reference(node)
        if found is None and isinstance(node, exp.Column):
            found = find_in(self.scope, node)
        if found is None and self.outer is not None:
            return self.outer.find(node)
        return found


@dataclass(frozen=True)
class Outer:
    """The columns of the query around that a subquery uses, each under its name in the subquery."""

    around: Around
    used: tuple[Column, ...]

    @property
    def depth(self) -> int:
        return self.around.depth + 1

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(f"#outer{self.depth}_{i}", c.type) for i, c in enumerate(self.used))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @cached_property
    def hole(self) -> Hole:
        return Hole(tuple((c.name, c.type) for c in self.columns))

    @property
    def links(self) -> tuple[tuple[str, Expression], ...]:
        """(name in the subquery, expression around)."""
        return tuple(zip(self.names, self.used))

    @property
    def outputs(self) -> list[tuple[str, Expression]]:
        """The columns as outputs of a projection that keeps them."""
        return [(column.name, column) for column in self.columns]

    def find(self, node: exp.Expr) -> Column | None:
        there = self.around.find(node)
        if there is None or there not in self.used:
            return None
        return self.columns[self.used.index(there)]

    def mentioned(self, expression: Expression) -> bool:
        return bool(columns_of(expression) & set(self.names))


def find_in(scope: Scope, node: exp.Column) -> Column | None:
    """The column that a name means in a scope; None when it has to be looked for further out."""
    if node.table and scope.member(node.table) is None:
        return None
    return scope.find(node.name, node.table or None)


def correlated(plan: Node, conditions: list[Expression], outer: Outer) -> Node:
    """The rows that meet the conditions, each with the columns of its domain.

    When every column of the domain is equal to something of the rows themselves, that is taken for
    it; otherwise the rows are joined with the domain.
    """
    equal = {c.name: _equal_to(c, conditions, outer) for c in outer.columns}
    inner = [c for c in conditions if not outer.mentioned(c)]
    mixed = [c for c in conditions if outer.mentioned(c)]
    if all(found is not None for found in equal.values()):
        given = [(name, found[1]) for name, found in equal.items() if found is not None]
        done = [found[0] for found in equal.values() if found is not None]
        inner += [is_not_null(value) for _, value in given]
        plan = Project((*given, *handed_on(plan.schema)), holding(inner, plan))
        return holding([c for c in mixed if c not in done], plan)
    plain, timed = plain_and_timed(mixed)
    return holding(timed, Join(conjunction(plain), holding(inner, plan), outer.hole))


def _equal_to(
    column: Column, conditions: list[Expression], outer: Outer
) -> tuple[Expression, Expression] | None:
    """A condition `inner expression = column`, and the inner expression."""
    for condition in conditions:
        match condition:
            case Call(function="=", arguments=(left, right)):
                for mine, other in ((left, right), (right, left)):
                    if mine == column and not outer.mentioned(other):
                        return condition, other
    return None


def is_not_null(value: Expression) -> Expression:
    return Call("not", (Call("is_null", (value,), BOOLEAN),), BOOLEAN)


def equal(left: Expression, right: Expression) -> Expression:
    return Call("=", (left, right), BOOLEAN)


def same(left: Expression, right: Expression) -> Expression:
    """Equality that holds between NULLs as well."""
    return Call("not", (Call("distinct_from", (left, right), BOOLEAN),), BOOLEAN)


def completed(plan: Node, domain: Node, defaults: Sequence[Expression]) -> Node:
    """The plan, and a row with the defaults for every row of the domain it has none for.

    The first columns of the plan are those of the domain.
    """
    names = domain.schema.names
    there = Project(
        tuple((f"#in{i}", Column(n, domain.schema.field(n).type)) for i, n in enumerate(names)),
        plan,
    )
    condition = conjunction(
        [
            same(Column(f.name, f.type), Column(f"#in{i}", f.type))
            for i, f in enumerate(domain.schema)
        ]
    )
    missing = AntiJoin(condition, domain, there)
    rest = [(f.name, d) for f, d in zip(list(plan.schema)[len(names) :], defaults)]
    return UnionAll(plan, Project((*handed_on(domain.schema), *rest), missing))


def fill(plan: Node, hole: Hole, domain: Node) -> Node:
    """The plan with the domain in the place of the hole."""
    done: dict[int, Node] = {}

    def visit(node: Node) -> Node:
        if isinstance(node, Hole):
            return domain if node.columns == hole.columns else node
        if id(node) not in done:
            done[id(node)] = map_inputs(node, visit)
        return done[id(node)]

    return visit(plan)
