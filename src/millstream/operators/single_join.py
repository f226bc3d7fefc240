"""SingleJoin: rows with the values that a subquery has for each of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from millstream.algebra.lifetime import Lifetime, ends_of
from millstream.operators.join import Found, Paired


@dataclass(frozen=True, eq=False)
class SingleJoin(Paired):
    """A subquery as a value: each left row with the one right row that goes with it.

    Law: as a Join, but the result is the left tuple still, with its arrival; it is another row
    only when a value that is kept of the right one changes. At no instant has a left row two
    partners: the binder sees to that.
    """

    follows_content: ClassVar[bool] = True

    def lives(self, left: Lifetime, right: Lifetime) -> Lifetime:
        return Lifetime(
            self.label_of(left, right),
            retracts=left.retracts or right.retracts,
            ends=ends_of(left, right),
            transient=left.transient,
            consolidated=False,
            bounded=left.bounded,
        )

    @cached_property
    def key(self) -> tuple[str, ...] | None:
        return self.left.key

    def identity(self, found: Found) -> np.ndarray:
        return found.left.seq[found.i]
