"""Predicate windows below projections."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.expressions import Column, columns_of
from millstream.algebra.node import Node
from millstream.algebra.now import NOW
from millstream.algebra.presence import Presence
from millstream.operators import Project, Within
from millstream.rules.pieces import is_cheap, substitute


def push_within_below_project(node: Node) -> Node | None:
    """Look at the condition where the columns were computed from.

        Within #now < (came + 5) by came        Project ts as came
          Project ts as came                →     Within #now < (ts + 5) by ts
            R                                       R

    Sound because expressions have the same value wherever they are computed, and a projection hands
    on every row with its times. Columns that are costly to compute are not computed twice.
    """
    match node:
        case Within(condition=condition, input=Project(outputs=outputs, input=source) as project):
            values = dict(outputs)
            read = [values[name] for name in columns_of(condition) - {NOW}]
            below = substitute(condition, values)
            if not all(isinstance(e, Column) or is_cheap(e) for e in read):
                return None
            if Presence.of(below, node.points) is None or not _keeps(node, values):
                return None
            times = tuple(values[name].name for name in node.times)  # type: ignore[attr-defined]
            return replace(project, input=replace(node, condition=below, times=times, input=source))
    return None


def _keeps(node: Within, values: dict) -> bool:  # type: ignore[type-arg]
    """Whether the columns of times are columns below as well."""
    return all(isinstance(values[name], Column) for name in node.times)
