"""Good scripts, damaged: whatever comes out is an answer or a MillstreamError with a place.

Seeded, and bounded by a number of scripts and by time. `python -m errors.test_fuzz SEED COUNT` in
tests/ goes on for longer.
"""

from __future__ import annotations

import random
import re
import sys
import time

import pytest

from errors.cases import DATA
from millstream.database import Database
from millstream.errors import MillstreamError
from millstream.local.host import LocalHost

pytestmark = pytest.mark.slow

STATEMENTS = [s.strip() for s in (DATA / "fuzz.sql").read_text().split(";") if s.strip()]
DECLARED, QUERIES = STATEMENTS[:4], STATEMENTS[4:]
TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|\w+|\s+|[^\w\s]")
WORDS = [
    "0",
    "-1",
    "1",
    "2",
    "99999999999999999999",
    "9223372036854775807",
    "1e308",
    "1e999",
    "0.1",
    "''",
    "'x'",
    "'2024-01-01'",
    "'é☃'",
    '""',
    '"price"',
    '"a\'b"',
    "`x`",
    "NULL",
    "TRUE",
    "*",
    "(",
    ")",
    "[",
    "]",
    ",",
    ";",
    ".",
    "=",
    "<>",
    "||",
    "::",
    "-",
    "+",
    "/",
    "%",
    "item",
    "price",
    "bidder",
    "ts",
    "n",
    "symbol",
    "bids",
    "ticks",
    "items",
    "hot",
    "q1",
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP BY",
    "HAVING",
    "NOT",
    "AND",
    "OR",
    "IN",
    "IS",
    "BETWEEN",
    "LIKE",
    "CASE",
    "WHEN",
    "END",
    "AS",
    "JOIN",
    "LEFT",
    "ON",
    "USING",
    "DISTINCT",
    "ORDER BY",
    "LIMIT",
    "UNION",
    "Istream",
    "STREAMED",
    "Range",
    "Rows",
    "Slide",
    "Now",
    "Unbounded",
    "Partition By",
    "Seconds",
    "Days",
    "INTERVAL '5' MINUTE",
    "CAST",
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "first",
    "median",
    "quantile",
    "count(*)",
    "sum(price)",
    "substring",
    "left",
    "lpad",
    "repeat",
    "round",
    "date_trunc",
    "replace",
    "power",
    "sqrt",
    "ln",
    "split_part",
    "regexp_replace",
    "timestamp",
    "decimal(38,38)",
    "decimal(5,2)",
    "boolean",
    "bigint",
    "string",
    "date",
    "double",
    "interval",
    "☃",
    "\u0000",
    "\ufeff",
    "--",
    "/*",
    "#x",
    "current_timestamp",
    "SLACK 3",
    "WITH (x = 1)",
]
AGGREGATED = ["min", "max", "sum", "avg", "count", "first", "last", "median", "stddev"]
VALUES = [
    "item",
    "price",
    "bidder",
    "ts",
    "NULL",
    "TRUE",
    "0",
    "-1",
    "2.5",
    "1e308",
    "''",
    "'a%'",
    "9223372036854775807",
    "-9223372036854775808",
    "INTERVAL '3' DAY",
    "DATE '0001-01-01'",
    "TIMESTAMP '9999-12-31 23:59:59.999999'",
    "CAST(price AS decimal(38,10))",
    "CAST(item AS decimal(3,1))",
    "item > 1",
    "CAST('1969-07-20' AS timestamp)",
]
CALLS = [
    "{} + {}",
    "{} - {}",
    "{} * {}",
    "{} / {}",
    "{} % {}",
    "{} div {}",
    "-({})",
    "{} || {}",
    "{} = {}",
    "{} < {}",
    "NOT {}",
    "{} AND {}",
    "{} IN ({}, {})",
    "{} BETWEEN {} AND {}",
    "{} LIKE {}",
    "{} IS NULL",
    "{} IS DISTINCT FROM {}",
    "coalesce({}, {})",
    "nullif({}, {})",
    "greatest({}, {})",
    "least({}, {})",
    "CASE WHEN {} THEN {} ELSE {} END",
    "if({}, {}, {})",
    *(
        f"CAST({{}} AS {t})"
        for t in (
            "bigint",
            "double",
            "string",
            "boolean",
            "timestamp",
            "date",
            "decimal(38,2)",
            "decimal(4,4)",
            "interval",
        )
    ),
    "substring({}, {}, {})",
    "left({}, {})",
    "right({}, {})",
    "replace({}, {}, {})",
    "position({} IN {})",
    "lpad({}, {}, {})",
    "repeat({}, {})",
    "split_part({}, {}, {})",
    "concat_ws({}, {}, {})",
    "trim({}, {})",
    "startswith({}, {})",
    "length({})",
    "upper({})",
    "round({}, {})",
    "round({})",
    "floor({})",
    "ceil({})",
    "abs({})",
    "sign({})",
    "sqrt({})",
    "ln({})",
    "exp({})",
    "power({}, {})",
    "asin({})",
    "cbrt({})",
    "year({})",
    "week({})",
    "last_day({})",
    "date_add({}, {})",
    "datediff({}, {})",
    "to_date({})",
    "epoch({})",
    "microsecond({})",
    "to_timestamp({})",
    "unix_micros({})",
    "date_trunc('month', {})",
]


