"""Typed values as declared types: against Arrow, DuckDB and exact arithmetic."""

from __future__ import annotations

import datetime as dt
import math
import random
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from millstream.connect.casting import fits_always, from_values

NAN, INF = float("nan"), float("inf")
GIVEN = {
    "boolean": pa.array([True, False, None]),
    "int8": pa.array([-128, 127, None], pa.int8()),
    "uint8": pa.array([0, 255], pa.uint8()),
    "int32": pa.array([-(2**31), 2**31 - 1], pa.int32()),
    "int64": pa.array([-(2**63), 2**63 - 1, 2**53 + 1, 0, None]),
    "uint64": pa.array([0, 2**63, 2**64 - 1, 2**53 + 1], pa.uint64()),
    "float": pa.array([0.35, 1e38, NAN, -0.0, 2.0, None], pa.float32()),
    "double": pa.array([0.35, 1e300, NAN, INF, -0.0, 2.0, 2.0**63, 1.005, 37.625, 5e-324]),
    "decimal": pa.array([Decimal("0.35"), Decimal("-99.99"), None], pa.decimal128(6, 2)),
    "long decimal": pa.array(
        [Decimal("1234567890123456789012345678.0123456789"), Decimal("-1E-10"), Decimal(2**63)],
        pa.decimal128(38, 10),
    ),
    "string": pa.array(["1", "0.35", "2024-05-01", "true", "x", None]),
    "large string": pa.array(["1", "x"], pa.large_string()),
    "dictionary": pa.array(["1", "x", None]).dictionary_encode(),
    "date": pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    "date64": pa.array([dt.date(2024, 5, 1)], pa.date64()),
    "seconds": pa.array([0, -1, 253402300799], pa.timestamp("s")),
    "millis": pa.array([1, -1, None], pa.timestamp("ms")),
    "micros": pa.array([1, -1, 86_400_000_000], pa.timestamp("us")),
    "nanos": pa.array([1000, 86_400_000_000_000], pa.timestamp("ns")),
    "zoned": pa.array([1_730_615_400_000_000], pa.timestamp("us", "America/New_York")),
    "duration": pa.array([1, -1], pa.duration("s")),
    "null": pa.nulls(2),
}
DECLARED = {
    "bigint": pa.int64(),
    "double": pa.float64(),
    "varchar": pa.string(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us"),
    "date": pa.date32(),
    "interval": pa.duration("us"),
    "decimal(6,2)": pa.decimal128(6, 2),
    "decimal(38,10)": pa.decimal128(38, 10),
}
WHOLE_ONLY = {("float", "bigint"), ("double", "bigint"), ("decimal", "bigint")}
WHOLE_ONLY |= {("long decimal", "bigint"), ("string", "bigint")}
"""Where DuckDB rounds to a whole number, and here the row is bad."""

REFUSED = {("boolean", f"decimal({p})") for p in ("6,2", "38,10")}
REFUSED |= {(kind, "boolean") for kind in ("decimal", "long decimal")}
"""What DuckDB casts, and here, as in Arrow, is no column of that type."""

_TIMES = ("seconds", "millis", "micros", "nanos", "zoned", "duration")
MICROS = {(kind, "bigint") for kind in _TIMES}
"""Where here it is microseconds, as CAST gives them, and DuckDB and Arrow have other answers."""

SPELT = {("zoned", "varchar"), ("duration", "varchar")}
"""Where DuckDB's text is another: it shows the zone, and lengths of time as a clock does."""


@pytest.mark.parametrize("declared", DECLARED)
@pytest.mark.parametrize("given", GIVEN)
def test_values_are_those_of_duckdb(given: str, declared: str) -> None:
    table = duckdb.from_arrow(pa.table({"c": GIVEN[given]}))
    theirs = table.project(f"TRY_CAST(c AS {declared})").fetchall()
    ours = _read(GIVEN[given], DECLARED[declared])
    if ours is None:
        known = [row for row in theirs if row[0] is not None]
        assert not known or (given, declared) in REFUSED, "refused, and DuckDB reads it"
        return
    if (given, declared) in SPELT | MICROS:
        return
    for i, (mine, (other,)) in enumerate(zip(ours, theirs)):
        if mine == "bad" and (given, declared) in WHOLE_ONLY:
            continue
        assert _same(None if mine == "bad" else mine, other), (i, mine, other)


@pytest.mark.parametrize("declared", DECLARED)
@pytest.mark.parametrize("given", GIVEN)
def test_what_arrow_casts_without_loss_is_the_same(given: str, declared: str) -> None:
    kind = DECLARED[declared]
    ours = _read(GIVEN[given], kind)
    known = kind in (pa.string(), pa.float64()) or (given, declared) in MICROS
    if ours is None or known or pa.types.is_decimal(kind):
        return  # spelling and rounding: compared with DuckDB and with exact arithmetic
    for i, mine in enumerate(ours):
        cell = GIVEN[given].slice(i, 1)
        try:
            theirs = pc.cast(cell, kind)[0].as_py()
        except pa.ArrowException:
            continue
        assert _same(mine, theirs), (i, mine, theirs)


@pytest.mark.parametrize("declared", DECLARED)
@pytest.mark.parametrize("given", GIVEN)
def test_what_always_fits_is_never_bad(given: str, declared: str) -> None:
    if fits_always(GIVEN[given].type, DECLARED[declared]):
        ours = _read(GIVEN[given], DECLARED[declared])
        assert ours is not None and "bad" not in ours


@pytest.mark.parametrize("digits", [4, 15, 16, 18, 38])
def test_decimals_as_doubles_are_the_nearest(digits: int) -> None:
    chance = random.Random(digits)
    for scale in {0, 2, digits // 2, digits}:
        numbers = [Decimal(n).scaleb(-scale) for n in range(10_000)] if digits == 4 else []
        numbers += [
            Decimal(chance.randrange(-(10**digits) + 1, 10**digits)).scaleb(-scale)
            for _ in range(500)
        ]
        column = pa.array([None, *numbers, None], pa.decimal128(digits, scale)).slice(1)
        ours = from_values(column, pa.float64()).values.to_pylist()
        assert ours == [*(float(str(number)) for number in numbers), None]


@pytest.mark.parametrize("scale", [0, 2, 9, 20])
def test_doubles_as_decimals_are_the_nearest(scale: int) -> None:
    chance = random.Random(scale)
    numbers = [chance.uniform(-1e9, 1e9) for _ in range(500)]
    numbers += [round(chance.uniform(-100, 100), 3) for _ in range(500)]
    numbers += [n / 8 for n in range(-80, 80)] + [0.005, 1.005, 2.675, -0.0]
    ours = from_values(pa.array(numbers), pa.decimal128(38, scale)).values.to_pylist()
    with localcontext() as context:
        context.prec = 200
        unit = Decimal(1).scaleb(-scale)
        assert ours == [Decimal(number).quantize(unit, ROUND_HALF_UP) for number in numbers]


def test_decimals_of_other_scales_are_rounded_half_away_from_zero() -> None:
    numbers = pa.array([Decimal(t) for t in ("9.995", "-9.995", "0.004", "9.994")])
    assert _read(numbers, pa.decimal128(3, 2)) == ["bad", "bad", Decimal("0.00"), Decimal("9.99")]
    assert _read(numbers, pa.decimal128(4, 2))[:2] == [Decimal("10.00"), Decimal("-10.00")]


def test_fractions_of_microseconds_are_cut_off_before_1970_too() -> None:
    nanos = pa.array([1999, -1, -1001, None])
    micros = [1, -1, -2, None]
    for type in (pa.timestamp("ns"), pa.timestamp("ns", "UTC")):
        read = from_values(nanos.cast(type), pa.timestamp("us")).values
        assert read.cast(pa.int64()).to_pylist() == micros
    read = from_values(nanos.cast(pa.duration("ns")), pa.duration("us")).values
    assert read.cast(pa.int64()).to_pylist() == micros


def test_the_day_of_an_instant_is_that_of_utc() -> None:
    late = dt.datetime(2024, 11, 3, 2, 30, tzinfo=dt.UTC)  # the evening before there
    for unit in ("s", "ms", "us", "ns"):
        column = pa.array([late, None], pa.timestamp(unit, "America/New_York"))
        assert _read(column, pa.date32()) == [dt.date(2024, 11, 3), None]


def test_times_as_numbers_are_microseconds_whatever_their_unit() -> None:
    for unit, factor in (("s", 10**6), ("ms", 1000), ("us", 1)):
        for kind in (pa.timestamp(unit), pa.timestamp(unit, "Asia/Tokyo"), pa.duration(unit)):
            assert _read(pa.array([-1, 7]).cast(kind), pa.int64()) == [-factor, 7 * factor]
    for kind in (pa.date32(), pa.date64(), pa.time32("s")):
        assert _read(pa.nulls(1).cast(kind), pa.int64()) is None


def _read(values: pa.Array, type: pa.DataType) -> list[Any] | None:
    """The values as they are read, "bad" where they are; None where the kind is refused."""
    try:
        read = from_values(values, type)
    except pa.ArrowNotImplementedError:
        return None
    found = read.values.to_pylist()
    return [v if read.bad is None or not read.bad[i] else "bad" for i, v in enumerate(found)]


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        alike = math.copysign(1, left) == math.copysign(1, right)
        return (math.isnan(left) and math.isnan(right)) or (left == right and alike)
    return bool(left == right) and type(left) is type(right)
