"""Scalar expressions: a typed tree over the columns of one input."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from millstream.algebra.types import BOOLEAN, type_name

INFIX = ("and", "or", "like", "div")
"""Functions with a name that are written between their arguments."""

WORDS = frozenset(
    (
        "and",
        "as",
        "case",
        "cast",
        "div",
        "else",
        "end",
        "false",
        "like",
        "null",
        "on",
        "or",
        "then",
        "true",
        "when",
    )
)


class Expression:
    """A value for every row."""

    type: pa.DataType

    @property
    def children(self) -> tuple[Expression, ...]:
        return ()


@dataclass(frozen=True)
class Column(Expression):
    """The column of that name."""

    name: str
    type: pa.DataType

    def __str__(self) -> str:
        return name_text(self.name)


@dataclass(frozen=True)
class Literal(Expression):
    """The same value for every row."""

    value: Any
    type: pa.DataType

    def __str__(self) -> str:
        return _literal_text(self.value, self.type)


@dataclass(frozen=True)
class Call(Expression):
    """A function of FUNCTIONS applied to arguments that already have the types it asks for."""

    function: str
    arguments: tuple[Expression, ...]
    type: pa.DataType

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.arguments

    def __str__(self) -> str:
        arguments = [str(a) for a in self.arguments]
        if (self.function in INFIX or not self.function[0].isalpha()) and len(arguments) == 2:
            return f"({arguments[0]} {self.function} {arguments[1]})"
        return f"{self.function}({', '.join(arguments)})"


@dataclass(frozen=True)
class Cast(Expression):
    """The argument read as another type; NULL where it cannot be."""

    argument: Expression
    type: pa.DataType

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.argument,)

    def __str__(self) -> str:
        return f"cast({self.argument} as {type_name(self.type)})"


@dataclass(frozen=True)
class Case(Expression):
    """The value beside the first condition that holds, or the default."""

    branches: tuple[tuple[Expression, Expression], ...]
    default: Expression
    type: pa.DataType

    @property
    def children(self) -> tuple[Expression, ...]:
        return (*(e for branch in self.branches for e in branch), self.default)

    def __str__(self) -> str:
        branches = " ".join(f"when {c} then {v}" for c, v in self.branches)
        return f"case {branches} else {self.default} end"


TRUE = Literal(True, BOOLEAN)


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and everything in it."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(node.children)


def columns_of(expression: Expression) -> frozenset[str]:
    """The names of the columns it reads."""
    return frozenset(e.name for e in walk(expression) if isinstance(e, Column))


def rewrite(
    expression: Expression, change: Callable[[Expression], Expression | None]
) -> Expression:
    """The expression with every part that `change` answers for replaced, from the top down."""
    changed = change(expression)
    if changed is not None:
        return changed
    match expression:
        case Call(arguments=arguments):
            return replace(expression, arguments=tuple(rewrite(a, change) for a in arguments))
        case Cast(argument=argument):
            return replace(expression, argument=rewrite(argument, change))
        case Case(branches=branches, default=default):
            return replace(
                expression,
                branches=tuple((rewrite(c, change), rewrite(v, change)) for c, v in branches),
                default=rewrite(default, change),
            )
    return expression


def conjuncts(condition: Expression) -> list[Expression]:
    """The conditions that a chain of ANDs puts together."""
    if isinstance(condition, Call) and condition.function == "and":
        return [c for a in condition.arguments for c in conjuncts(a)]
    return [condition]


def conjunction(conditions: list[Expression]) -> Expression:
    """All of the conditions as one; TRUE when there is none."""
    if not conditions:
        return TRUE
    result = conditions[0]
    for condition in conditions[1:]:
        result = Call("and", (result, condition), BOOLEAN)
    return result


def name_text(name: str) -> str:
    """A name as it stands in a plan text: in quotes when it could be taken for something else.

    >>> name_text("price"), name_text("count(*)")
    ('price', '"count(*)"')
    """
    simple = re.fullmatch(r"[^\W\d][\w.]*|#\w+", name) and name.lower() not in WORDS
    return name if simple else '"' + name.replace('"', '""') + '"'


def _literal_text(value: Any, kind: pa.DataType) -> str:
    match value:
        case None:
            return "NULL" if pa.types.is_null(kind) else f"{type_name(kind)} NULL"
        case bool():
            return "true" if value else "false"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case dt.datetime():
            return f"timestamp '{value.isoformat(sep=' ')}'"
        case dt.date():
            return f"date '{value.isoformat()}'"
        case dt.timedelta():
            seconds = f"{decimal.Decimal(value // dt.timedelta(microseconds=1)) / 1_000_000:f}"
            return f"interval '{seconds}' second"
        case decimal.Decimal():
            return f"{type_name(kind)} '{value}'"
        case float() if not math.isfinite(value):
            return f"double '{value}'"
    return repr(value)
