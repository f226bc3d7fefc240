"""Values in conditions as sums of numbers, and what is true of them whatever they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pyarrow as pa

from millstream.algebra.expressions import Call, Cast, Column, Expression, Literal, walk
from millstream.algebra.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    STRING,
    TIMESTAMP,
    is_numeric,
)
from millstream.conditions.inequalities import AtMost, Linear, Number

ZERO = Linear({})
Lemma = list[list[AtMost]]
"""Ways in which values can lie, of which one is so."""

_WHOLE = (INTEGER, TIMESTAMP, INTERVAL, DATE, BOOLEAN)
_TIMES = (TIMESTAMP, INTERVAL)


class Terms:
    """Values that are no sums of others, by number; `whole` are those that are whole numbers."""

    def __init__(self) -> None:
        self.whole: set[int] = set()
        self._numbers: dict[Expression, int] = {}
        self._known: dict[int, tuple[Expression, int]] = {}
        self._sums: dict[int, tuple[Expression, Linear]] = {}

    def number(self, value: Expression) -> int:
        """Equal expressions have the same number."""
        known = self._known.get(id(value))
        if known is None:
            number = self._numbers.setdefault(value, len(self._numbers))
            if value.type in _WHOLE:
                self.whole.add(number)
            known = self._known[id(value)] = (value, number)  # the value stays, and so its id
        return known[1]

    def linear(self, value: Expression) -> Linear:
        """A comparable value as a sum. What is computed in doubles is rounded, and no sum."""
        known = self._sums.get(id(value))
        if known is None:
            known = self._sums[id(value)] = (value, self._linear(value))
        return known[1]

    def _linear(self, value: Expression) -> Linear:
        number = number_of(value)
        if number is not None:
            return Linear({}, number)
        match value:
            case Call(function="+" | "-" as op, arguments=(left, right)) if _are_exact(value):
                return self.linear(left).plus(self.linear(right), 1 if op == "+" else -1)
            case Call(function="neg", arguments=(inner,)):
                return self.linear(inner).times(-1)
            case Call(function="*", arguments=(left, right)) if _are_exact(value):
                for factor, inner in ((left, right), (right, left)):
                    times = number_of(factor)
                    if times is not None and factor.type not in _TIMES:
                        return self.linear(inner).times(times)
            case Cast(argument=inner, type=kind):
                into_decimal = inner.type == INTEGER and pa.types.is_decimal(kind)
                if kind == inner.type or into_decimal:
                    return self.linear(inner)
        return Linear({self.number(value): 1})


def _are_exact(value: Expression) -> bool:
    """Whether a value and what it is made of are whole numbers, times or decimals."""
    kinds = [value.type, *(child.type for child in value.children)]
    return all(k == INTEGER or k in _TIMES or pa.types.is_decimal(k) for k in kinds)


def number_of(value: Expression) -> Number | None:
    """A constant as a number; texts are none, and neither are infinite ones."""
    match value:
        case Cast(argument=Literal(value=int() | float() | Decimal() as inner), type=kind):
            return number_of(Literal(float(inner), DOUBLE)) if kind == DOUBLE else None
        case Literal(value=bool() as flag):
            return int(flag)
        case Literal(value=int() as number):
            return number
        case Literal(value=Decimal() as number):
            return Fraction(number)
        case Literal(value=float() as number) if abs(number) < float("inf"):
            return Fraction(number)
        case Literal(value=given, type=kind) if given is not None and kind in (*_TIMES, DATE):
            return int(pa.scalar(given, kind).value)
    return None


def scaled_of(value: Expression) -> tuple[Number, Expression] | None:
    """A value in doubles that is so many times another."""
    match value:
        case Call(function="*", arguments=(left, right), type=kind) if kind == DOUBLE:
            for factor, inner in ((left, right), (right, left)):
                times = number_of(factor)
                if times is not None:
                    return times, inner
        case Call(function="/", arguments=(inner, divisor), type=kind) if kind == DOUBLE:
            divided = number_of(divisor)
            if divided:
                return Fraction(1) / divided, inner
    return None


def _moved_of(value: Expression) -> tuple[Number, Expression] | None:
    """A value in doubles that is so much more than another."""
    match value:
        case Call(function="+", arguments=(left, right), type=kind) if kind == DOUBLE:
            for much, inner in ((left, right), (right, left)):
                number = number_of(much)
                if number is not None:
                    return number, inner
        case Call(function="-", arguments=(inner, much), type=kind) if kind == DOUBLE:
            number = number_of(much)
            if number is not None:
                return -number, inner
    return None


def about_values(terms: Terms, conditions: Iterable[Expression]) -> list[Lemma]:
    """What is true of values whatever they are: of texts, truth values, and what is rounded.

    Rounding keeps order: what is not less before it is not less afterwards.
    """
    parts = list(dict.fromkeys(part for condition in conditions for part in walk(condition)))
    always = _texts_in_order(terms, parts)
    for part in parts:
        if isinstance(part, Column) and part.type == BOOLEAN:
            always += _ordered([(0, ZERO), (1, terms.linear(part)), (2, Linear({}, 1))])
    for base, those in _by_base(terms, parts, _moved_of).items():
        always += _ordered([(0, terms.linear(base)), *those])
    out = [[always]] if always else []
    for base, those in _by_base(terms, parts, scaled_of).items():
        size = terms.linear(base)
        rising = _ordered([(0, ZERO), (1, size), *those])
        falling = [AtMost(fact.linear.times(-1)) for fact in rising]
        out.append([[AtMost(size.times(-1)), *rising], [AtMost(size, True), *falling]])
    return out + [_sign(terms, part) for part in parts if _keeps_sign(part)]


Scaled = list[tuple[Number, Linear]]


def _by_base(
    terms: Terms,
    parts: list[Expression],
    of: Callable[[Expression], tuple[Number, Expression] | None],
) -> dict[Expression, Scaled]:
    found: dict[Expression, Scaled] = {}
    for part in parts:
        made = of(part)
        if made is not None:
            found.setdefault(made[1], []).append((made[0], terms.linear(part)))
    return found


def _ordered(values: Scaled) -> list[AtMost]:
    """Values by what they are of a base, in that order."""
    in_order = sorted(values, key=lambda value: value[0])
    return [AtMost(low.minus(high)) for (_, low), (_, high) in pairwise(in_order)]


def _texts_in_order(terms: Terms, parts: list[Expression]) -> list[AtMost]:
    texts = [p for p in parts if isinstance(p, Literal) and p.type == STRING and p.value]
    in_order = map(terms.linear, sorted(texts, key=lambda text: text.value))
    return [AtMost(low.minus(high), True) for low, high in pairwise(in_order)]


def _keeps_sign(part: Expression) -> bool:
    """A difference of doubles, or an exact number as a double."""
    match part:
        case Call(function="-", arguments=(_, _), type=kind) if kind == DOUBLE:
            return _moved_of(part) is None
        case Cast(argument=inner, type=kind) if kind == DOUBLE and number_of(part) is None:
            return inner.type != DOUBLE and is_numeric(inner.type)
    return False


def _sign(terms: Terms, part: Expression) -> Lemma:
    """It is below, at or above zero just as the exact value is."""
    first, *others = map(terms.linear, part.children)
    exact = first.minus(others[0]) if others else first
    both = (terms.linear(part), exact)
    at = [AtMost(size) for size in both] + [AtMost(size.times(-1)) for size in both]
    below = [AtMost(size, True) for size in both]
    above = [AtMost(size.times(-1), True) for size in both]
    return [below, at, above]
