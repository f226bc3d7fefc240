"""Now in conditions: comparisons of the instant with a value of the row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.algebra.evaluate import evaluate
from millstream.algebra.expressions import Call, Column, Expression, columns_of, conjuncts
from millstream.algebra.functions import FUNCTIONS
from millstream.algebra.time import DAWN, INFINITY, Domain
from millstream.algebra.types import INTEGER, INTERVAL, TIMESTAMP

NOW = "#now"
"""The column that stands for the instant at which a condition is looked at."""

MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The comparisons that bound an instant, and what they are from the other side."""


def now_of(domain: Domain | None) -> Column:
    """`Now` as a value of the time domain."""
    return Column(NOW, TIMESTAMP if domain is Domain.TIMESTAMP else INTEGER)


def reads_now(value: Expression) -> bool:
    return NOW in columns_of(value)


@dataclass(frozen=True)
class Bound:
    """`Now` is at or after `at` + `plus`, if it is the first instant, or else before that."""

    first: bool
    at: Expression
    plus: int

    def instants(self, rows: pa.RecordBatch, length: int) -> np.ndarray:
        """The bound of every row. Where it is unknown, no instant is within it."""
        found = instants_of(self.at, rows, length)
        known = np.where(found < INFINITY - self.plus, found + self.plus, INFINITY)
        missing = evaluate(self.at, rows, length).is_null().to_numpy(zero_copy_only=False)
        return np.where(missing, INFINITY if self.first else DAWN, known)


def instants_of(at: Expression, rows: pa.RecordBatch, length: int) -> np.ndarray:
    """A value of every row as an instant; anything where it is NULL."""
    return evaluate(at, rows, length).cast(INTEGER).fill_null(0).to_numpy()


def bounds_of(condition: Expression) -> tuple[Bound, ...] | None:
    """The condition as bounds, all of which hold when it is true; None if it is none.

    >>> from millstream.algebra.expressions import Literal
    >>> from millstream.algebra.types import BOOLEAN
    >>> ts, five = Column("ts", INTEGER), Literal(5, INTEGER)
    >>> ago = Call("-", (Column(NOW, INTEGER), five), INTEGER)
    >>> [(b.first, str(b.at)) for b in bounds_of(Call("<", (ago, ts), BOOLEAN))]
    [(False, '(ts + 5)')]
    """
    found = [_bounds(part) for part in conjuncts(condition)]
    return None if None in found else tuple(b for part in found if part for b in part)


def compared_with_now(test: Expression) -> tuple[str, Expression] | None:
    """(comparison, value) of `Now` with a value of the row that is a time of its own kind."""
    match test:
        case Call(function=sign, arguments=(left, right)) if sign in MIRRORED or sign == "<>":
            if reads_now(right):
                sign, left, right = MIRRORED.get(sign, sign), right, left
            return None if reads_now(right) else _alone(left, sign, right)
    return None


def _bounds(test: Expression) -> tuple[Bound, ...] | None:
    found = compared_with_now(test)
    if found is None:
        return None
    sign, at = found
    after, before = Bound(True, at, 0), Bound(False, at, 1)
    return {
        "=": (after, before),
        "<": (Bound(False, at, 0),),
        "<=": (before,),
        ">": (Bound(True, at, 1),),
        ">=": (after,),
    }.get(sign)


def _alone(value: Expression, sign: str, other: Expression) -> tuple[str, Expression] | None:
    """A comparison of a value that reads Now, solved for Now: exact sums of times only."""
    mirrored = MIRRORED.get(sign, sign)
    match value:
        case Column(name=name, type=kind) if name == NOW:
            return (sign, other) if other.type == kind else None
        case Call(function="+", arguments=(left, right)):
            if reads_now(left) and reads_now(right):
                return None
            mine, rest = (left, right) if reads_now(left) else (right, left)
            solved = _sum("-", other, rest)
            return None if solved is None else _alone(mine, sign, solved)
        case Call(function="-", arguments=(left, right)) if not reads_now(right):
            solved = _sum("+", other, right) if other.type != INTERVAL else _sum("+", right, other)
            return None if solved is None else _alone(left, sign, solved)
        case Call(function="-", arguments=(left, right)) if not reads_now(left):
            solved = _sum("-", left, other)
            return None if solved is None else _alone(right, mirrored, solved)
        case Call(function="neg", arguments=(inner,)):
            return _alone(inner, mirrored, Call("neg", (other,), other.type))
    return None


def _sum(sign: str, left: Expression, right: Expression) -> Expression | None:
    """An exact sum of times; None where there is none."""
    kinds = left.type, right.type
    if any(kind not in (INTEGER, INTERVAL, TIMESTAMP) for kind in kinds):
        return None
    signature = FUNCTIONS[sign].sign(kinds)
    if signature is None or signature[0] != kinds:
        return None
    return Call(sign, (left, right), signature[1])


def earliest(ends: Iterable[np.ndarray], length: int) -> np.ndarray:
    """The first of several ends of every row."""
    found = np.full(length, INFINITY, np.int64)
    for end in ends:
        found = np.minimum(found, end)
    return found


def latest(starts: Iterable[np.ndarray], length: int) -> np.ndarray:
    """The last of several starts of every row."""
    found = np.full(length, DAWN, np.int64)
    for start in starts:
        found = np.maximum(found, start)
    return found
