"""What an operator asks of a search: `Sequence` and `Recognition` both answer it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from millstream.blocks.machine import Failure
from millstream.patterns.sequence import Found
from millstream.patterns.tallies import Measure, Tally

STEPS = 1_000
"""So many tests an attempt may make for every row that it has come to."""


class Search(Protocol):
    """A pattern, and how it is looked for in the rows of partitions.

    What `find` calls matches is a value of its own, which only the search looks into.
    """

    @property
    def length(self) -> int:
        """How many rows a match has at least."""

    @property
    def tallies(self) -> tuple[Tally, ...]: ...

    @property
    def within(self) -> int | None: ...

    @property
    def timeouts(self) -> bool: ...

    @property
    def words_of_state(self) -> int: ...

    def columns(self, gives: Iterable[str]) -> tuple[frozenset[str], frozenset[tuple[str, int]]]:
        """The columns of rows that are read for some results, and those read some tuples on."""

    def find(
        self,
        rows: pa.RecordBatch,
        starts: np.ndarray,
        fresh: np.ndarray,
        position: np.ndarray,
        ts: np.ndarray,
        state: np.ndarray,
        *,
        skips: bool = True,
        steps: int = STEPS,
        closed: bool = False,
        now: int,
        measure: Measure | None = None,
    ) -> Found:
        """Search partitions whose rows lie from `starts[p]` to `starts[p + 1]`, those from
        `fresh[p]` on for the first time. `closed` says that no more rows come. An attempt makes at
        most `steps` tests for each row that it has come to, unless none can take longer. What the
        search cannot count is computed by `measure`."""

    def empty_state(self, partitions: int) -> np.ndarray: ...

    def partitions_of(self, matches: Any) -> np.ndarray: ...

    def decided(self, matches: Any) -> tuple[np.ndarray, np.ndarray]:
        """The row that decides each match, or −1 if time does, and the instant."""

    def is_going(self, state: np.ndarray) -> np.ndarray:
        """Which partitions have something to remember."""

    def first_position(self, state: np.ndarray) -> np.ndarray: ...

    def results(
        self,
        matches: Any,
        rows: pa.RecordBatch,
        gives: Mapping[str, pa.DataType],
        measure: Measure | None = None,
        failed: list[tuple[str, Failure]] | None = None,
    ) -> list[pa.Array]:
        """The values of references in every match; rows that an aggregate could not take are added
        to `failed`, unless the search has told of them."""

    def words(self, length: Callable[[int], str]) -> str:
        """As it stands in the plan text; `length` writes a length of time."""
