"""What a block computes of its arguments more than once."""

from __future__ import annotations

from collections import Counter

from millstream.algebra.expressions import Call, Cast, Expression, Literal
from millstream.blocks.leaves import Argument
from millstream.blocks.routine import Block
from millstream.blocks.walking import parts_of


def repeated(block: Block) -> list[Expression]:
    """Expressions of the arguments alone that stand in a block more than once, the largest."""
    times = Counter(
        part
        for statement in block
        for part in parts_of(statement)
        if isinstance(part, Call) and _is_of_arguments(part)
    )
    found = [part for part, n in times.items() if n > 1]
    inner = {part for one in found for part in list(parts_of(one))[1:] if isinstance(part, Call)}
    return [part for part in found if part not in inner]


def _is_of_arguments(expression: Expression) -> bool:
    parts = list(parts_of(expression))
    return all(isinstance(p, (Call, Cast, Literal, Argument)) for p in parts)
