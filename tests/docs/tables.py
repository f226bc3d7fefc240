"""The tables of the manual that are made from the code: functions, aggregates, settings, options.

A page holds them between `<!-- table NAME -->` and `<!-- end -->`. Run as a program it writes them.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from pathlib import Path

from docs.examples import ROOT, as_csv
from errors.spellings import spellings
from millstream.aggregates.builtin import BUILTINS
from millstream.algebra.functions import FUNCTIONS
from millstream.algebra.meanings import MEANINGS
from millstream.bind.expressions.vocabulary import ALIASES
from millstream.connect.files import FILES
from millstream.connect.generate import GENERATE
from millstream.connect.options import OF_STREAMS, Option, Options
from millstream.connect.postgres import POSTGRES
from millstream.database.reference import gives, marked_usage, takes, usage_of
from millstream.library import LIBRARY, meaning_of
from millstream.settings import CHOICES, MAY_BE_AUTO, NUMBERS, Settings
from millstream.testing import run_script

HOLE = re.compile(r"(<!-- table (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

SETTINGS = {
    "batch_rows": "rows per batch and source; `auto` takes what is there, and of a backlog so much "
    "that the fixed cost of a batch hardly counts",
    "buckets": "into how many parts state and work are divided; `auto` is one for every core",
    "placement": "where Spark carries out a batch; `auto` is the driver for small batches, the "
    "executors for large ones",
    "rules": "rewrite plans before they run; `fixed` without rules for which the cost decides",
    "strategy": "how rows leave: by negative rows, by ends in lists, or as their pattern asks",
    "history": "how long results keep what they held, for [AS OF](reading.md#what-was-as-of); "
    "a bare number where instants are numbers",
    "lazy": "after how many percent of its time an index is cleared of rows that have expired",
    "negation": "how ends of rows of a negation are emitted under `update_pattern`",
    "native": "whether aggregates of one's own may run as machine code",
    "pattern_steps": "tests that MATCH_RECOGNIZE makes for each row an attempt has come to; where "
    "more are needed, the attempt is given up, and its first row is in the error stream",
    "search": "how patterns are looked for: `ops` skips what cannot match, `naive` tries all rows",
    "sharing": "whether queries are computed from others that [contain](sharing.md) them",
}


def functions() -> Iterator[str]:
    """Every scalar function: how it is written, what it means, types, and an example."""
    values = _evaluate([MEANINGS[name][1] for name in FUNCTIONS])
    yield "| written | meaning | gives | example |"
    yield "|---|---|---|---|"
    for (name, function), value in zip(FUNCTIONS.items(), values):
        meaning, example = MEANINGS[name]
        shown = f"`{_bar(example)}` is `{value}`" if value else f"`{_bar(example)}` is NULL"
        usage = _bar(marked_usage(function))
        yield f"| `{usage}` | {_bar(meaning)} | {gives(function)} | {shown} |"


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
        yield f"| `{written}` | {aggregate.meaning} | {takes(aggregate)} | {others} |"


def library() -> Iterator[str]:
    """Every aggregate that is shipped: its declaration, what it computes, and how over windows."""
    yield "| declared | meaning | over windows |"
    yield "|---|---|---|"
    for name, versions in LIBRARY.items():
        kept = "kept up to date" if versions.window is not None else "computed anew"
        so_far = versions.base is not None and not versions.base.is_blocking
        kept = "so far, as it is called bare" if so_far and versions.window is None else kept
        yield f"| `{usage_of(versions.any)}` | {_bar(meaning_of(name))} | {kept} |"


def settings() -> Iterator[str]:
    yield "| setting | values | default | meaning |"
    yield "|---|---|---|---|"
    for name, value in Settings().shown().items():
        allowed = ", ".join(CHOICES.get(name, ("a length such as '10 minutes'", "off")))
        if name in NUMBERS:
            allowed = f"1 to {NUMBERS[name]:,}"
        allowed += ", auto" if name in MAY_BE_AUTO else ""
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


def other_systems() -> Iterator[str]:
    """Spellings of other systems, a table for each."""
    for system, found in groupby(spellings(), lambda one: one.system):
        yield f"\n## {system}\n"
        yield "| they write | Millstream says | here |"
        yield "|---|---|---|"
        for one in found:
            said = "works" if one.works else _bar(f"{one.message}. {one.hint}").replace("*", "\\*")
            if one.works and one.instead:
                said = "works, with a notice"
            here = f"`{_bar(one.instead)}`" if one.instead else ""
            yield f"| {_code(one.written)} | {said} | {here} |"


def _code(text: str) -> str:
    return f"`` {_bar(text)} ``" if "`" in text else f"`{_bar(text)}`"


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "functions": functions,
    "aliases": aliases,
    "aggregates": aggregates,
    "library": library,
    "settings": settings,
    "file_options": file_options,
    "stream_options": partial(options_of, OF_STREAMS),
    "postgres_options": partial(options_of, POSTGRES.options[0]),
    "auction": partial(options_of, GENERATE.options[0]),
    "spellings": other_systems,
    "connections": partial(options_of, GENERATE.options[1]),
}


def filled(page: Path) -> str:
    """The text of a page with its tables made anew."""

    def fill(hole: re.Match[str]) -> str:
        return hole[1] + "\n".join(TABLES[hole[2]]()) + "\n" + hole[3]

    return HOLE.sub(fill, page.read_text())


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
