"""How an operator lays out its state: a choice of the strategy that changes no answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from millstream.algebra.changes import Changes


class Buffer(Enum):
    """Where rows lie that wait for an instant: `by` says whether that is their exp or their ts.

    A queue takes rows that fall due in the order they come: only its oldest chunks are looked at.
    A calendar lays rows out by the instant they fall due: only the pages of a span are looked at.
    A list knows nothing: it is looked through from end to end.
    """

    QUEUE = "queue"
    CALENDAR = "calendar"
    LIST = "list"


class FewerRows(Protocol):
    """Makes fewer rows of many that nobody tells apart."""

    def of(self, changes: Changes, end: int) -> Changes:
        """The same in few rows, where all is final up to an instant."""


@dataclass(frozen=True)
class StateLayout:
    """How an operator keeps state.

    `lazy` is the share of its time after which a chunk is cleared of expired rows, where nothing
    has to happen when they expire. `readers` is how many operators above wait for the ends of the
    rows it emits. `uses_ends` says whether an operator without state may make use of ends, `native`
    whether routines may run as native code, `skips` whether a search for a pattern may skip what
    cannot match, and `steps` how many tests it may make for each row that it has come to. `at_once`
    says that nobody asks for the instants of its output: it may take all changes of a step as if
    they were at its last instant; `subtotals` makes rows that are read few before they are sent.
    `history` is how long a stored result keeps what it held, in the units of its time.
    """

    buffer: Buffer = Buffer.CALENDAR
    lazy: float = 0.5
    readers: int = 1
    uses_ends: bool = True
    native: bool = True
    skips: bool = True
    steps: int = 1_000
    at_once: bool = False
    subtotals: FewerRows | None = None
    history: int = 0
