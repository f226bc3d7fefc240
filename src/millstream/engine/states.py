"""Where the states of a job lie between batches: in files, or in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from millstream.engine.store import BucketStore
from millstream.state.chunks import Log, State

States = Mapping[str, State]
"""The states of one bucket of one level, by the names of operators."""


class StateStore(Protocol):
    """The states of every level and bucket, after every batch from which a run may go on.

    Law: what was written for a batch is read for it, until it is written again; what a batch that
    did not finish has written is never read.
    """

    def read(self, level: int, bucket: int, batch: int) -> States:
        """The states after a batch; none before the first (−1)."""

    def write(self, level: int, bucket: int, batch: int, states: States, before: int) -> int:
        """Keep the states after a batch, which come from those of `before`; gives the bytes
        written."""


@dataclass(frozen=True)
class FileStates:
    """States in the files of a checkpoint."""

    root: str

    def read(self, level: int, bucket: int, batch: int) -> States:
        return BucketStore.at(self.root, level, bucket).read(batch)

    def write(self, level: int, bucket: int, batch: int, states: States, before: int) -> int:
        return BucketStore.at(self.root, level, bucket).write(batch, states, before)


@dataclass
class MemoryStates:
    """States in the memory of this process: of the last batch, and of the one that runs."""

    kept: dict[tuple[int, int], dict[int, States]] = field(default_factory=dict)

    def read(self, level: int, bucket: int, batch: int) -> States:
        return {} if batch < 0 else self.kept[level, bucket][batch]

    def write(self, level: int, bucket: int, batch: int, states: States, before: int) -> int:
        there = self.kept.get((level, bucket), {})
        self.kept[level, bucket] = {n: s for n, s in there.items() if n == before} | {batch: states}
        return 0


def rows_in(states: States) -> int:
    """How many rows operators keep."""
    return sum(
        part.rows if isinstance(part, Log) else part.num_rows
        for state in states.values()
        for part in state.values()
    )
