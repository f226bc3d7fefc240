"""A pattern as a finite-state machine, for people to look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MANY = 200
"""So many states are shown; all further ones are one state."""

START, MATCH, FURTHER = "start", "match", "…"


@dataclass(frozen=True)
class State:
    """What comes after a row of an element; `asks` are the conditions that the row has to meet,
    those of a star on each of its rows; `ends` those that are asked when a star has ended.

    `counts` are the aggregates that are kept up with each row.
    """

    name: str
    asks: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Edge:
    """A step from one state to another, by a row that meets what the target asks; `anchors` are
    those of the pattern on the way.

    A step into the match takes no row.
    """

    source: int
    target: int
    anchors: str = ""


@dataclass(frozen=True)
class Machine:
    """States, the first of which is where a search begins; edges of one state in the order in which
    they are tried. A state MATCH is where a match is complete."""

    states: tuple[State, ...]
    edges: tuple[Edge, ...]

    def after(self, state: int) -> tuple[Edge, ...]:
        """The edges of a state, in the order in which they are tried."""
        return tuple(edge for edge in self.edges if edge.source == state)

    @property
    def numbered(self) -> Iterator[tuple[int, State]]:
        return enumerate(self.states)


@dataclass(frozen=True)
class Shift:
    """What is done after one kind of failure: where the next attempt begins, and with which element
    at which tuple it goes on; further ones are for where an earlier one is not there."""

    failed: str
    begins: tuple[str, ...]
    goes_on: tuple[str, ...]


@dataclass(frozen=True)
class Shifts:
    """The tables of the optimized search, and what they come from.

    `says` has a line for the tuples that met, or did not meet, the conditions of an element: for
    each element ALWAYS, NEVER or PERHAPS, as to whether such a tuple meets its conditions as well.
    `sure` are numbers that must not be negative for this.
    """

    lines: tuple[Shift, ...]
    elements: tuple[str, ...]
    says: tuple[tuple[str, tuple[str, ...]], ...]
    sure: tuple[str, ...] = ()


ALWAYS, NEVER, PERHAPS = "+", "-", "?"
