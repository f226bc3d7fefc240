"""How scalar functions compute where Arrow's kernels do not do as they stand.

Law: a value that cannot be (an overflow, a root of -1, a day 0) is NULL; a kernel that stumbles
over some rows raises `ArrowInvalid`, and `piecewise` finds those rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.spellings import rounded
from millstream.algebra.types import BOOLEAN, DATE, DOUBLE, INTEGER, INTERVAL, TIMESTAMP
from millstream.columns.keys import MOVED, hashes_of, same_values

_EXACT = 2.0**53
_LARGEST = 2.0**63
_DIGITS = Context(prec=100)
_MILLION = pa.scalar(Decimal(1_000_000), pa.decimal128(7, 0))


def piecewise(compute: Callable[..., Any], values: Sequence[pa.Array]) -> pa.Array:
    """The result of a kernel row for row, NULL for the rows it stumbles over.

    Cost: twice the logarithm of the rows for each of those, so a batch with a few is no burden.
    """
    parts: list[pa.Array] = []
    stack = [(0, len(values[0]))]
    while stack:
        start, stop = stack.pop()
        try:
            parts.append(whole_array(compute(*(v.slice(start, stop - start) for v in values))))
        except pa.ArrowInvalid:
            if stop - start == 1:
                parts.append(pa.nulls(1))
            else:
                middle = (start + stop) // 2
                stack += [(middle, stop), (start, middle)]
    kind = next((p.type for p in parts if not pa.types.is_null(p.type)), pa.null())
    return pa.concat_arrays([p if p.type == kind else pa.nulls(len(p), kind) for p in parts])


def whole_array(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def by_value(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that takes its first argument as a column and the others as single values.

    It is called once for every combination of the others; where one of them is NULL, so is the
    result.
    """

    def compute(values: pa.Array, *others: pa.Array) -> pa.Array:
        if all(len(pc.unique(other)) <= 1 for other in others):
            given = [other[0].as_py() if len(other) else None for other in others]
            return pa.nulls(len(values)) if None in given else kernel(values, *given)
        rows: dict[tuple[Any, ...], list[int]] = {}
        for row, given_here in enumerate(zip(*(other.to_pylist() for other in others))):
            rows.setdefault(given_here, []).append(row)
        parts = [
            pa.nulls(len(at)) if None in given else whole_array(kernel(values.take(at), *given))
            for given, at in ((g, pa.array(r)) for g, r in rows.items())
        ]
        kind = next((p.type for p in parts if not pa.types.is_null(p.type)), pa.null())
        joined = pa.concat_arrays([p.cast(kind) for p in parts])
        return joined.take(pa.array(np.argsort(np.concatenate(list(rows.values())), kind="stable")))

    return compute


def mapped(function: Callable[..., Any], kind: pa.DataType) -> Callable[..., pa.Array]:
    """A Python function of single values as a kernel; NULL in, NULL out."""

    def compute(*columns: pa.Array) -> pa.Array:
        rows = zip(*(c.to_pylist() for c in columns))
        return pa.array([None if None in row else function(*row) for row in rows], kind)

    return compute


def add(left: pa.Array, right: pa.Array) -> pa.Array:
    return _wide(pc.add_checked, left, right)


def subtract(left: pa.Array, right: pa.Array) -> pa.Array:
    return _wide(pc.subtract_checked, left, right)


def multiply(left: pa.Array, right: pa.Array) -> pa.Array:
    if INTERVAL in (left.type, right.type):
        return pc.multiply_checked(left.cast(INTEGER), right.cast(INTEGER)).cast(INTERVAL)
    return pc.multiply_checked(left, right)


def hashed(values: pa.Array, *seed: pa.Array) -> pa.Array:
    """A number of 31 bits that equal values share, in every run; NULL for NULL.

    The seed moves by a constant, so that 0 under seed 0 is mixed like any other value.
    """
    seeds = seed[0] if seed else pa.repeat(pa.scalar(0), len(values))
    moved = pa.array(seeds.fill_null(0).to_numpy(zero_copy_only=False) + MOVED)
    mixed = hashes_of([values, moved], len(values)).view(np.uint64) >> np.uint64(33)
    unknown = pc.or_(pc.is_null(values), pc.is_null(seeds))
    return pc.if_else(unknown, pa.scalar(None, INTEGER), pa.array(mixed).cast(INTEGER))


def _wide(compute: Callable[..., Any], left: pa.Array, right: pa.Array) -> pa.Array:
    """Decimals of 38 digits need one more in between."""
    if pa.types.is_decimal(left.type) and left.type.precision == 38:
        wide = pa.decimal256(38, left.type.scale)
        return compute(left.cast(wide), right.cast(wide)).cast(left.type)
    return compute(left, right)


def exact_division(left: pa.Array, right: pa.Array) -> pa.Array:
    return pc.divide(left, _not_zero(right))


