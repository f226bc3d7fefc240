"""Conditions on the clock as points: `Timepoint % 5 = 0 AND Timepoint > 100`, and the like."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, lcm

import numpy as np
import pyarrow as pa

from millstream.algebra.evaluate import holds
from millstream.algebra.expressions import Call, Case, Column, Expression, Literal
from millstream.algebra.points import FIRST, LAST, Points, TooMany, patterned
from millstream.algebra.remainders import Runs, runs_where
from millstream.algebra.types import BOOLEAN, TIMESTAMP

LONGEST = 1_209_600
"""A condition is tried at every tick of its period, if that is at most so many ticks: two weeks of
seconds."""

COMPARED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The comparisons, and what they are from the other side."""

PERIODS = {"second": 60, "minute": 3_600, "hour": 86_400, "dayofweek": 604_800}
"""After how many seconds a part of a time comes again."""

UNITS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
"""Units to which times are cut off, in seconds; months and longer ones are not alike."""


@dataclass(frozen=True)
class Shape:
    """How a value follows the clock: it grows with it, or it does not, and what is added to that
    comes again after `every` ticks. `shift` is what is always added to a value that is the clock
    itself but for that; None for any other. `edges` are ticks at which another pattern begins."""

    grows: bool
    every: int = 1
    shift: Fraction | None = None
    edges: frozenset[int] = frozenset()


def points_where(condition: Expression, column: str, tick: int) -> Points | None:
    """The ticks at which a condition on the column of the clock holds; None where it is not seen
    that this is arithmetic.

    >>> from millstream.algebra.types import INTEGER
    >>> two = Call("%", (Column("t", INTEGER), Literal(2, INTEGER)), INTEGER)
    >>> even = Call("=", (two, Literal(0, INTEGER)), BOOLEAN)
    >>> points_where(even, "t", 1) == Points.every(2, 0, 1)
    True
    """
    try:
        return _Clock(column, tick).points(condition)
    except TooMany:
        return None


