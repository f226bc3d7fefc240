"""Predicate push-down through a projection."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.expressions import Column, Expression, columns_of
from millstream.algebra.node import Node
from millstream.operators import Filter, Project
from millstream.operators.filter import filtered
from millstream.rules.pieces import conditions, is_cheap, substitute


def push_filter_below_project(node: Node) -> Node | None:
    """Test a condition on what the columns were computed from.

        Filter twice > 10                 Project 2 * price as twice
          Project 2 * price as twice  →     Filter 2 * price > 10
            S                                 S

    Sound because expressions have the same value wherever they are computed, and a projection
    hands on every row with its times. Columns that are costly to compute are not computed twice.
    """
    match node:
        case Filter(condition=condition, input=Project(outputs=outputs, input=source) as project):
            values = dict(outputs)
            below = [c for c in conditions(condition) if _may_sink(c, values)]
            above = [c for c in conditions(condition) if not _may_sink(c, values)]
            if below:
                tests = [substitute(c, values) for c in below]
                return filtered(above, replace(project, input=filtered(tests, source)))
    return None


def _may_sink(condition: Expression, values: dict[str, Expression]) -> bool:
    return all(
        isinstance(values[name], Column) or is_cheap(values[name]) for name in columns_of(condition)
    )
