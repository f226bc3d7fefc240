"""The wrong scripts of errors.txt, and a database that knows some streams, tables and views."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from millstream.database import Database
from millstream.errors import MillstreamError

HERE = Path(__file__).parent
DATA = HERE / "data"
PRELUDE = (DATA / "prelude.sql").read_text()
CASES = [
    tuple(case.strip("\n").split("\n----\n"))
    for case in (HERE / "errors.txt").read_text().split("\n====\n")
]


def database() -> Database:
    """A database in which the prelude has been carried out."""
    return _known().copy()


def message(error: MillstreamError) -> str:
    """The rendered message, with the folder of the data left out."""
    lines = [line.rstrip() for line in error.render().splitlines()]
    return "\n".join(lines).replace(str(DATA), "<folder>")


@cache
def _known() -> Database:
    known = Database(base=str(DATA), tell=lambda text: None)
    known.execute(PRELUDE)
    return known
