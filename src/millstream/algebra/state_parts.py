"""What operators keep between steps: the parts of their state, in words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Structure(Enum):
    """How a part of a state lies, so that what is asked for is found."""

    DUE = "by the instant rows fall due"
    """A queue, a calendar or a list: the update patterns of the inputs decide which."""

    HASH = "hash"
    COUNTS = "counts by hash"
    GROUPS = "array by group"
    LIST = "list"
    QUEUE = "queue"
    SORTED = "in order"


class Extent(Enum):
    """How much a part holds: of what it has one row each."""

    ROWS = "the rows of an input"
    ENDING = "those of its rows whose end is known"
    VALUES = "the different rows of an input"
    GROUPS = "the groups of an input"
    COLLECTED = "the values in the groups of an input"
    OWN = "the rows of the output"
    SLIDE = "the rows of one slide"
    FRAMES = "the rows in the frames of partitions"
    PARTITIONS = "the partitions of a window"
    BETWEEN = "what has changed since the last point"
    GAP = "the rows that came within the gap that ends a session"
    AHEAD = "rows that name a time of their own, until it comes"
    WINDOW = "the tuples in the window of a call"
    INSTANCES = "what a call keeps of each of its partitions"
    ATTEMPTS = "the partitions in which an attempt to match is going on"
    ATTEMPTED = "the rows that attempts to match can still need"
    OPEN = "rows of instants that are not final yet"
    ONE = "one row"


@dataclass(frozen=True)
class StatePart:
    """A part of an operator's state: its name, what is in it, how it lies, and how much it is.

    `side` is the input that it is about.
    """

    part: str
    words: str
    structure: Structure
    extent: Extent
    side: int = 0


def ending(part: str = "due", side: int = 0, of: str = "rows") -> StatePart:
    """The rows whose expiration lies ahead."""
    return StatePart(part, f"{of} whose end lies ahead", Structure.DUE, Extent.ENDING, side)


def by_hash(part: str, side: int = 0, words: str | None = None) -> StatePart:
    """Rows that are found by their key."""
    return StatePart(part, words or f"rows of the {part}", Structure.HASH, Extent.ROWS, side)


LEFT_AND_RIGHT = (by_hash("left"), by_hash("right", 1))


def counted(*sides: str) -> tuple[StatePart, ...]:
    """How often every value is there on each side, and the rows whose end lies ahead."""
    return tuple(
        kept
        for side, name in enumerate(sides)
        for kept in (
            StatePart(f"counts {side}", f"values{name}", Structure.COUNTS, Extent.VALUES, side),
            ending(f"due {side}", side, f"rows{name}"),
        )
    )