@dataclass(frozen=True)
class _Clock:
    """Reads conditions on a column that holds the ticks of the clock."""

    column: str
    tick: int

    def points(self, condition: Expression) -> Points | None:
        match condition:
            case Call(function="and", arguments=(left, right)):
                a, b = self.points(left), self.points(right)
                return None if a is None or b is None else a & b
            case Call(function="or", arguments=(left, right)):
                a, b = self.points(left), self.points(right)
                return None if a is None or b is None else a | b
            case Call(function="not", arguments=(inner,)) if _is_joined(inner):
                return self.points(_negated(inner))
            case Call(function="not", arguments=(inner,)) if test := self._bound(inner, True):
                return test
            case Call() if (test := self._bound(condition, False)) is not None:
                return test
            case Call(function="=") if (found := self._remainder(condition)) is not None:
                return found
        return self._tried(condition)

    def _bound(self, test: Expression, negated: bool) -> Points | None:
        """A comparison of the clock itself with a constant."""
        if not isinstance(test, Call) or test.function not in COMPARED:
            return None
        function, (left, right) = test.function, test.arguments
        if isinstance(left, Literal):
            function, left, right = COMPARED[function], right, left
        shape, value = self.shape(left), _number(right)
        if shape is None or shape.shift is None or value is None:
            return None
        at = value / self._unit(left.type) - shape.shift
        there = {
            "=": (ceil(at), floor(at)),
            "<>": (ceil(at), floor(at)),
            "<": (FIRST, ceil(at) - 1),
            "<=": (FIRST, floor(at)),
            ">": (floor(at) + 1, LAST),
            ">=": (ceil(at), LAST),
        }[function]
        found = Points.between(*there, self.tick)
        return ~found if negated != (function == "<>") else found

    def _remainder(self, test: Call) -> Points | None:
        """`clock % n = k` for any n, however large."""
        match test.arguments:
            case (
                Call(function="%", arguments=(clock, Literal(value=int() as every))),
                Literal(value=int() as rest),
            ) if every and (shape := self.shape(clock)) and shape.shift == 0:
                every = abs(every)
                if abs(rest) >= every:
                    return Points.none(self.tick)
                found = Points.every(every, rest, self.tick)
                before = Points.between(FIRST, -1, self.tick)
                if rest == 0:
                    return found
                return found & before if rest < 0 else found - before
        return None

    def _tried(self, condition: Expression) -> Points | None:
        """A condition that comes again after some ticks, tried at each tick of one turn."""
        shape = self.shape(condition)
        if shape is None or shape.grows or shape.every > LONGEST:
            return None
        every, parts = shape.every, list[tuple[int, Runs, int, int]]()
        for first, after in pairwise(sorted({FIRST, *shape.edges, LAST + 1})):
            start = first if first > FIRST else (after - every if after <= LAST else 0)
            parts.append((every, self._runs(condition, start, every), first, after - 1))
        return patterned(parts, self.tick)

    def _runs(self, condition: Expression, start: int, every: int) -> Runs:
        ticks = np.arange(start, start + every, dtype=np.int64) * self.tick
        values = pa.array(ticks)
        if self.tick > 1:
            values = values.cast(TIMESTAMP)
        rows = pa.record_batch([values], names=[self.column])
        return runs_where(holds(condition, rows, every), start, every)

    def shape(self, value: Expression) -> Shape | None:
        """How a value follows the clock; None where that is not seen."""
        match value:
            case Column(name=name):
                return Shape(True, shift=Fraction(0)) if name == self.column else None
            case Literal():
                return Shape(False)
            case Case():
                return self._all_alike(value.children)
            case Call(function="%", arguments=(dividend, Literal(value=int() as every))) if every:
                return self._modulo(dividend, abs(every))
            case Call(function="+" | "-" | "unix_seconds" | "epoch"):
                return self._sum(value)
            case Call(function=part, arguments=(time,)) if part in PERIODS:
                return self._part(time, PERIODS[part])
            case Call(function="date_trunc", arguments=(Literal(value=unit), time)):
                return self._cut_off(time, UNITS.get(str(unit).lower().removesuffix("s")))
            case Call(function=name) if name in COMPARED or name == "distinct_from":
                return self._compared(value)
            case Call():
                return self._all_alike(value.arguments)
        return None

    def _all_alike(self, parts: tuple[Expression, ...]) -> Shape | None:
        """What follows from values that do not grow comes again when all of them do."""
        shapes = [self.shape(part) for part in parts]
        known = [s for s in shapes if s is not None and not s.grows]
        return _together(False, known) if len(known) == len(shapes) else None

    def _compared(self, test: Call) -> Shape | None:
        shapes = [self.shape(part) for part in test.arguments]
        known = [s for s in shapes if s is not None]
        alike = len(known) == len(shapes) and len({s.grows for s in known}) == 1
        same = len({part.type for part in test.arguments}) == 1
        return _together(False, known) if alike and same else None

    def _modulo(self, dividend: Expression, every: int) -> Shape | None:
        """A remainder has the sign of the dividend: where that is 0, another pattern begins."""
        shape = self.shape(dividend)
        if shape is None or not shape.grows:
            return shape
        if shape.shift is None or shape.shift.denominator != 1:
            return None
        return Shape(False, every, edges=frozenset((int(-shape.shift),)))

    def _part(self, time: Expression, every: int) -> Shape | None:
        shape = self.shape(time)
        if shape is None or not shape.grows:
            return shape
        return Shape(False, lcm(every, shape.every), edges=shape.edges) if self.tick > 1 else None

    def _cut_off(self, time: Expression, every: int | None) -> Shape | None:
        shape = self.shape(time)
        if shape is None or not shape.grows or self.tick == 1 or every is None:
            return shape if shape is None or not shape.grows else None
        return Shape(True, lcm(every, shape.every), edges=shape.edges)

    def _sum(self, value: Call) -> Shape | None:
        """The clock with something added to it; in seconds, if it is asked for these."""
        shapes = [self.shape(part) for part in value.arguments]
        known = [s for s in shapes if s is not None]
        if len(known) < len(shapes):
            return None
        match known:
            case [only]:
                return self._in_seconds(only, value)
            case [clock, other] if clock.grows and not other.grows:
                sign = 1 if value.function == "+" else -1
                return self._shifted(known, clock, value.arguments[1], sign)
            case [other, clock] if clock.grows and not other.grows and value.function == "+":
                return self._shifted(known, clock, value.arguments[0], 1)
            case [left, right] if left.grows == right.grows:
                return _together(False, known) if value.function == "-" or not left.grows else None
        return None

    def _in_seconds(self, shape: Shape, value: Call) -> Shape | None:
        """What `unix_seconds` and `epoch` make of the clock: whole seconds, or all of it."""
        if not shape.grows or shape.shift is None or value.function == "epoch":
            return shape if not shape.grows or self.tick > 1 else None
        return Shape(True, shift=Fraction(floor(shape.shift))) if self.tick > 1 else None

    def _shifted(self, known: list[Shape], clock: Shape, other: Expression, sign: int) -> Shape:
        number = _number(other)
        if clock.shift is None or number is None:
            return _together(True, known)
        return Shape(True, shift=clock.shift + sign * number / self._unit(other.type))

    def _unit(self, kind: pa.DataType) -> int:
        """How much of a value of that type one tick is."""
        return 1 if pa.types.is_integer(kind) or pa.types.is_floating(kind) else self.tick


def _together(grows: bool, shapes: list[Shape]) -> Shape:
    edges = frozenset[int]().union(*(s.edges for s in shapes))
    return Shape(grows, lcm(*(s.every for s in shapes)), edges=edges)


def _number(value: Expression) -> Fraction | None:
    """A constant as an exact number; a time as its microseconds."""
    match value:
        case Literal(value=bool()):
            return None
        case Literal(value=int() as number):
            return Fraction(number)
        case Literal(value=float() as number) if np.isfinite(number):
            return Fraction(number)
        case Literal(value=dt.datetime() as moment):
            return Fraction((moment - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1))
        case Literal(value=dt.timedelta() as length):
            return Fraction(length // dt.timedelta(microseconds=1))
        case Call(function="neg", arguments=(inner,)):
            number_inside = _number(inner)
            return None if number_inside is None else -number_inside
    return None


def _is_joined(condition: Expression) -> bool:
    return isinstance(condition, Call) and condition.function in ("and", "or", "not")


def _negated(condition: Expression) -> Expression:
    """NOT of a condition, as far inside as it goes."""
    assert isinstance(condition, Call)
    match condition.function:
        case "not":
            return condition.arguments[0]
        case "and" | "or":
            other = "or" if condition.function == "and" else "and"
            parts = tuple(_negation(part) for part in condition.arguments)
            return Call(other, parts, BOOLEAN)
    return Call("not", (condition,), BOOLEAN)


def _negation(condition: Expression) -> Expression:
    if _is_joined(condition):
        return _negated(condition)
    return Call("not", (condition,), BOOLEAN)
