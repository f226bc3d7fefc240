"""Update pattern simplification: rows are joined before some of them are retracted."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from millstream.algebra.expressions import Call, Column, Expression, columns_of, conjunction
from millstream.algebra.node import Node
from millstream.algebra.types import BOOLEAN
from millstream.operators import AntiJoin, Join, Minus, Project
from millstream.operators.project import Outputs, handed_on
from millstream.rules.pieces import (
    fresh_names,
    is_by_value,
    moves_columns_only,
    renamed,
    substitute,
)


def pull_negation_above_join(node: Node) -> Node | None:
    """Join first, and leave out afterwards what has a partner on the other side of a negation.

        Join a = c                      AntiJoin a = b
          AntiJoin a = b                  Join a = c
            A (a)                  →        A (a)
            B (b)                           C (c)
          C (c)                           B (b)

    Sound because the negation looks at the columns of A alone: a pair has no partner in B exactly
    when its row of A has none, at every instant; and a pair is known by its two parts either way.
    A Minus over rows that are known by their values (no doubles: NaN) is such a negation, too. Not
    for a join that looks a row up when it comes: there a row that comes back is another one.

    It pays when the negation retracts many rows, for these do not reach the join; and costs when
    the join makes many rows. So the cost decides.
    """
    if not isinstance(node, Join):
        return None
    for side in node.inputs:
        found = _Negation.of(side)
        if found is not None:
            return _above(node, side, found)
    return None


@dataclass(frozen=True)
class _Negation:
    """An AntiJoin, or what is one, below a projection that moves columns."""

    outputs: Outputs
    condition: Expression
    left: Node
    right: Node

    @staticmethod
    def of(node: Node) -> _Negation | None:
        match node:
            case AntiJoin(condition=condition, left=left, right=right):
                return _Negation(handed_on(left.schema), condition, left, right)
            case Minus(left=left, right=right) if is_by_value(left) and not _has_doubles(left):
                names = fresh_names(right.schema.names, left.schema.names)
                parts = [
                    _same(Column(a.name, a.type), Column(names[b.name], b.type))
                    for a, b in zip(left.schema, right.schema)
                ]
                there = renamed(right, names)
                return _Negation(handed_on(left.schema), conjunction(parts), left, there)
            case Project(outputs=outputs, input=source) if moves_columns_only(node):
                below = None if isinstance(source, Project) else _Negation.of(source)
                return None if below is None else replace(below, outputs=outputs)
        return None


def _above(join: Join, side: Node, found: _Negation) -> Node:
    """The negation over the join of its left side; columns it alone looks at go along."""
    names = {e.name: name for name, e in reversed(found.outputs) if isinstance(e, Column)}
    asked = columns_of(found.condition)
    hidden = [f.name for f in found.left.schema if f.name in asked and f.name not in names]
    fresh = fresh_names(hidden, [*join.schema.names, *found.right.schema.names])
    more = tuple((fresh[n], Column(n, found.left.schema.field(n).type)) for n in hidden)
    outputs = (*found.outputs, *more)
    plain = outputs == handed_on(found.left.schema)
    below = found.left if plain else Project(outputs, found.left)
    first = side is join.left
    joined = replace(join, left=below) if first else replace(join, right=below)
    there = fresh_names(found.right.schema.names, joined.schema.names)
    values: dict[str, Expression] = {
        f.name: Column({**names, **fresh}[f.name], f.type)
        for f in found.left.schema
        if f.name in asked
    }
    values |= {f.name: Column(there[f.name], f.type) for f in found.right.schema}
    pulled = AntiJoin(substitute(found.condition, values), joined, renamed(found.right, there))
    return Project(handed_on(join.schema), pulled) if more else pulled


def _same(a: Column, b: Column) -> Expression:
    return Call("not", (Call("distinct_from", (a, b), BOOLEAN),), BOOLEAN)


def _has_doubles(node: Node) -> bool:
    return any(pa.types.is_floating(f.type) for f in node.schema)
