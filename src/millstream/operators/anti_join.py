"""AntiJoin: the left rows for which no right row is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.algebra.lifetime import Lifetime
from millstream.algebra.pattern import Label, Pattern
from millstream.operators.semi_join import Matched


@dataclass(frozen=True, eq=False)
class AntiJoin(Matched):
    """NOT IN or NOT EXISTS: the left rows, while no right row is present that meets the condition.

    A condition that is unknown is not met.
    """

    follows_content: ClassVar[bool] = True

    has_partner: ClassVar[bool] = False

    def lives(self, left: Lifetime, right: Lifetime) -> Lifetime:
        label = Label(Pattern.STR, "a row on the right takes left ones back", 5)
        return self.matched(label, True, left, right)
