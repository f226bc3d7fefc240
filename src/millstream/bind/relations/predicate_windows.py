"""Conditions that read Now, put on a plan: as windows, or else as a join with the clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from millstream.algebra.clock_conditions import points_where
from millstream.algebra.expressions import (
    Column,
    Expression,
    columns_of,
    conjunction,
    conjuncts,
)
from millstream.algebra.node import Node, walk
from millstream.algebra.now import NOW, now_of, reads_now
from millstream.algebra.points import Points, tick_of
from millstream.algebra.presence import Presence
from millstream.algebra.time import Domain
from millstream.bind.relations.clock_stream import time_of
from millstream.bind.relations.own_time import came_at
from millstream.catalog import Catalog, Filled, Stream
from millstream.errors import MillstreamError, Notice
from millstream.operators import Join, NowView, Scan, SemiJoin, UnionAll
from millstream.operators.filter import filtered
from millstream.operators.within import during, is_past


def now_here(plan: Node | None, catalog: Catalog) -> Column:
    """`Now` as a value of the time of a plan; of that of all streams, if it rests on none."""
    read_in = catalog.clock or (lambda plan: plan.time_domain)
    domain = None if plan is None else read_in(plan)
    if domain is not None:
        return now_of(domain)
    streams = [e for e in catalog.entries.values() if isinstance(e, Stream | Filled)]
    domains = {s.domain if isinstance(s, Stream) else s.plan.time_domain for s in streams}
    if len(domains) == 1:
        return now_of(domains.pop())
    if not domains:
        raise MillstreamError(
            "the instant Now has no stream to go by", hint="Declare a stream, and name it in FROM."
        )
    raise MillstreamError(
        "the instant Now is not clear: nothing in FROM has a time, and the streams of the script "
        "count it in different ways",
        hint="Join with the stream whose time you mean.",
    )


def holding(
    conditions: Sequence[Expression],
    plan: Node,
    catalog: Catalog | None = None,
    notices: list[Notice] | None = None,
) -> Node:
    """The rows of a plan that meet conditions, some of which may read Now.

    A window stands below what else is asked of the rows, as if it were written in FROM.
    """
    parts = [part for condition in conditions for part in conjuncts(condition)]
    timed = [part for part in parts if reads_now(part)]
    if not timed:
        return filtered(list(conditions), plan)
    times = [n for n in plan.schema.names if catalog and came_at(plan, n, catalog)]
    asked = [part for part in timed if not is_past(part, times)]
    solved = [part for part in asked if Presence.of(part) is not None]
    rest = [part for part in asked if part not in solved]
    plan = _placed(solved, times, plan)
    plan = filtered([part for part in parts if part not in timed], plan)
    if rest and catalog is not None and catalog.clock is not None:
        return _beside_clock(rest, plan, Points.all(1))
    return _ticking(rest, plan, notices) if rest else plan


def _placed(parts: Sequence[Expression], times: Sequence[str], plan: Node) -> Node:
    """Windows on the entries of FROM that they are about, those over several on their join."""
    if not isinstance(plan, Join) or not parts:
        return during(parts, times, plan)
    sides, rest = [], list(parts)
    for side in (plan.left, plan.right):
        names = {*side.schema.names, NOW}
        mine = [p for p in rest if columns_of(p) > {NOW} and columns_of(p) <= names]
        rest = [p for p in rest if p not in mine]
        sides.append(_placed(mine, times, side))
    return during(rest, times, replace(plan, left=sides[0], right=sides[1]))


def _ticking(parts: Sequence[Expression], plan: Node, notices: list[Notice] | None) -> Node:
    """The rows beside the clock: conditions on it alone choose ticks, others are tested at each."""
    tick = tick_of(plan.time_domain)
    points, tested = Points.all(tick), list[Expression]()
    for part in parts:
        found = points_where(part, NOW, tick) if columns_of(part) == {NOW} else None
        if found is None:
            tested.append(part)
        else:
            points &= found
    if notices is not None:
        notices.append(_ticks(tested or list(parts), bool(tested), plan.time_domain))
    return _beside_clock(tested, plan, points)


def _beside_clock(tested: Sequence[Expression], plan: Node, points: Points) -> Node:
    """The rows while there is a tick of the clock with which they meet conditions. They stay the
    rows that they are."""
    return SemiJoin(conjunction(list(tested)), plan, NowView(points, _time(plan), bool(tested)))


def _ticks(parts: Sequence[Expression], every: bool, domain: Domain | None) -> Notice:
    unit = "second" if domain is Domain.TIMESTAMP else "instant"
    said = " and ".join(map(str, parts)).replace(NOW, "Now")
    if not every:
        return Notice(f"{said} is no window: all rows come and go with the clock")
    return Notice(
        f"{said} is no window: every row is tested again at every {unit}",
        "Compare Now, plus or minus a length of time, with a value of the row: Now - 5 < TS.",
    )


def _time(plan: Node) -> Node:
    """The time of the streams below a plan."""
    scans = {n.stream: replace(n, tests=()) for n in walk(plan) if isinstance(n, Scan)}
    if not scans:
        raise MillstreamError(
            "a condition that is tested at every tick of the clock needs a stream in FROM",
            hint="Join with the stream whose time you mean, or compare Now, plus or minus a length "
            "of time, with a value of the row.",
        )
    return reduce(UnionAll, map(time_of, scans.values()))
