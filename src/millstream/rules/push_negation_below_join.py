"""Negation before a join: rows that are not wanted are not joined."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.expressions import Column, Expression, columns_of
from millstream.algebra.node import Node, walk
from millstream.operators import AntiJoin, Join, Project, TableScan
from millstream.rules.pieces import fresh_names, moves_columns_only, renamed, substitute


def push_negation_below_join(node: Node) -> Node | None:
    """Leave out the rows of one side of a join that have a partner, before they are joined.

        AntiJoin a = b                  Join a = c
          Join a = c                      AntiJoin a = b
            A (a)                  →        A (a)
            C (c)                           B (b)
          B (b)                           C (c)

    Sound because the negation looks at the columns of A alone: a pair has no partner in B exactly
    when its row of A has none, at every instant; and a pair is known by its two parts either way.
    Not when A or C is a table that changes: what is joined with a table must not be retracted, or
    every change of the table meets rows that come and go. Joins that look a row up when it comes do
    not pass a negation at all: a row that comes back would be looked up again.

    It pays when the negation leaves few rows to be joined; and costs when it retracts many rows,
    whose pairs are then retracted too. So the cost decides.
    """
    if not isinstance(node, AntiJoin):
        return None
    match node.left:
        case Join() as join:
            return _below(join, node.condition, node.right)
        case Project(outputs=outputs, input=Join() as join) as project if moves_columns_only(
            project
        ):
            right = node.right
            names = fresh_names(right.schema.names, join.schema.names)
            there = {f.name: Column(names[f.name], f.type) for f in right.schema}
            asked = substitute(node.condition, {**dict(outputs), **there})
            below = _below(join, asked, renamed(right, names))
            return None if below is None else replace(project, input=below)
    return None


def _below(join: Join, condition: Expression, right: Node) -> Node | None:
    if any(_changes(side) for side in join.inputs):
        return None
    asked = columns_of(condition) - set(right.schema.names)
    if asked <= set(join.left.schema.names):
        return replace(join, left=AntiJoin(condition, join.left, right))
    if asked <= set(join.right.schema.names):
        return replace(join, right=AntiJoin(condition, join.right, right))
    return None


def _changes(node: Node) -> bool:
    """Whether rows come from a table whose rows are updated and deleted."""
    return any(isinstance(part, TableScan) and not part.is_static for part in walk(node))
