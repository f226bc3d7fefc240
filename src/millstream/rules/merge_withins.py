"""Two conditions on Now as one."""

from __future__ import annotations

from millstream.algebra.expressions import conjunction
from millstream.algebra.node import Node
from millstream.algebra.presence import Presence
from millstream.operators import Within
from millstream.operators.within import during
from millstream.rules.pieces import conditions


def merge_withins(node: Node) -> Node | None:
    """Look at a row once for all conditions on Now.

        Within #now < (TS + 5)
          Within until > #now    →    Within until > #now and #now < (TS + 5)
            R                           R

    Sound because a row meets both exactly when it meets their conjunction.
    """
    match node:
        case Within(input=Within() as below) if node.points is None is below.points:
            parts = list(dict.fromkeys(conditions(below.condition) + conditions(node.condition)))
            if Presence.of(conjunction(parts)) is None:
                return None
            return during(parts, tuple(dict.fromkeys((*below.times, *node.times))), below.input)
    return None
