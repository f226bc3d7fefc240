"""Whether linear inequalities contradict each other, by Fourier and Motzkin's elimination."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

MANY = 300
"""So many inequalities are looked at; more are held to be possible."""

Number = int | Fraction
Factors = Mapping[int, Number]


@dataclass(frozen=True, eq=False)
class Linear:
    """A sum of variables, which are numbered, each so many times, and a constant."""

    factors: Factors
    constant: Number = 0

    def plus(self, other: Linear, times: Number = 1) -> Linear:
        sums = dict(self.factors)
        for variable, factor in other.factors.items():
            total = sums.get(variable, 0) + factor * times
            if total:
                sums[variable] = total
            else:
                del sums[variable]
        return Linear(sums, self.constant + other.constant * times)

    def minus(self, other: Linear) -> Linear:
        return self.plus(other, -1)

    def times(self, factor: Number) -> Linear:
        factors = {v: f * factor for v, f in self.factors.items()} if factor else {}
        return Linear(factors, self.constant * factor)


@dataclass(frozen=True, eq=False)
class AtMost:
    """`linear` ≤ 0, or < 0 if it is strict."""

    linear: Linear
    strict: bool = False


Whole = tuple[tuple[int, int], ...]
"""Factors without a common divisor, by variable."""

Known = dict[Whole, tuple[Number, bool]]


def contradict(facts: Iterable[AtMost], whole: Collection[int]) -> bool:
    """Whether no values of the variables meet all of the facts; False if that is not seen. Some
    variables stand for whole numbers.

    >>> x, y = Linear({0: 1}), Linear({1: 1})
    >>> contradict([AtMost(x.minus(y), strict=True), AtMost(y.minus(x))], ())
    True
    """
    known: Known = {}
    for fact in facts:
        if _add(known, fact.linear.factors, fact.linear.constant, fact.strict, whole):
            return True
    while known:
        variable = _cheapest(known)
        below: list[tuple[dict[int, int], Number, bool]] = []
        above: list[tuple[dict[int, int], Number, bool]] = []
        for key in [key for key in known if any(v == variable for v, _ in key)]:
            factors = dict(key)
            constant, strict = known.pop(key)
            (above if factors[variable] > 0 else below).append((factors, constant, strict))
        for upper, most, strictly in above:
            for lower, least, too in below:
                up, low = -lower[variable], upper[variable]
                sums = Linear(upper, most).times(up).plus(Linear(lower, least), low)
                if _add(known, sums.factors, sums.constant, strictly or too, whole):
                    return True
        if len(known) > MANY:
            return False
    return False


def _add(
    known: Known, factors: Factors, constant: Number, strict: bool, whole: Collection[int]
) -> bool:
    """Note a fact, of those with the same variables the sharpest; True if it cannot be."""
    if not factors:
        return constant > 0 or (constant == 0 and strict)
    times = lcm(*(f.denominator for f in factors.values()))
    size = gcd(*(int(f * times) for f in factors.values()))
    key = tuple(sorted((v, int(f * times) // size) for v, f in factors.items()))
    if size != times:
        constant = Fraction(constant * times, size)
    if all(variable in whole for variable in factors):
        constant, strict = _of_whole(constant, strict), False
    mine = (constant, strict)
    known[key] = max(known.get(key, mine), mine)
    return False


def _of_whole(constant: Number, strict: bool) -> int:
    """The constant beside whole numbers: their sum is whole, and so its bound is."""
    bound = -constant.__ceil__()
    return -(bound - 1) if strict and bound == -constant else -bound


def _cheapest(known: Iterable[Whole]) -> int:
    """The variable whose elimination makes the fewest inequalities."""
    above: dict[int, int] = {}
    below: dict[int, int] = {}
    for key in known:
        for variable, factor in key:
            side = above if factor > 0 else below
            side[variable] = side.get(variable, 0) + 1
    return min(above | below, key=lambda v: above.get(v, 0) * below.get(v, 0))
