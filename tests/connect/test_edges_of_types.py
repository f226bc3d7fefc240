"""The edges of every type, written as text: the same in CSV, JSON lines, Parquet and CAST."""

from __future__ import annotations

import csv
import datetime as dt
import json
import math
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.algebra.reading import from_text
from millstream.algebra.types import type_from_text
from millstream.testing import run_script

BAD = "bad"
LARGEST, LEAST = 1.7976931348623157e308, 5e-324
EDGES: dict[str, list[tuple[str, Any]]] = {
    "bigint": [
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", BAD),
        ("-9223372036854775808", -(2**63)),
        ("-9223372036854775809", BAD),
        ("9" * 60, BAD),
        ("-0", 0),
        ("007", 7),
        ("+12", 12),
        ("+-12", BAD),
        (" 12 ", 12),
        ("1 2", BAD),
        ("1_000", BAD),
        ("1,000", BAD),
        ("12.0", 12),
        ("12.", 12),
        ("12.5", BAD),
        ("1e3", 1000),
        ("1.5e1", 15),
        ("1.55e1", BAD),
        ("1e19", BAD),
        ("1e999999999999", BAD),
        ("0x1F", BAD),
        ("0xFFFFFFFFFFFFFFFF", BAD),
        ("0b1", BAD),
        ("１２", BAD),
        ("٣", BAD),
        ("null", BAD),
        ("NaN", BAD),
        ("true", BAD),
    ],
    "double": [
        ("1.7976931348623157e308", LARGEST),
        ("1.7976931348623158e308", LARGEST),
        ("1.7976931348623159e308", BAD),
        ("-1e400", BAD),
        ("1e400", BAD),
        ("9" * 400, BAD),
        ("5e-324", LEAST),
        ("2.5e-324", LEAST),
        ("2e-324", 0.0),
        ("1e-400", 0.0),
        ("2.2250738585072011e-308", 2.225073858507201e-308),
        ("-0.0", -0.0),
        ("0.1", 0.1),
        ("9007199254740993", 9007199254740992.0),
        ("+1.5", 1.5),
        (" 1.5 ", 1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1E+5", 1e5),
        ("1e", BAD),
        ("1,5", BAD),
        ("1_000.5", BAD),
        ("0x1F", BAD),
        ("0x1p3", BAD),
        ("1.5f", BAD),
        ("٣.5", BAD),
        ("NaN", math.nan),
        ("nan", math.nan),
        ("-NaN", math.nan),
        ("nan(12)", BAD),
        ("Infinity", math.inf),
        ("-infinity", -math.inf),
        ("+inf", math.inf),
        ("INF", math.inf),
        ("infinit", BAD),
        ("null", BAD),
        ("true", BAD),
    ],
    "decimal(5,2)": [
        ("999.99", Decimal("999.99")),
        ("999.994", Decimal("999.99")),
        ("999.995", BAD),
        ("1000", BAD),
        ("-999.99", Decimal("-999.99")),
        ("0.005", Decimal("0.01")),
        ("-0.005", Decimal("-0.01")),
        ("0.00499999999999999999999999999999999999999999", Decimal("0.00")),
        ("-0.00", Decimal("0.00")),
        ("+1.5", Decimal("1.50")),
        (" 1 ", Decimal("1.00")),
        (".5", Decimal("0.50")),
        ("5.", Decimal("5.00")),
        ("1e2", Decimal("100.00")),
        ("1e3", BAD),
        ("1e-3", Decimal("0.00")),
        ("1e-999", Decimal("0.00")),
        ("1e999", BAD),
        ("1" + "0" * 60, BAD),
        ("NaN", BAD),
        ("Infinity", BAD),
        ("0x1F", BAD),
        ("1_0", BAD),
        ("１", BAD),
        ("1,5", BAD),
    ],
    "decimal(38,10)": [
        ("9" * 28 + "." + "9" * 10, Decimal("9" * 28 + "." + "9" * 10)),
        ("9" * 28 + "." + "9" * 11, BAD),
        ("1" + "0" * 28, BAD),
        ("1" + "0" * 38 + "." + "0" * 10, BAD),
        ("0" * 50 + "1." + "0" * 50, Decimal("1.0000000000")),
        ("1e38", BAD),
        ("1e27", Decimal(10**27)),
    ],
    "boolean": [
        *((text, True) for text in ("true", "TRUE", "t", "T", "yes", "Y", "1", " true ")),
        *((text, False) for text in ("false", "False", "f", "no", "N", "0")),
        *((text, BAD) for text in ("on", "off", "2", "-1", "1.0", "tru", "null", "wahr")),
    ],
    "date": [
        ("2024-02-29", dt.date(2024, 2, 29)),
        ("2023-02-29", BAD),
        ("0001-01-01", dt.date(1, 1, 1)),
        ("0000-12-31", BAD),
        ("9999-12-31", dt.date(9999, 12, 31)),
        ("10000-01-01", BAD),
        ("-0001-01-01", BAD),
        (" 2024-05-01 ", dt.date(2024, 5, 1)),
        ("2024-05-01 23:59:59", dt.date(2024, 5, 1)),
        ("2024-05-01T23:00:00-05:00", dt.date(2024, 5, 2)),
        ("2024-5-1", BAD),
        ("20240501", BAD),
        ("2024/05/01", BAD),
        ("01.05.2024", BAD),
        ("２０２４-05-01", BAD),
        ("19844", BAD),
    ],
    "timestamp": [
        ("0001-01-01 00:00:00", dt.datetime(1, 1, 1)),
        ("0001-01-01T00:00:00+00:01", BAD),
        ("0000-12-31 23:59:59.999999", BAD),
        ("9999-12-31 23:59:59.999999", dt.datetime(9999, 12, 31, 23, 59, 59, 999999)),
        ("9999-12-31T23:59:59-00:01", BAD),
        ("10000-01-01 00:00:00", BAD),
        ("2024-05-01", dt.datetime(2024, 5, 1)),
        ("2024-05-01 10:20", dt.datetime(2024, 5, 1, 10, 20)),
        ("2024-05-01t10:20:30", dt.datetime(2024, 5, 1, 10, 20, 30)),
        ("2024-05-01 10:20:30.1", dt.datetime(2024, 5, 1, 10, 20, 30, 100000)),
        ("2024-05-01 10:20:30,25", dt.datetime(2024, 5, 1, 10, 20, 30, 250000)),
        ("2024-05-01 10:20:30.9999999", dt.datetime(2024, 5, 1, 10, 20, 30, 999999)),
        ("1969-12-31 23:59:59.9999999", dt.datetime(1969, 12, 31, 23, 59, 59, 999999)),
        ("2024-05-01 10:20:30.", BAD),
        ("2024-05-01T10:20:30Z", dt.datetime(2024, 5, 1, 10, 20, 30)),
        ("2024-05-01T10:20:30z", dt.datetime(2024, 5, 1, 10, 20, 30)),
        ("2024-05-01 10:20:30 UTC", dt.datetime(2024, 5, 1, 10, 20, 30)),
        ("2024-05-01T10:20:30+02:00", dt.datetime(2024, 5, 1, 8, 20, 30)),
        ("2024-05-01 10:20:30 +0200", dt.datetime(2024, 5, 1, 8, 20, 30)),
        ("2024-05-01T10:20:30.5-05", dt.datetime(2024, 5, 1, 15, 20, 30, 500000)),
        ("2024-05-01T10:20:30+14:00", dt.datetime(2024, 4, 30, 20, 20, 30)),
        ("2024-05-01T10:20:30-14:00", dt.datetime(2024, 5, 2, 0, 20, 30)),
        ("2024-05-01T10:20:30+24:00", BAD),
        ("2024-05-01T10:20:30 Europe/Berlin", BAD),
        ("2024-05-01 24:00:00", BAD),
        ("2016-12-31 23:59:60", BAD),
        ("2024-02-30 00:00:00", BAD),
        ("2024-5-1 1:00:00", BAD),
        ("01/05/2024 10:00:00", BAD),
        ("２０２４-05-01 00:00:00", BAD),
        ("1714557600", BAD),
        ("now", BAD),
    ],
    "interval": [
        ("90.5", dt.timedelta(seconds=90.5)),
        ("-1:30:00", -dt.timedelta(minutes=90)),
        ("0.0000019", dt.timedelta(microseconds=1)),
        ("+5", dt.timedelta(seconds=5)),
        ("9223372036854.775807", dt.timedelta(microseconds=2**63 - 1)),
        ("9223372036854.775808", BAD),
        ("1:60:00", BAD),
        ("5 minutes", BAD),
        ("NaN", BAD),
    ],
    "string": [
        ("null", "null"),
        ("１２", "１２"),
        ("0x1F", "0x1F"),
        (" x ", " x "),
    ],
}
WHOLE = [(type, text, value) for type, edges in EDGES.items() for text, value in edges]


@pytest.mark.parametrize(("type", "text", "value"), WHOLE)
def test_alone(type: str, text: str, value: Any) -> None:
    kind = type_from_text(type)
    assert kind is not None
    read = from_text(pa.array([text]), kind)
    found = BAD if read.bad is not None else read.values[0].as_py()
    assert _same(found, value)


@pytest.mark.parametrize("type", EDGES)
@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_in_files(type: str, format: str, tmp_path: Path) -> None:
    _write(tmp_path / f"s.{format}", [text for text, _ in EDGES[type]])
    source = f"CREATE STREAM s (n bigint, v {type}) ORDER BY n SOURCE 's.{format}';"
    results = run_script(f"{source} SELECT v FROM s;", tmp_path)
    found = dict(zip(results["q1"]["ts"].to_pylist(), results["q1"]["v"].to_pylist()))
    for i, (text, value) in enumerate(EDGES[type]):
        assert _same(found.get(i, BAD), value), text
    reasons = results["s.errors"]["reason"].to_pylist()
    assert len(reasons) == sum(value == BAD for _, value in EDGES[type])
    assert all(re.fullmatch('column "v": ".+" (is not|does not fit in) an? .*', r) for r in reasons)


@pytest.mark.parametrize("type", [type for type in EDGES if type not in ("interval", "string")])
def test_in_cast(type: str, tmp_path: Path) -> None:
    _write(tmp_path / "s.csv", [text for text, _ in EDGES[type]])
    script = f"""
      CREATE STREAM s (n bigint, v string) ORDER BY n SOURCE 's.csv';
      SELECT CAST(v AS {type}) AS v FROM s;
    """
    found = run_script(script, tmp_path)["q1"]["v"].to_pylist()
    for cell, (text, value) in zip(found, EDGES[type], strict=True):
        assert _same(cell, None if value == BAD else value), text


@pytest.mark.parametrize("type", ["bigint", "double", "decimal(5,2)", "decimal(38,10)"])
def test_json_numbers_are_as_they_are_written(type: str, tmp_path: Path) -> None:
    edges = [(text, value) for text, value in EDGES[type] if _is_json(text)]
    assert len(edges) > 3
    lines = [f'{{"n": {i}, "v": {text}}}\n' for i, (text, _) in enumerate(edges)]
    (tmp_path / "s.jsonl").write_text("".join(lines))
    script = f"CREATE STREAM s (n bigint, v {type}) ORDER BY n SOURCE 's.jsonl'; SELECT v FROM s;"
    rows = run_script(script, tmp_path)["q1"]
    found = dict(zip(rows["ts"].to_pylist(), rows["v"].to_pylist()))
    for i, (text, value) in enumerate(edges):
        assert _same(found.get(i, BAD), value), text


def test_parquet_decimals_are_found_as_doubles(tmp_path: Path) -> None:
    cents = pa.array([Decimal(n).scaleb(-2) for n in range(10_000)], pa.decimal128(6, 2))
    pq.write_table(pa.table({"n": range(10_000), "p": cents}), tmp_path / "s.parquet")
    script = """
      CREATE STREAM s (n bigint, p double) ORDER BY n SOURCE 's.parquet';
      SELECT n FROM s WHERE p = 0.35;
      SELECT n, p FROM s;
    """
    results = run_script(script, tmp_path)
    assert results["q1"]["n"].to_pylist() == [35]
    assert results["q2"]["p"].to_pylist() == [n / 100 for n in range(10_000)]


def test_reasons_say_what_is_too_large(tmp_path: Path) -> None:
    _write(tmp_path / "s.csv", ["1e400", "٣", "0x1F"])
    script = "CREATE STREAM s (n bigint, v double) ORDER BY n SOURCE 's.csv'; SELECT v FROM s;"
    assert run_script(script, tmp_path)["s.errors"]["reason"].to_pylist() == [
        'column "v": "1e400" does not fit in a double',
        'column "v": "٣" is not a double',
        'column "v": "0x1F" is not a double',
    ]
    script = script.replace("double", "bigint")
    assert run_script(script, tmp_path)["s.errors"]["reason"].to_pylist() == [
        'column "v": "1e400" is not a bigint',
        'column "v": "٣" is not a bigint',
        'column "v": "0x1F" is not a bigint',
    ]


def _write(path: Path, texts: list[str]) -> None:
    numbers = range(len(texts))
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"n": numbers, "v": texts}), path)
    elif path.suffix == ".jsonl":
        rows = [json.dumps({"n": n, "v": v}) + "\n" for n, v in zip(numbers, texts)]
        path.write_text("".join(rows))
    else:
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([("n", "v"), *zip(numbers, texts)])


def _is_json(text: str) -> bool:
    try:
        json.loads(text, parse_constant=lambda _: 1 / 0)
    except (ValueError, ZeroDivisionError):
        return False
    return text.strip() == text and text not in ("true", "null")


def _same(found: Any, value: Any) -> bool:
    if isinstance(found, float) and isinstance(value, float):
        signs = math.copysign(1, found) == math.copysign(1, value)
        return (math.isnan(found) and math.isnan(value)) or (found == value and signs)
    return type(found) is type(value) and bool(found == value)