def whole_division(left: pa.Array, right: pa.Array) -> pa.Array:
    if left.type == INTEGER:
        return pc.divide_checked(left, _not_zero(right))
    return whole(pc.trunc)(pc.divide(left.cast(DOUBLE), _not_zero(right.cast(DOUBLE))))


def modulo(left: pa.Array, right: pa.Array) -> pa.Array:
    """The remainder with the sign of the dividend; NULL for a zero divisor. A time counts as its
    whole seconds."""
    if left.type == TIMESTAMP:
        left = since_epoch("second", 1_000_000)(left)
    divisor = _not_zero(right)
    if pa.types.is_decimal(left.type):
        return mapped(_DIGITS.remainder, left.type)(left, divisor)
    if left.type == INTEGER:
        lone = pc.equal(divisor, -1)
        quotient = pc.divide(left, pc.if_else(lone, 1, divisor))
        rest = pc.subtract(left, pc.multiply(quotient, divisor))
        return pc.if_else(lone, pc.multiply(left, 0), rest)
    a, b = (x.to_numpy(zero_copy_only=False) for x in (left, divisor))
    with np.errstate(all="ignore"):
        values = np.fmod(a, b)
    unknown = pc.or_(pc.is_null(left), pc.is_null(divisor))
    return pc.if_else(unknown, pa.scalar(None, DOUBLE), pa.array(values, DOUBLE))


def _not_zero(values: pa.Array) -> pa.Array:
    zero = pa.scalar(0).cast(values.type)
    return pc.if_else(pc.equal(values, zero), pa.scalar(None, values.type), values)


def round_half_up(values: pa.Array, digits: int = 0) -> pa.Array:
    """Rounded half away from zero to `digits` after the point, or before it when negative."""
    if values.type == INTEGER:
        if digits >= 0:
            return values
        if digits < -18:
            return pc.if_else(pc.is_null(values), values, 0)
    if values.type == DOUBLE and digits >= 0:
        return _round_near(values, digits)
    scale = values.type.scale if pa.types.is_decimal(values.type) else 0
    places = max(-308, min(digits, scale))
    rounded = pc.round(_widened(values), ndigits=places, round_mode="half_towards_infinity")
    return rounded.cast(values.type)


def _widened(values: pa.Array) -> pa.Array:
    """Decimals with room for a carry into another digit."""
    if not pa.types.is_decimal(values.type):
        return values
    return values.cast(pa.decimal128(38, values.type.scale))


def _round_near(values: pa.Array, digits: int) -> pa.Array:
    """Doubles of 2^53 and more have no digits after the point."""
    if digits > 15:
        return values
    near = pc.less(pc.abs(values), _EXACT)
    rounded = pc.round(
        pc.if_else(near, values, 0.0), ndigits=digits, round_mode="half_towards_infinity"
    )
    return pc.if_else(near, rounded, values)


