"""Which of two rows comes first by ORDER BY."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.algebra.types import DOUBLE
from millstream.blocks.native.kinds import Value
from millstream.blocks.native.place import Place, compares_by_order
from millstream.blocks.queries import Ordered


def comes_before(
    place: Place, order: Sequence[Ordered], keys: Sequence[Value], best: Sequence[Value]
) -> str:
    """Code of whether a row with these keys comes before another one; not if they tie.

    NaN is greater than all other doubles, and as great as itself.
    """
    if not order:
        return "False"
    part, key, other = order[0], keys[0], best[0]
    compares_by_order(place, part.value.type)
    rest = comes_before(place, order[1:], keys[1:], best[1:])
    left, right = (other, key) if part.descending else (key, other)
    less = f"{left.code} < {right.code}"
    same = f"{left.code} == {right.code}"
    if part.value.type == DOUBLE:
        less = f"({less} or ({left.code} == {left.code} and {right.code} != {right.code}))"
        same = f"({same} or ({left.code} != {left.code} and {right.code} != {right.code}))"
    code = less if rest == "False" else f"({less} or ({same} and {rest}))"
    if key.valid is None and other.valid is None:
        return code
    mine, theirs = key.valid or "True", other.valid or "True"
    first, last = (mine, theirs) if part.nulls_first else (theirs, mine)
    code = f"((not {first} and {last}) or ({mine} and {theirs} and {code})"
    return f"{code} or (not {mine} and not {theirs} and {rest}))"
