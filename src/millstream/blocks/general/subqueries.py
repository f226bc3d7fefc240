"""Subqueries in expressions as closures: scalar, EXISTS, IN, ANY and ALL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.blocks.general.naming import labels, own_labels
from millstream.blocks.general.scalars import comparing
from millstream.blocks.general.scope import Code, Frame, Scope
from millstream.blocks.general.values import Row
from millstream.blocks.leaves import Among, Exists, Quantified, Scalar
from millstream.blocks.queries import Query

Rows = Callable[[Frame], Any]


def scalar(expression: Scalar, scope: Scope) -> Code:
    first = _kept(expression.query, scope.query(expression.query).first, scope)

    def run(f: Frame) -> Any:
        row = first(f)
        return None if row is None else row[0]

    return run


def exists(expression: Exists, scope: Scope) -> Code:
    first = _kept(expression.query, scope.query(expression.query).first, scope)
    return lambda f: first(f) is not None


def among(expression: Among, scope: Scope) -> Code:
    return _quantified(expression.value, "=", False, expression.query, scope)


def quantified(expression: Quantified, scope: Scope) -> Code:
    return _quantified(
        expression.value, expression.operator, expression.every, expression.query, scope
    )


def _quantified(value: Any, operator: str, every: bool, query: Query, scope: Scope) -> Code:
    """ANY is the OR of the comparisons, ALL their AND: of none it is false, or true."""
    compare = comparing(operator, value.type)
    code = scope.code(value)
    rows = _kept(query, scope.query(query).all, scope)
    decided = not every

    def run(f: Frame) -> bool | None:
        a = code(f)
        unknown = False
        for row in rows(f):
            holds = compare(a, row[0])
            if holds is None:
                unknown = True
            elif holds is decided:
                return decided
        return None if unknown else every

    return run


def _kept(query: Query, compute: Rows, scope: Scope) -> Rows:
    """An answer that does not depend on rows of the statement is computed once in it."""
    if labels(query) - own_labels(query) or scope.shape.library.writes(query):
        return compute
    slot = scope.keep()

    def run(f: Frame) -> list[Row] | Row | None:
        kept = f[slot]
        if kept is None:
            kept = f[slot] = (compute(f),)
        return kept[0]

    return run