def damaged(text: str, draw: random.Random) -> str:
    """The text after one to three accidents."""
    tokens = TOKEN.findall(text)
    for _ in range(draw.randint(1, 3)):
        at, other = draw.randrange(len(tokens)), draw.randrange(len(tokens))
        match draw.randrange(6):
            case 0:
                del tokens[at]
            case 1:
                tokens.insert(at, f"{tokens[other]} ")
            case 2:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3 | 4:
                tokens[at] = draw.choice(WORDS)
            case 5:
                tokens.insert(at, f" {draw.choice(WORDS)} ")
        if not tokens:
            return ""
    return "".join(tokens)


def expression(draw: random.Random, depth: int) -> str:
    """A random expression, well formed but seldom well typed."""
    if depth == 0:
        return draw.choice(VALUES)
    call = draw.choice(CALLS)
    return call.format(*(expression(draw, draw.randrange(depth)) for _ in range(call.count("{}"))))


def carry_out(script: str) -> bool:
    """Bind and run the script; False when it was refused, as it should be."""
    database = Database(base=str(DATA), tell=lambda text: None)
    try:
        database.execute(script)
        database.pin("buckets", "2")
        if database.streams:
            LocalHost(database.job(), database.sources(follow=False), []).run()
        return True
    except MillstreamError as error:
        told = error.message
        assert told and told[0] != " " and "invalid" not in told.lower(), told
        assert error.place is not None or "script" in told or "file" in told, told
        error.render()
        return False


def fuzz(seed: int, count: int, seconds: float) -> tuple[int, int]:
    """How many scripts were tried, and how many of them ran."""
    draw, end, tried, ran = random.Random(seed), time.monotonic() + seconds, 0, 0
    while tried < count and time.monotonic() < end:
        tried += 1
        if tried % 3 == 0:
            value = expression(draw, draw.randint(1, 3))
            if draw.random() < 0.3:
                value = f"{draw.choice(AGGREGATED)}({value})"
            parts = [DECLARED[0], f"SELECT {value} AS x FROM bids [Rows 3]"]
        else:
            parts = [*DECLARED, *draw.sample(QUERIES, 1)]
            at = draw.randrange(len(parts)) if draw.random() < 0.3 else -1
            parts[at] = damaged(parts[at], draw)
        script = ";\n".join(parts)
        try:
            ran += carry_out(script)
        except BaseException:
            print(f"--- seed {seed}, script {tried}:\n{script}")
            raise
    return tried, ran


def test_only_millstream_errors_come_out() -> None:
    tried, ran = fuzz(seed=20240, count=3000, seconds=20)
    assert tried >= 200 and ran >= 20


if __name__ == "__main__":
    print(fuzz(int(sys.argv[1]), int(sys.argv[2]), float("inf")))
