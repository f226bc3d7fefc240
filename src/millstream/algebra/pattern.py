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
            "rows may be retracted at any instant",
        )[self]


@dataclass(frozen=True)
class Label:
    """The update pattern of an edge of a plan, why it is that one, and by which of the five rules.

    Without a rule are the windows and streams that the rules begin with, what never leaves, and
    operators that the rules do not know.
    """

    pattern: Pattern
    reason: str
    rule: int | None = None

    def __str__(self) -> str:
        return self.reason if self.rule is None else f"rule {self.rule}: {self.reason}"


def simple(inputs: Iterable[Pattern]) -> Label:
    """Operators that keep the order of their inputs: as complicated as the worst of them.

    Rule 1 for one input, rule 2 for two.
    """
    given = tuple(inputs)
    worst = max(given, default=Pattern.MON)
    if worst is Pattern.MON:
        return Label(Pattern.MON, "nothing ever leaves the input")
    if len(given) == 1:
        return Label(worst, "rows leave as they leave the input", 1)
    return Label(worst, "rows leave as they leave the inputs", 2)


def weak(inputs: Iterable[Pattern], reason: str) -> Label:
    """Operators whose results end with their parts: known, but not in the order they came.

    Rule 3. Over inputs that nothing ever leaves, nothing leaves the output either.
    """
    worst = max(inputs, default=Pattern.MON)
    if worst is Pattern.MON:
        return Label(Pattern.MON, "nothing ever leaves the input")
    if worst is Pattern.STR:
        return Label(Pattern.STR, "the input retracts rows", 3)
    return Label(Pattern.WK, reason, 3)
