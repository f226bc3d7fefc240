"""Rows in the order of time, in the parts in which they were sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.time import Span


@dataclass(frozen=True, eq=False)
class InParts:
    """Changes in the order of time and arrival, which no part ends before the next begins.

    The files of a backlog follow each other in time: so their rows are not copied into one batch,
    only those of a step that lies across two of them.
    """

    parts: tuple[Changes, ...]
    schema: pa.Schema

    @staticmethod
    def of(parts: Sequence[Changes], schema: pa.Schema) -> InParts:
        """Parts that lie across each other in time become one."""
        given = [part.in_time_order() for part in parts if len(part)]
        if not all(_follows(one, other) for one, other in pairwise(given)):
            given = [Changes.concat(parts, schema).in_time_order()]
        return InParts(tuple(given), schema)

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def ts(self) -> np.ndarray:
        if len(self.parts) == 1:
            return self.parts[0].ts
        return np.concatenate([np.zeros(0, np.int64), *(part.ts for part in self.parts)])

    def within(self, span: Span) -> Changes:
        """The rows of the instants of a span."""
        found = []
        for part in self.parts:
            low, high = np.searchsorted(part.ts, [span.start, span.end], side="right")
            found.append(part.slice(int(low), int(high)))
        return Changes.concat(found, self.schema)


def _follows(one: Changes, other: Changes) -> bool:
    """Whether the rows of another part come after those of one."""
    last, first = (one.ts[-1], one.seq[-1]), (other.ts[0], other.seq[0])
    return bool(last <= first)
