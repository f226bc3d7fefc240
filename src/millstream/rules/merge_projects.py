"""Two projections in a row are one."""

from __future__ import annotations

from collections import Counter

from millstream.algebra.expressions import Column, Expression, Literal, walk
from millstream.algebra.node import Node
from millstream.operators import Project
from millstream.rules.pieces import is_cheap, substitute


def merge_projects(node: Node) -> Node | None:
    """Compute the columns of the upper projection from what the lower one is made of.

        Project x + 1 as y              Project 2 * price + 1 as y
          Project 2 * price as x  →       S
            S

    Sound because expressions have the same value wherever they are computed. Not when something
    costly would be computed more than once.
    """
    match node:
        case Project(outputs=upper, input=Project(outputs=lower, input=source)):
            values = dict(lower)
            if _repeats(upper, values):
                return None
            return Project(tuple((n, substitute(e, values)) for n, e in upper), source)
    return None


def _repeats(upper: tuple[tuple[str, Expression], ...], values: dict[str, Expression]) -> bool:
    uses = Counter(e.name for _, o in upper for e in walk(o) if isinstance(e, Column))
    return any(
        count > 1 and not isinstance(values[name], (Column, Literal)) and not is_cheap(values[name])
        for name, count in uses.items()
    )
