"""Constant folding: what is the same for every row is computed once."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pyarrow as pa

from millstream.algebra.evaluate import evaluate
from millstream.algebra.expressions import Call, Case, Cast, Expression, Literal
from millstream.algebra.node import Node
from millstream.algebra.types import BOOLEAN

ONE_ROW = pa.RecordBatch.from_arrays([], names=[])
TRUE, FALSE = Literal(True, BOOLEAN), Literal(False, BOOLEAN)


def fold_constants(node: Node) -> Node | None:
    """Replace expressions without columns by their value, and simplify AND, OR, NOT and CASE.

        Filter price > 10 * 10 and true              Filter price > 100
          S                                   →        S

    Sound because functions depend on their arguments only, and the value comes from the function
    itself. With three values, x AND true and x OR false are x, x AND false is false and x OR true
    is true, also when x is unknown; nothing else is assumed.
    """
    changes: dict[str, Any] = {}
    for field in fields(node):
        match value := getattr(node, field.name):
            case Expression():
                folded: object = _folded(value)
            case ((str(), Expression()), *_):
                folded = tuple((name, _folded(e)) for name, e in value)
            case _:
                continue
        if folded != value:
            changes[field.name] = folded
    return replace(node, **changes) if changes else None


def _folded(expression: Expression) -> Expression:
    match expression:
        case Call(arguments=arguments):
            expression = replace(expression, arguments=tuple(_folded(a) for a in arguments))
        case Cast(argument=argument):
            expression = replace(expression, argument=_folded(argument))
        case Case(branches=branches, default=default):
            parts = tuple((_folded(c), _folded(v)) for c, v in branches)
            expression = replace(expression, branches=parts, default=_folded(default))
        case _:
            return expression
    if all(isinstance(child, Literal) for child in expression.children):
        return _value(expression)
    return _simplified(expression)


def _value(expression: Expression) -> Expression:
    """The constant an expression comes to; itself when it cannot be written as one."""
    if pa.types.is_nested(expression.type) or pa.types.is_null(expression.type):
        return expression
    try:
        return Literal(evaluate(expression, ONE_ROW, 1)[0].as_py(), expression.type)
    except (OverflowError, ValueError, pa.ArrowException):  # a time outside of the years 1 to 9999
        return expression


def _simplified(expression: Expression) -> Expression:
    match expression:
        case Call(function="and", arguments=arguments):
            return _without(expression, arguments, TRUE, FALSE)
        case Call(function="or", arguments=arguments):
            return _without(expression, arguments, FALSE, TRUE)
        case Call(function="not", arguments=(Call(function="not", arguments=(inner,)),)):
            return inner
        case Case():
            return _shortened(expression)
    return expression


def _without(
    whole: Expression, arguments: tuple[Expression, ...], idle: Literal, decides: Literal
) -> Expression:
    """AND or OR without the argument that does nothing, or the one that decides."""
    if decides in arguments:
        return decides
    rest = [a for a in arguments if a != idle]
    return rest[0] if len(rest) == 1 else whole


def _shortened(case: Case) -> Expression:
    """CASE without conditions that never hold, ending at the first one that always does."""
    branches: list[tuple[Expression, Expression]] = []
    default = case.default
    for condition, value in case.branches:
        if condition == TRUE:
            default = value
            break
        if not isinstance(condition, Literal):
            branches.append((condition, value))
    if not branches and default.type == case.type:
        return default
    if not branches or len(branches) == len(case.branches):
        return case
    return replace(case, branches=tuple(branches), default=default)
