"""Exchange: rows change buckets, so that those that belong together lie together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.algebra.expressions import name_text
from millstream.algebra.lifetime import Lifetime, passed_on
from millstream.algebra.node import BROADCAST, ONE, Distribution, Node, walk
from millstream.algebra.state_parts import Extent, StatePart, Structure


@dataclass(frozen=True, eq=False)
class Exchange(Node):
    """The same rows, each sent to the bucket (the part of the work) that its key belongs to.

    `by` are the columns of the key; without columns all rows go to one bucket; None is any.
    Hosts carry it out: its input runs on one level, what reads it on the next.
    """

    moves_rows: ClassVar[bool] = True
    keeps_ends: ClassVar[bool] = True

    by: Distribution
    input: Node

    @property
    def is_stream(self) -> bool:  # type: ignore[override]
        return self.input.is_stream

    def lives(self, given: Lifetime) -> Lifetime:
        return passed_on(given)

    def distribution(self, given: Distribution, *others: Distribution) -> Distribution:
        return self.by

    @property
    def state_parts(self) -> tuple[StatePart, ...]:  # type: ignore[override]
        """Rows wait where they have been read; further up, every instant is whole."""
        if any(isinstance(node, Exchange) for node in walk(self.input)):
            return ()
        return (
            StatePart("waiting", "rows that wait for the heartbeat", Structure.DUE, Extent.OPEN),
        )

    @property
    def words(self) -> str:
        match self.by:
            case None:
                return "anywhere"
            case (first, _) if first == ONE:
                return "to one bucket"
            case by if by == BROADCAST:
                return "broadcast"
        return f"by {', '.join(name_text(name) for name in self.by)}"
