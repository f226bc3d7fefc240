"""Sources in partitions: several sequences side by side, each with positions of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from millstream.connect.source import ReadBatch, Slice, Source
from millstream.errors import MillstreamError

NUMBER_BITS = 16
MOST_PARTITIONS = 1 << NUMBER_BITS
LAST_POSITION = (1 << (62 - NUMBER_BITS)) - 1


class Partitions(Protocol):
    """What a connector with partitions has to give: their names, and a source for each.

    The source of a partition is an ordinary one: it knows nothing of the others.
    """

    def names(self) -> Sequence[str]:
        """The partitions there are now. Later there may be more, never fewer."""

    def open(self, name: str) -> Source:
        """The source of one partition; the caller marks its slices with the partition."""

    @property
    def grows(self) -> bool:
        """Whether partitions may still come."""


@dataclass(frozen=True)
class PartitionedSource:
    """A source whose rows come in partitions.

    Position: for every partition its number, its own position and whether it has ended, and
    whose turn it is. The partitions of the first look are numbered in the order of their names;
    those that appear later follow in the order in which they are found.

    Law: a batch takes about as many rows of each open partition; what a partition gives does not
    depend on how the others are cut.
    """

    name: str
    of: Partitions
    _opened: dict[str, Source] = field(default_factory=dict, init=False, compare=False)

    def start(self) -> dict[str, Any]:
        return {"partitions": {}, "turn": 0}

    def plan(self, position: dict[str, Any], rows: int) -> tuple[list[Slice], dict[str, Any], bool]:
        known = self._with_new(position["partitions"])
        waiting = _from_turn(position["turn"], known)
        slices: list[Slice] = []
        while waiting and rows > 0:
            name = waiting.pop(0)
            part, share = known[name], max(1, rows // (len(waiting) + 1))
            found, at, ended = self.source(name).plan(part["at"], share)
            known[name] = {**part, "at": at, "ended": ended}
            slices += [replace(s, partition=name, number=part["number"]) for s in found]
            rows -= sum(share if s.rows is None else s.rows for s in found)
        turn = known[waiting[0]]["number"] if waiting else 0
        done = not self.of.grows and all(part["ended"] for part in known.values())
        return slices, {"partitions": known, "turn": turn}, done

    def read(self, slice: Slice, columns: Sequence[str]) -> ReadBatch:
        return self.source(slice.partition).read(slice, columns)

    def source(self, name: str) -> Source:
        """The source of one partition."""
        if name not in self._opened:
            self._opened[name] = self.of.open(name)
        return self._opened[name]

    def reopened(self, position: dict[str, Any]) -> dict[str, Any]:
        """The position for another run, which looks again at partitions that had ended."""
        known = position["partitions"]
        return {**position, "partitions": {n: {**p, "ended": False} for n, p in known.items()}}

    def _with_new(self, known: Mapping[str, Any]) -> dict[str, Any]:
        found = dict(known)
        for name in sorted(set(self.of.names()) - found.keys()):
            if len(found) == MOST_PARTITIONS:
                raise MillstreamError(
                    f'the source of stream "{self.name}" has more than {MOST_PARTITIONS:,} '
                    "partitions",
                    hint="Put several of them together.",
                )
            at = self.source(name).start()
            found[name] = {"number": len(found), "at": at, "ended": False}
        return found


def arrivals(positions: np.ndarray, number: int | None) -> np.ndarray:
    """Arrival numbers of rows at positions of the partition with a number; None is no partition.

    Law: they order the rows of all partitions by position, then by the number of the partition,
    however batches were cut; two rows never have the same.

    >>> arrivals(np.array([1, 2]), None).tolist(), arrivals(np.array([1, 2]), 3).tolist()
    ([1, 2], [65539, 131075])
    """
    if number is None:
        return positions
    if len(positions) and positions[-1] > LAST_POSITION:
        raise MillstreamError(f"position {positions[-1]} of a partition is too large")
    return (positions << NUMBER_BITS) | number


def _from_turn(turn: int, known: Mapping[str, Any]) -> list[str]:
    """The open partitions, beginning with the one whose turn it is."""
    names = [name for name, part in known.items() if not part["ended"]]
    first = next((i for i, name in enumerate(names) if known[name]["number"] >= turn), 0)
    return [*names[first:], *names[:first]]
