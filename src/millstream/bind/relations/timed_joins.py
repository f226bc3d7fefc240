"""Joins whose condition reads Now: pairs come and go with the time, and so do rows without one."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.algebra.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    columns_of,
    conjunction,
)
from millstream.algebra.node import Node
from millstream.algebra.now import NOW, reads_now
from millstream.algebra.presence import Presence
from millstream.algebra.types import BOOLEAN
from millstream.bind.relations.predicate_windows import holding
from millstream.catalog import Catalog
from millstream.errors import Notice
from millstream.operators import AntiJoin, Join, Project, SemiJoin, UnionAll
from millstream.operators.project import handed_on

MATCHED = {"semi": SemiJoin, "anti": AntiJoin}


def plain_and_timed(
    conditions: Sequence[Expression],
) -> tuple[list[Expression], list[Expression]]:
    """The conditions that do not read Now, and those that do."""
    timed = [part for part in conditions if reads_now(part)]
    return [part for part in conditions if part not in timed], timed


def timed_join(
    kind: str,
    conditions: Sequence[Expression],
    left: Node,
    right: Node,
    catalog: Catalog | None,
    notices: list[Notice],
) -> Node:
    """A join that is no inner one.

    Law: a row has a partner as long as there is a row on the other side with which it meets the
    condition; equal rows have the same partners. What the condition asks of the rows that are not
    kept by themselves is asked of them before.
    """
    plain, timed = plain_and_timed(conditions)
    if kind in ("left", "semi", "anti"):
        names = {*right.schema.names, NOW}
        mine = [p for p in timed if columns_of(p) <= names and Presence.of(p) is not None]
        timed = [part for part in timed if part not in mine]
        right = holding(mine, right, catalog, notices)
    pairs = Join(conjunction(plain), left, right)
    if kind in MATCHED:
        if not timed:
            return MATCHED[kind](pairs.condition, left, right)
        return _matched(kind, left, holding(timed, pairs, catalog, notices))
    met = holding(timed, pairs, catalog, notices)
    result = met
    if kind in ("left", "full"):
        alone = _matched("anti", left, met)
        result = UnionAll(result, Project((*handed_on(left.schema), *_nulls(right)), alone))
    if kind in ("right", "full"):
        alone = _matched("anti", right, met)
        result = UnionAll(result, Project((*_nulls(left), *handed_on(right.schema)), alone))
    return result


def _matched(kind: str, side: Node, pairs: Node) -> Node:
    """The rows of a side that are a part of a pair, or those that are not."""
    fields = list(enumerate(side.schema))
    there = Project(tuple((f"#in{i}", Column(f.name, f.type)) for i, f in fields), pairs)
    same = [_same(Column(f.name, f.type), Column(f"#in{i}", f.type)) for i, f in fields]
    return MATCHED[kind](conjunction(same), side, there)


def _same(left: Expression, right: Expression) -> Expression:
    return Call("not", (Call("distinct_from", (left, right), BOOLEAN),), BOOLEAN)


def _nulls(plan: Node) -> list[tuple[str, Expression]]:
    return [(f.name, Literal(None, f.type)) for f in plan.schema]
