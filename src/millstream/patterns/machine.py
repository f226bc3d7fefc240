"""A pattern as a finite-state machine, for people to look at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Edge:
    """A step from one state to another, by a row that meets a condition; `label` says which.

    An edge without a row, such as the one that ends a star, has `takes` False.
    """

    source: int
    target: int
    label: str
    takes: bool = True


@dataclass(frozen=True)
class Machine:
    """States by their names, the first of which is where a search begins; edges of one state in
    the order in which they are tried; and the states in which a match is complete."""

    states: tuple[str, ...]
    edges: tuple[Edge, ...]
    ends: tuple[int, ...]
