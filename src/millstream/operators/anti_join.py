"""AntiJoin: the left rows for which no right row is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.algebra.pattern import Label, Pattern
from millstream.operators.semi_join import Matched


@dataclass(frozen=True, eq=False)
class AntiJoin(Matched):
    """The left rows, as long as no right row is present that meets the condition.

    A condition that is unknown is not met.
    """

    has_partner: ClassVar[bool] = False
    monotonic: ClassVar[bool] = False  # type: ignore[assignment]
    never_retracts: ClassVar[bool] = False  # type: ignore[assignment]

    @property
    def label(self) -> Label:
        return Label(Pattern.STR, "a row on the right takes left ones back", 5)
