"""Update patterns: in what order, and how predictably, rows leave a relation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class Pattern(IntEnum):
    """How rows leave, from the simplest to the most complicated."""

    MON = 0
    WKS = 1
    WK = 2
    STR = 3

    @property
    def words(self) -> str:
        return (
            "rows never leave",
            "rows leave in the order they came, at instants known when they come",
            "rows leave at instants known when they come, in any order",
            "rows may be taken back at any instant",
        )[self]


@dataclass(frozen=True)
class Label:
    """The update pattern of an edge of a plan, and why it is that one."""

    pattern: Pattern
    reason: str


def simple(inputs: Iterable[Pattern]) -> Label:
    """Operators that keep the order of their inputs: as complicated as the worst of them."""
    worst = max(inputs, default=Pattern.MON)
    return Label(worst, "rows leave as they leave the input")


def weak(inputs: Iterable[Pattern], reason: str) -> Label:
    """Operators whose results end with their parts: known, but not in the order they came."""
    worst = max(inputs, default=Pattern.MON)
    if worst is Pattern.MON:
        return Label(Pattern.MON, "nothing ever leaves the input")
    if worst is Pattern.STR:
        return Label(Pattern.STR, "the input takes rows back")
    return Label(Pattern.WK, reason)
