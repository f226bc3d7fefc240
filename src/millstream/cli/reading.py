"""`millstream read`: queries answered once, over what a run has left on its checkpoint."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

from millstream.algebra.changes import concat_rows, no_rows
from millstream.cli.printing import Printer
from millstream.cli.running import one_of
from millstream.cli.scripts import load
from millstream.database.held import Instant
from millstream.database.reading import read
from millstream.engine.snapshot import snapshot_in

FORMATS = ("csv", "jsonl", "table")


def read_command(
    script: Path,
    queries: tuple[str, ...],
    checkpoint: str,
    as_of: str | None,
    format: str | None,
    settings: tuple[str, ...],
    python: bool = True,
) -> None:
    """Print the answer of every query. The run may go on meanwhile: nothing of it is touched."""
    form = format or ("table" if sys.stdout.isatty() else "csv")
    one_of("format", form, FORMATS)
    database = load(script, settings, lambda text: None, (), checkpoint, python=python)
    job, instant = database.job(), None if as_of is None else _instant(as_of)
    answers = {
        f"read{number}": read(
            text, database.contents, lambda: snapshot_in(checkpoint, job), instant
        )
        for number, text in enumerate(queries, 1)
    }
    _print(answers, form)


def _instant(text: str) -> Instant:
    """A number, or a date and time."""
    try:
        return int(text)
    except ValueError:
        return text


def _print(answers: dict[str, pa.Table], form: str) -> None:
    printer = Printer({name: table.schema for name, table in answers.items()}, form)
    for name, table in answers.items():
        rows = concat_rows(table.to_batches() or [no_rows(table.schema)], table.schema)
        printer.whole(name, rows)
