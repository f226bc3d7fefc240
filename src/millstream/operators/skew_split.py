"""SkewSplit: rows of hot keys go another way, so that all buckets share their work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.algebra.lifetime import Lifetime, passed_on
from millstream.algebra.node import Distribution, Node
from millstream.operators.exchange import Exchange

LEFT, RIGHT = "left", "right"


@dataclass(frozen=True, eq=False)
class SkewSplit(Node):
    """The same rows below a join, those of very common keys spread over several buckets.

    Law: of two rows that must meet, both lie in the bucket of their key, or one of them lies in one
    bucket, whichever it is, and the other in all. Hosts carry it out, with the hot keys that the
    two sides of a `meeting` share; while there are none, all rows pass as they are.
    """

    stateless: ClassVar[bool] = True
    moves_rows: ClassVar[bool] = True

    side: str
    meeting: str
    free: tuple[str, ...]
    """The sides whose rows may be spread; those of the other side are sent everywhere then."""
    input: Node

    @property
    def is_stream(self) -> bool:  # type: ignore[override]
        return self.input.is_stream

    @property
    def by(self) -> tuple[str, ...]:
        """The columns of the key."""
        assert isinstance(self.input, Exchange) and self.input.by is not None
        return self.input.by

    def lives(self, given: Lifetime) -> Lifetime:
        return passed_on(given)

    def distribution(self, given: Distribution, *others: Distribution) -> Distribution:
        return None

    @property
    def words(self) -> str:
        return f"{self.side} of {self.meeting} spreading {', '.join(self.free)}"
