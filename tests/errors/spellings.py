"""Spellings of other systems, and what Millstream says to them: spellings.txt.

Entries are separated by a line of equals signs. Each has three parts, with lines of dashes between
them: the system and, on the next lines, what its users write; the message, or `works`; and a script
that does the same here, where there is one. data/shop.sql has what they are about.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from millstream.database import Database
from millstream.errors import MillstreamError

HERE = Path(__file__).parent
FILE = HERE / "spellings.txt"
WORKS = "works"


@dataclass(frozen=True)
class Spelling:
    """What is written elsewhere, what Millstream says to it, and what to write here."""

    system: str
    written: str
    answer: str
    instead: str

    @property
    def works(self) -> bool:
        return self.answer == WORKS

    @property
    def message(self) -> str:
        return self.answer.splitlines()[0]

    @property
    def hint(self) -> str:
        lines = [line for line in self.answer.splitlines() if line.startswith("hint: ")]
        return lines[-1].removeprefix("hint: ") if lines else ""


def spellings() -> list[Spelling]:
    return [_read(entry) for entry in FILE.read_text().strip("\n").split("\n====\n")]


def said_to(script: str) -> str:
    """What a script gets: its error, or `works`."""
    try:
        shop().execute(script)
    except MillstreamError as error:
        return "\n".join(line.rstrip() for line in error.render().splitlines())
    return WORKS


def shop() -> Database:
    return _shop().copy()


@cache
def _shop() -> Database:
    known = Database(tell=lambda text: None)
    known.execute((HERE / "data" / "shop.sql").read_text())
    return known


def _read(entry: str) -> Spelling:
    head, answer, *instead = (part.strip("\n") for part in entry.split("\n----\n"))
    system, _, written = head.partition("\n")
    return Spelling(system, written, answer, instead[0] if instead else "")
