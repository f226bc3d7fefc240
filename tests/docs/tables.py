"""The tables of the manual that are made from the code: functions, aggregates, settings, options.

A page holds them between `<!-- table NAME -->` and `<!-- end -->`. Run as a program it writes them.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path

import pyarrow as pa

from docs.examples import ROOT, as_csv
from millstream.aggregates.aggregate import Aggregate
from millstream.aggregates.builtin import BUILTINS
from millstream.algebra.functions import CONSTANT_ARGUMENTS, FUNCTIONS, Function
from millstream.algebra.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    STRING,
    TIMESTAMP,
    type_name,
)
from millstream.bind.expressions.vocabulary import ALIASES
from millstream.connect.files import FILES
from millstream.connect.generate import GENERATE
from millstream.connect.options import OF_STREAMS, Option, Options
from millstream.connect.postgres import POSTGRES
from millstream.settings import CHOICES, NUMBERS, Settings
from millstream.testing import run_script

HOLE = re.compile(r"(<!-- table (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
TYPES = (INTEGER, DOUBLE, pa.decimal128(8, 2), STRING, BOOLEAN, TIMESTAMP, DATE, INTERVAL)

MEANINGS: dict[str, tuple[str, str]] = {
    "and": ("both are true", "TRUE AND NULL"),
    "or": ("at least one is true", "TRUE OR NULL"),
    "not": ("the opposite", "NOT FALSE"),
    "is_null": ("whether it is NULL; `IS NOT NULL` the opposite", "NULL IS NULL"),
    "=": ("equal; also `==`", "2 = 2.0"),
    "<>": ("not equal; also `!=`", "'a' <> 'b'"),
    "<": ("less", "1 < 2"),
    "<=": ("less or equal", "2 <= 2"),
    ">": ("greater", "1 > 2"),
    ">=": ("greater or equal", "2 >= 2"),
    "+": ("sum; a time and an interval give a time", "2 + 3"),
    "-": ("difference; of two times an interval", "2 - 3"),
    "*": ("product", "2 * 3"),
    "/": ("exact quotient, always a double; NULL for a zero divisor", "7 / 2"),
    "div": ("whole quotient, towards zero", "7 div 2"),
    "%": ("remainder, with the sign of the dividend; also `mod(a, b)`", "-7 % 4"),
    "neg": ("the negative", "-(3)"),
    "like": ("`%` stands for any text, `_` for one character", "name LIKE 'l%'"),
    "coalesce": ("the first that is not NULL", "coalesce(NULL, 2)"),
    "nullif": ("NULL if they are equal, otherwise a", "nullif(3, 0)"),
    "greatest": ("the greatest, without NULLs", "greatest(1, 3, 2)"),
    "least": ("the least, without NULLs", "least(1, 3, 2)"),
    "upper": ("in capitals", "upper(name)"),
    "lower": ("in small letters", "lower('LAMP')"),
    "length": ("number of characters", "length(name)"),
    "trim": ("without spaces at both ends", "trim('  lamp ')"),
    "ltrim": ("without spaces at the beginning", "ltrim('  lamp')"),
    "rtrim": ("without spaces at the end", "rtrim('lamp  ')"),
    "reverse": ("backwards", "reverse(name)"),
    "initcap": ("every word with a capital", "initcap('red lamp')"),
    "substring": (
        "from position start, counted from 1, or from the end if negative",
        "substring(name, 2, 2)",
    ),
    "left": ("the first characters", "left(name, 2)"),
    "right": ("the last characters", "right(name, 2)"),
    "replace": ("every occurrence replaced", "replace(name, 'l', 'd')"),
    "concat": ("all in a row; also `a || b`", "concat('a', 1, 'b')"),
    "position": ("where part begins, counted from 1; 0 if nowhere", "position('m' IN name)"),
    "starts_with": ("whether it begins so", "startswith(name, 'la')"),
    "ends_with": ("whether it ends so", "endswith(name, 'la')"),
    "contains": ("whether part is in it", "contains(name, 'am')"),
    "abs": ("without its sign", "abs(-3)"),
    "sign": ("-1, 0 or 1", "sign(-2.5)"),
    "round": ("to the digits after the point, half away from zero", "round(2.345, 1)"),
    "floor": ("the whole number at or below", "floor(-2.5)"),
    "ceil": ("the whole number at or above", "ceil(-2.5)"),
    "trunc": ("the whole number towards zero", "trunc(-2.5)"),
    "sqrt": ("square root", "sqrt(9)"),
    "exp": ("e to the power of it", "exp(0)"),
    "ln": ("natural logarithm", "ln(1)"),
    "log10": ("logarithm to base 10", "log10(1000)"),
    "log2": ("logarithm to base 2", "log2(8)"),
    "power": ("base to the power of exponent", "power(2, 10)"),
    "sin": ("sine, of radians", "sin(0)"),
    "cos": ("cosine", "cos(0)"),
    "tan": ("tangent", "tan(0)"),
    "year": ("the year", "year(ts)"),
    "quarter": ("the quarter, 1 to 4", "quarter(ts)"),
    "month": ("the month, 1 to 12", "month(ts)"),
    "week": ("the week of ISO 8601", "week(ts)"),
    "day": ("the day of the month", "day(ts)"),
    "dayofweek": ("the day of the week, Sunday is 1", "dayofweek(ts)"),
    "dayofyear": ("the day of the year", "dayofyear(ts)"),
    "hour": ("the hour", "hour(ts)"),
    "minute": ("the minute", "minute(ts)"),
    "second": ("the second, whole", "second(ts)"),
    "to_date": ("its day", "to_date(ts)"),
    "unix_micros": (
        "microseconds since 1970-01-01",
        "unix_micros(TIMESTAMP '1970-01-01 00:00:01')",
    ),
    "date_trunc": (
        "the beginning of the year, month, … microsecond it lies in",
        "date_trunc('hour', ts)",
    ),
    "distinct_from": ("not equal, NULL being a value like others", "NULL IS DISTINCT FROM 1"),
    "atan": ("arc tangent", "atan(0)"),
    "atan2": ("the angle of the point (x, y)", "atan2(0, 1)"),
    "acos": ("arc cosine", "acos(1)"),
    "asin": ("arc sine", "asin(0)"),
    "degrees": ("radians as degrees", "degrees(0)"),
    "radians": ("degrees as radians", "radians(0)"),
    "cbrt": ("cube root", "cbrt(8)"),
    "split_part": ("a piece between separators, counted from 1", "split_part('a-b-c', '-', 2)"),
    "regexp_like": ("whether the pattern is found in it", "regexp_like(name, 'a.p')"),
    "regexp_replace": ("every match replaced", "regexp_replace(name, '[aeiou]', '_')"),
    "repeat": ("the text so many times", "repeat('ab', 3)"),
    "lpad": ("filled up on the left", "lpad('7', 3, '0')"),
    "rpad": ("filled up on the right", "rpad('7', 3, '0')"),
    "concat_ws": ("all with a separator between", "concat_ws('-', 'a', 'b')"),
    "millisecond": ("the milliseconds of the minute, its seconds included", "millisecond(ts)"),
    "microsecond": ("the microseconds of the minute, its seconds included", "microsecond(ts)"),
    "epoch": ("seconds since 1970-01-01", "epoch(ts)"),
    "to_timestamp": ("seconds since 1970-01-01 as a time", "to_timestamp(1)"),
    "timestamp_seconds": (
        "the same: a number of seconds, with a fraction or without",
        "timestamp_seconds(1714557600)",
    ),
    "timestamp_millis": (
        "milliseconds since 1970-01-01 as a time",
        "timestamp_millis(1714557600000)",
    ),
    "timestamp_micros": (
        "microseconds since 1970-01-01 as a time",
        "timestamp_micros(1714557600000000)",
    ),
    "unix_seconds": ("seconds since 1970-01-01, whole", "unix_seconds(ts)"),
    "unix_millis": ("milliseconds since 1970-01-01, whole", "unix_millis(ts)"),
    "to_utc_timestamp": (
        "a local time of the zone as UTC; also `local AT TIME ZONE zone`",
        "to_utc_timestamp(ts, 'Europe/Berlin')",
    ),
    "from_utc_timestamp": (
        "a time in UTC as the local time of the zone",
        "from_utc_timestamp(ts, 'Europe/Berlin')",
    ),
    "datediff": ("days from the earlier to the later", "datediff(to_date(ts), DATE '2024-04-28')"),
    "date_add": ("so many days later", "date_add(DATE '2024-04-28', 4)"),
    "last_day": ("the last day of the month", "last_day(ts)"),
}
"""What a function means, and an example that is run."""

SETTINGS = {
    "batch_rows": "rows per batch and source",
    "buckets": "into how many parts state and work are divided; 0 is one for every core",
    "rules": "rewrite plans before they run; `fixed` without rules for which the cost decides",
    "strategy": "how rows leave: by negative rows, by ends in lists, or as their pattern asks",
    "lazy": "after how many percent of its time an index is cleared of rows that have expired",
    "negation": "how ends of rows of a negation are emitted under `update_pattern`",
}


def functions() -> Iterator[str]:
    """Every scalar function: how it is written, what it means, types, and an example."""
    values = _evaluate([MEANINGS[name][1] for name in FUNCTIONS])
    yield "| written | meaning | gives | example |"
    yield "|---|---|---|---|"
    for (name, function), value in zip(FUNCTIONS.items(), values):
        meaning, example = MEANINGS[name]
        shown = f"`{_bar(example)}` is `{value}`" if value else f"`{_bar(example)}` is NULL"
        yield f"| `{_bar(_usage(function))}` | {_bar(meaning)} | {_gives(function)} | {shown} |"


def aliases() -> Iterator[str]:
    yield "| written | is |"
    yield "|---|---|"
    for alias, name in sorted(ALIASES.items()):
        yield f"| `{alias}` | `{name}` |"


def aggregates() -> Iterator[str]:
    yield "| written | gives | of | also called |"
    yield "|---|---|---|---|"
    for aggregate in BUILTINS:
        written = "`, `".join(re.split(r"(?<=\)), ", aggregate.usage))
        others = ", ".join(f"`{alias}`" for alias in aggregate.aliases)
        yield f"| `{written}` | {aggregate.meaning} | {_takes(aggregate)} | {others} |"


def settings() -> Iterator[str]:
    yield "| setting | values | default | meaning |"
    yield "|---|---|---|---|"
    for name, value in vars(Settings()).items():
        allowed = ", ".join(CHOICES[name]) if name in CHOICES else f"1 to {NUMBERS[name]:,}"
        yield f"| `{name}` | {allowed} | {value} | {SETTINGS[name]} |"


def file_options() -> Iterator[str]:
    """The options of files, and of which formats they are."""
    formats = {options: options.of.split()[1] for options in FILES.options}
    options = {option.name: option for of in FILES.options for option in of.declared}
    yield "| option | for | meaning | default |"
    yield "|---|---|---|---|"
    for name, option in options.items():
        mine = [format for of, format in formats.items() if name in of.names]
        those = "all" if len(mine) == len(formats) else ", ".join(mine)
        yield f"| `{name}` | {those} | {option.meaning} | {_default(option)} |"


def options_of(options: Options) -> Iterator[str]:
    """The options of one kind of source."""
    yield f"| {options.word} | meaning | default |"
    yield "|---|---|---|"
    for option in options.declared:
        yield f"| `{option.name}` | {option.meaning} | {_default(option)} |"


def _default(option: Option) -> str:
    return option.otherwise or f"`{option.default}`"


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "functions": functions,
    "aliases": aliases,
    "aggregates": aggregates,
    "settings": settings,
    "file_options": file_options,
    "stream_options": partial(options_of, OF_STREAMS),
    "postgres_options": partial(options_of, POSTGRES.options[0]),
    "auction": partial(options_of, GENERATE.options[0]),
    "connections": partial(options_of, GENERATE.options[1]),
}


def filled(page: Path) -> str:
    """The text of a page with its tables made anew."""

    def fill(hole: re.Match[str]) -> str:
        return hole[1] + "\n".join(TABLES[hole[2]]()) + "\n" + hole[3]

    return HOLE.sub(fill, page.read_text())


def _usage(function: Function) -> str:
    """How a function is written, constant arguments marked."""
    usage = function.usage
    for place in sorted(CONSTANT_ARGUMENTS.get(function.name, ()), reverse=True):
        names = list(re.finditer(r"[a-z']+", usage))[1:]
        end = names[place].end()
        usage = usage[:end] + "*" + usage[end:]
    return usage


def _gives(function: Function) -> str:
    """The types a function gives, whatever it is given."""
    found: dict[str, None] = {}
    for count in (1, 2, 3):
        for types in product(TYPES, repeat=count):
            if signature := function.sign(types):
                name = type_name(signature[1])
                found["decimal" if name.startswith("decimal") else name] = None
    return "any type" if len(found) >= len(TYPES) else ", ".join(found)


def _takes(aggregate: Aggregate) -> str:
    taken = [t for t in TYPES if aggregate.result(t) is not None]
    names = [type_name(t).partition("(")[0] for t in taken]
    return "any type" if len(names) == len(TYPES) else ", ".join(names)


def _evaluate(expressions: list[str]) -> list[str]:
    """The values of expressions over one row, as they stand in a CSV file; nothing for NULL."""
    columns = ", ".join(f"{text} AS c{i}" for i, text in enumerate(expressions))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "s.csv").write_text("ts,name\n2024-05-01 10:20:30,lamp\n")
        stream = "CREATE STREAM s (ts timestamp, name string) ORDER BY ts SOURCE 's.csv';"
        table = run_script(f"{stream} SELECT {columns} FROM s;", folder)["q1"]
    cells = [table.select([i + 1]) for i in range(len(expressions))]
    return ["" if c.column(0).null_count else as_csv(c).splitlines()[1] for c in cells]


def _bar(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    for path in sorted((ROOT / "docs" / "language").glob("*.md")):
        path.write_text(filled(path))