def whole(compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A rounding to a bigint; NULL where none is that large."""

    def rounded(values: pa.Array) -> pa.Array:
        if values.type == INTEGER:
            return values
        if pa.types.is_decimal(values.type):
            widened = compute(_widened(values))
            return widened.cast(pa.decimal128(38, 0), safe=False).cast(INTEGER)
        values = compute(values)
        inside = pc.and_(pc.greater_equal(values, -_LARGEST), pc.less(values, _LARGEST))
        return pc.if_else(inside, values, pa.scalar(None, DOUBLE)).cast(INTEGER, safe=False)

    return rounded


def inside(compute: Callable[[Any], Any], low: float, high: float = np.inf) -> Callable[[Any], Any]:
    """NULL outside of the numbers for which the function is defined."""

    def bounded(values: pa.Array) -> pa.Array:
        known = pc.and_(pc.greater_equal(values, low), pc.less_equal(values, high))
        return compute(pc.if_else(known, values, pa.scalar(None, DOUBLE)))

    return bounded


def power(base: pa.Array, exponent: pa.Array) -> pa.Array:
    """NULL for what is not a number, such as the root of -1."""
    values = pc.power(base, exponent)
    odd = pc.and_not(pc.is_nan(values), pc.or_(pc.is_nan(base), pc.is_nan(exponent)))
    return pc.if_else(odd, pa.scalar(None, DOUBLE), values)


def equal(left: pa.Array, right: pa.Array) -> pa.Array:
    """Equality; arrays are equal when their elements are one by one, NULL and NULL too."""
    if not pa.types.is_list(left.type):
        return pc.equal(left, right)
    known = pc.and_(pc.is_valid(left), pc.is_valid(right))
    same = pa.array(same_values(whole_array(left), whole_array(right)))
    return pc.if_else(known, same, pa.scalar(None, BOOLEAN))


def not_equal(left: pa.Array, right: pa.Array) -> pa.Array:
    if not pa.types.is_list(left.type):
        return pc.not_equal(left, right)
    return pc.invert(equal(left, right))


def largest(*values: pa.Array) -> pa.Array:
    return _element_wise(pc.max_element_wise, values)


def smallest(*values: pa.Array) -> pa.Array:
    return _element_wise(pc.min_element_wise, values)


def _element_wise(compute: Callable[..., Any], values: Sequence[pa.Array]) -> pa.Array:
    if values[0].type == BOOLEAN:
        return compute(*(v.cast(pa.int8()) for v in values)).cast(BOOLEAN)
    return values[0] if pa.types.is_null(values[0].type) else compute(*values)


def nullif(left: pa.Array, right: pa.Array) -> pa.Array:
    if pa.types.is_null(left.type):
        return left
    same = pc.fill_null(equal(left, right), False)
    return pc.if_else(same, pa.scalar(None, left.type), left)


def distinct_from(left: pa.Array, right: pa.Array) -> pa.Array:
    """True when two values differ, NULL being a value like others."""
    differ = pc.fill_null(not_equal(left, right), True)
    return pc.and_not(differ, pc.and_(pc.is_null(left), pc.is_null(right)))


def truncate_time(values: pa.Array, unit: str) -> pa.Array:
    return pc.floor_temporal(values, unit=unit.lower().removesuffix("s"))


def time_part(compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda values: compute(values).cast(INTEGER)


def millisecond(values: pa.Array) -> pa.Array:
    return pc.divide(microsecond(values), 1000)


def microsecond(values: pa.Array) -> pa.Array:
    """Microseconds of the minute, seconds included, as in PostgreSQL."""
    fraction = pc.add(pc.multiply(pc.millisecond(values), 1000), pc.microsecond(values))
    return pc.add(pc.multiply(pc.second(values), 1_000_000), fraction)


def epoch(values: pa.Array) -> pa.Array:
    return pc.divide(values.cast(INTEGER).cast(DOUBLE, safe=False), 1e6)


def from_epoch(seconds: pa.Array) -> pa.Array:
    """Seconds as instants: whole ones and decimals exactly, doubles to the nearest microsecond."""
    if seconds.type == INTEGER:
        return pc.multiply_checked(seconds, 1_000_000).cast(TIMESTAMP)
    if pa.types.is_decimal(seconds.type):
        micros = pc.multiply(rounded(seconds, pa.decimal128(24, 6)), _MILLION)
        return micros.cast(INTEGER).cast(TIMESTAMP)
    return whole(pc.round)(pc.multiply(seconds, 1e6)).cast(TIMESTAMP)


def from_millis(millis: pa.Array) -> pa.Array:
    return pc.multiply_checked(millis, 1000).cast(TIMESTAMP)


def since_epoch(unit: str, micros: int) -> Callable[[Any], Any]:
    """Whole units since 1970-01-01, rounded down before it too."""
    return lambda values: pc.divide(pc.floor_temporal(values, unit=unit).cast(INTEGER), micros)


def to_utc(local: pa.Array, zone: str) -> pa.Array:
    """Local times of a zone as UTC.

    Where clocks go back, of a time that is there twice the first is meant. Where they go forward,
    a time that is not there is as long after the change as if clocks had been left alone.
    """
    near = pc.assume_timezone(local, zone, ambiguous="earliest", nonexistent="earliest")
    ahead = pc.subtract(pc.local_timestamp(near), near.cast(TIMESTAMP))
    instants = pc.subtract(local, ahead)
    return pc.if_else(pc.equal(pc.local_timestamp(near), local), near.cast(TIMESTAMP), instants)


def from_utc(instants: pa.Array, zone: str) -> pa.Array:
    """Instants in UTC as local times of a zone."""
    return pc.local_timestamp(instants.cast(pa.timestamp("us", zone)))


def last_day(values: pa.Array) -> pa.Array:
    """The last day of the month."""
    months = pc.add(pc.multiply(pc.subtract(pc.year(values), 1970), 12), pc.month(values))
    first = months.cast(INTEGER).to_numpy(zero_copy_only=False).astype("float64")
    known = np.where(np.isnan(first), 0, first).astype("datetime64[M]").astype("datetime64[D]")
    days = pa.array(known.astype("int64") - 1).cast(pa.int32(), safe=False).cast(DATE)
    return pc.if_else(pc.is_null(values), pa.scalar(None, DATE), days)


def add_days(day: pa.Array, count: pa.Array) -> pa.Array:
    days = pc.add_checked(day.cast(pa.int32()).cast(INTEGER), count)
    return days.cast(pa.int32()).cast(DATE)


def days_between(later: pa.Array, earlier: pa.Array) -> pa.Array:
    return pc.subtract(*(d.cast(pa.int32()).cast(INTEGER) for d in (later, earlier)))
