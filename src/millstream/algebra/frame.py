"""Frames: which rows of its partition a call with OVER sees."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from millstream.algebra.lengths import length_text
from millstream.algebra.time import Domain


class Units(StrEnum):
    """What a frame is measured in."""

    ROWS = "Rows"
    RANGE = "Range"


@dataclass(frozen=True)
class Frame:
    """The current row and those of its partition that came at most so many before it.

    `preceding` is a number of rows or of instants, None without a bound. With `slide` L there are
    results for yield rows only: every L-th row of a partition, or the last row of it in every slot
    (k·L, (k+1)·L] of time. An `active` frame also gives a row for each that leaves.
    """

    units: Units
    preceding: int | None = None
    slide: int | None = None
    active: bool = False

    @property
    def rows(self) -> int | None:
        """How many rows are in it, the current one counted in; None if time or nothing says it."""
        if self.units is not Units.ROWS or self.preceding is None:
            return None
        return self.preceding + 1

    @property
    def length(self) -> int | None:
        """For how many instants after its own a row is in it; None if rows or nothing say it."""
        return self.preceding if self.units is Units.RANGE else None

    @property
    def unbounded(self) -> bool:
        return self.preceding is None

    @property
    def plain(self) -> bool:
        """Whether there is one result for every row, at its instant."""
        return self.slide is None and not self.active

    def text(self, domain: Domain | None) -> str:
        """The frame in plan text.

        >>> Frame(Units.ROWS, 9, slide=5).text(None)
        'Rows 9 Preceding Slide 5'
        """
        words = [self.units.value, self._length(self.preceding, domain), "Preceding"]
        if self.slide is not None:
            words += ["Slide", self._length(self.slide, domain)]
        return " ".join([*words, *(["Active"] if self.active else [])])

    def _length(self, amount: int | None, domain: Domain | None) -> str:
        if amount is None:
            return "Unbounded"
        return str(amount) if self.units is Units.ROWS else length_text(amount, domain)
