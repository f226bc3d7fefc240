"""What an operator keeps between steps: small tables, and logs of immutable chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes


@dataclass(frozen=True, eq=False)
class Chunk:
    """An immutable piece of state, with the range of instants at which its rows fall due.

    `reference` says where the store has put it, or is None while it is only in memory; then `load`
    reads it from there.
    """

    rows: int
    first_due: int
    last_due: int
    load: Callable[[], Changes] = field(repr=False)
    reference: tuple[str, int, int, int] | None = None

    @cached_property
    def changes(self) -> Changes:
        """Its rows; looked at several times in a batch, so they are loaded once."""
        return self.load()

    @staticmethod
    def of(changes: Changes, due: np.ndarray) -> Chunk:
        return Chunk(len(due), int(due.min()), int(due.max()), lambda: changes)


@dataclass(frozen=True, eq=False)
class Log:
    """Chunks in the order they were written: append at the end, drop what has fallen due."""

    chunks: tuple[Chunk, ...] = ()

    @property
    def rows(self) -> int:
        return sum(chunk.rows for chunk in self.chunks)

    def append(self, changes: Changes, due: np.ndarray) -> Log:
        if len(changes) == 0:
            return self
        return Log((*self.chunks, Chunk.of(changes, due)))

    def after(self, instant: int) -> Log:
        """Without the chunks all of whose rows fell due by the instant."""
        return Log(tuple(chunk for chunk in self.chunks if chunk.last_due > instant))

    def touching(self, start: int, end: int) -> list[Changes]:
        """The chunks that may hold rows due after `start` and up to `end`."""
        return [
            chunk.changes
            for chunk in self.chunks
            if chunk.first_due <= end and chunk.last_due > start
        ]

    def all(self) -> list[Changes]:
        return [chunk.changes for chunk in self.chunks]


Part: TypeAlias = pa.RecordBatch | Log
State = Mapping[str, Part]
"""The parts of one operator's state in one bucket, by name."""
