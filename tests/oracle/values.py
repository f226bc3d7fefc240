"""Scalar expressions and aggregates on plain values, with SQL's NULL rules."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

from .spec import (
    EPOCH,
    Aggregate,
    AnyQuery,
    Between,
    Bin,
    Case,
    Coalesce,
    Col,
    Exists,
    Expr,
    Func,
    InList,
    InQuery,
    IsNull,
    Like,
    Lit,
    Not,
    Now,
    Quantified,
    Row,
    Scalar,
)


@dataclass(frozen=True)
class Env:
    """The values of names for one row, and how the rows of a subquery are found from there."""

    names: dict[str, object]
    rows_of: Callable[[AnyQuery, Env], list[Row]] | None = None
    outer: Env | None = None

    def value(self, name: str) -> object:
        if name in self.names or self.outer is None:
            return self.names[name]
        return self.outer.value(name)

    def column_of(self, query: AnyQuery) -> list:
        """The values of a subquery of one column."""
        return [row[0] for row in self.rows_of(query, self)]


NOW: ContextVar[object] = ContextVar("now")
"""The instant that is looked at, as a value of its time."""

COMPARE = {
    "=": lambda x, y: x == y,
    "<>": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}


def value_of(e: Expr, env: Env) -> object:
    """The value of an expression for one row; None is NULL and, for conditions, unknown."""

    def of(inner: Expr) -> object:
        return value_of(inner, env)

    match e:
        case Col(name, qualifier):
            return env.value(f"{qualifier}.{name}" if qualifier else name)
        case Lit(value):
            return value
        case Now():
            return NOW.get()
        case Bin("AND", left, right):
            return both(of(left), of(right))
        case Bin("OR", left, right):
            return either(of(left), of(right))
        case Bin(op, left, right):
            return binary(op, of(left), of(right))
        case Not(operand):
            return negation(of(operand))
        case IsNull(operand, negated):
            return (of(operand) is None) != negated
        case Between(operand, low, high):
            x = of(operand)
            return both(binary(">=", x, of(low)), binary("<=", x, of(high)))
        case InList(operand, items):
            found: object = False
            for item in items:
                found = either(found, binary("=", of(operand), of(item)))
            return found
        case Like(operand, pattern):
            text = of(operand)
            return None if text is None else like(text, pattern)
        case Case(whens, otherwise):
            for condition, value in whens:
                if of(condition) is True:
                    return of(value)
            return None if otherwise is None else of(otherwise)
        case Coalesce(operands):
            return next((v for v in map(of, operands) if v is not None), None)
        case Func(name, operand):
            x = of(operand)
            return None if x is None else FUNCTIONS[name](x)
        case Exists(query, negated):
            return bool(env.rows_of(query, env)) != negated
        case InQuery(operand, query, negated):
            found = quantified("=", of(operand), "ANY", env.column_of(query))
            return negation(found) if negated else found
        case Quantified(operand, op, quantifier, query):
            return quantified(op, of(operand), quantifier, env.column_of(query))
        case Scalar(query):
            found = env.column_of(query)
            if len(found) > 1:
                raise ValueError("a scalar subquery has several rows")
            return found[0] if found else None
    raise TypeError(e)


FUNCTIONS = {"upper": str.upper, "lower": str.lower, "length": len, "abs": abs}


def both(x: object, y: object) -> object:
    """Kleene's AND."""
    if x is False or y is False:
        return False
    return None if x is None or y is None else True


def either(x: object, y: object) -> object:
    """Kleene's OR."""
    if x is True or y is True:
        return True
    return None if x is None or y is None else False


def quantified(op: str, x: object, quantifier: str, values: list) -> object:
    """The comparison with all of the values, or with any: true, or false, of none."""
    result: object = quantifier == "ALL"
    for value in values:
        test = binary(op, x, value)
        result = both(result, test) if quantifier == "ALL" else either(result, test)
    return result


def negation(x: object) -> object:
    return None if x is None else not x


def binary(op: str, x, y) -> object:
    """Comparison and arithmetic: NULL in, NULL out; division is exact and by zero NULL."""
    if x is None or y is None:
        return None
    match op:
        case "+":
            return x + y
        case "-":
            return x - y
        case "*":
            return x * y
        case "/":
            return None if y == 0 else x / y
        case "%":
            return None if y == 0 else remainder(x, y)
    return COMPARE[op](x, y)


def remainder(x, y):
    """What is left of the division towards zero: it has the sign of the dividend."""
    if isinstance(x, datetime):  # its whole seconds
        x = (x - EPOCH) // timedelta(seconds=1)
    if isinstance(x, float) or isinstance(y, float):
        return math.fmod(x, y)
    rest = abs(x) % abs(y)
    return -rest if x < 0 else rest


def like(text: str, pattern: str) -> bool:
    """SQL's LIKE: % is any text, _ any one character."""
    parts = {"%": ".*", "_": "."}
    regex = "".join(parts.get(c, re.escape(c)) for c in pattern)
    return re.fullmatch(regex, text, re.DOTALL) is not None


def aggregate_value(aggregate: Aggregate, envs: list[Env]) -> object:
    """An aggregate over the rows of a group, given in the order of time."""
    if aggregate.argument is None:
        return len(envs)
    everything = [value_of(aggregate.argument, env) for env in envs]
    values = [value for value in everything if value is not None]
    match aggregate.function:
        case "count":
            return len(values)
        case "count_distinct":
            return len(set(values))
        case "first":
            return everything[0] if everything else None
        case "last":
            return everything[-1] if everything else None
        case "array_agg":
            return tuple(everything) if everything else None
        case "stddev" | "variance" if len(values) < 2:
            return None
    if not values:
        return None
    match aggregate.function:
        case "sum":
            return total(values)
        case "avg":
            return total(values) / len(values)
        case "min":
            return min(values)
        case "max":
            return max(values)
        case "variance":
            return float(variance(values))
        case "stddev":
            return math.sqrt(variance(values))
        case "median":
            return median(sorted(values))
        case "quantile":
            return quarter(sorted(values))
        case "string_agg":
            return ",".join(values)
    raise TypeError(aggregate)


def total(values: list):
    """The sum: exact for integers, the double nearest to the exact sum otherwise."""
    return sum(values) if all(isinstance(v, int) for v in values) else math.fsum(values)


def variance(values: list) -> Fraction:
    """The sample variance, in exact arithmetic."""
    exact = [Fraction(v) for v in values]
    mean = sum(exact) / len(exact)
    return sum((v - mean) ** 2 for v in exact) / (len(exact) - 1)


def quarter(ordered: list) -> float:
    """The value a quarter of the way, between two of them in proportion."""
    place, rest = divmod(len(ordered) - 1, 4)
    if rest == 0:
        return float(ordered[place])
    return ordered[place] + (ordered[place + 1] - ordered[place]) * rest / 4


def median(ordered: list) -> float:
    """The middle value, or the mean of the two in the middle."""
    half = len(ordered) // 2
    if len(ordered) % 2:
        return float(ordered[half])
    return (ordered[half - 1] + ordered[half]) / 2
