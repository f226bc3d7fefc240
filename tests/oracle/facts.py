"""Facts: the tuples of a relation, at one instant and over time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from .spec import Row


class Fact(NamedTuple):
    """A tuple of a relation.

    `identity` says which one it is: the element's number, pairs of those that were joined, the
    group and its members, the value of what has no copies. Two instants with the same
    identities saw nothing enter or leave. `ts` and `order` are those of the stream row it comes
    from; None when it comes from none or several, () when it never changes. `order` ranks it among
    the facts of an instant, and rows of slots that overlap are ranked by their values alone;
    `arrival` is that of the stream row in the slot.
    """

    identity: object
    ts: int | None
    order: tuple | None
    row: Row
    arrival: int | None = None


@dataclass(frozen=True)
class Timeline:
    """A relation: its facts at consecutive instants; before the first it is empty."""

    moments: tuple[tuple[int, list[Fact]], ...]

    def pairs(self) -> Iterator[tuple[int, list[Fact], list[Fact]]]:
        """(τ, R(τ−1), R(τ)) for every instant."""
        before: list[Fact] = []
        for at, now in self.moments:
            yield at, before, now
            before = now

    def changes(self) -> Iterator[tuple[int, list[Fact]]]:
        """(τ, R(τ)) for every active instant: some tuple entered or left."""
        for at, before, now in self.pairs():
            if before is now:
                continue
            if {f.identity for f in before} != {f.identity for f in now}:
                yield at, now

    def last(self) -> tuple[Row, ...]:
        """The bag at the last instant."""
        return tuple(fact.row for fact in self.moments[-1][1]) if self.moments else ()

    def at(self, instant: int) -> list[Fact]:
        place = bisect_right(self.instants, instant)
        return self.moments[place - 1][1] if place else []

    @cached_property
    def instants(self) -> list[int]:
        return [at for at, _ in self.moments]


def rank(fact: Fact) -> tuple:
    """Ties: by the arrival of the base row (0 when there is none), then by the values."""
    return (fact.order[0] if fact.order else 0, values_rank(fact.row))


def values_rank(row: Row) -> tuple:
    """Column by column, NULL first; a list is ranked like a row."""
    return tuple(
        (value is not None, values_rank(value) if isinstance(value, tuple) else value)
        for value in row
    )
