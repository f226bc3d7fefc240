"""The view over the clock that is written out, read as Now."""

from __future__ import annotations

from millstream.algebra.expressions import Column, Expression, columns_of, conjunction
from millstream.algebra.node import Node, transform, walk
from millstream.algebra.now import NOW, bounds_of, now_of, reads_now
from millstream.algebra.points import Points
from millstream.algebra.presence import Presence
from millstream.operators import Filter, GroupBy, Join, Project, Scan, Sync, Within
from millstream.operators.clocked import clocked
from millstream.operators.filter import filtered
from millstream.operators.within import during, is_past, length_of
from millstream.rules.instants_of_rows import came_then
from millstream.rules.pieces import conditions, parted, substitute
from millstream.rules.whole import Whole


def read_clock_as_now(node: Node) -> Node | None:
    """A window for the join with the last tick of the clock, where only rows are wanted.

        Project price                               Project price
          Join (at - 5) < TS and TS <= at             Within (#now - 5) < TS and TS <= #now at …
            R (price, TS)                       →       R (price, TS)
            GroupBy max(Timepoint) as at
              Ticks …

    Sound because there is one row of the clock, which holds the last tick up to the instant: from
    the first tick on, a row has it beside it, and no other. The first tick has come where the
    condition asks for one after the row, where the relation itself changes at these ticks, or where
    every instant is a tick. Rows of one instant then come in the order of arrival, which the join
    does not keep.
    """
    match node:
        case Project(outputs=outputs, input=Join(left=left, right=right) as join):
            for side, clock in ((left, right), (right, left)):
                used = frozenset(n for _, value in outputs for n in columns_of(value))
                if used & set(clock.schema.names):
                    continue
                if (points := _last_tick(clock)) is None:
                    continue
                window = _window(join, side, clock, points)
                return None if window is None else Project(outputs, window)
    return None


def _last_tick(node: Node) -> tuple[str, Points] | None:
    """The column with the last tick in a relation of one row, and the ticks."""
    match node:
        case Whole(input=below):
            return _last_tick(below)
        case Project(outputs=outputs, input=below):
            found = _last_tick(below)
            for name, value in outputs:
                if found is not None and isinstance(value, Column) and value.name == found[0]:
                    return name, found[1]
        case GroupBy(keys=(), calls=(call,), input=below) if call.function == "max":
            known = clocked(transform(below, _unmarked))
            (argument, *_) = call.arguments
            if known is not None and argument in known.columns:
                return call.name, known.points
    return None


def _unmarked(node: Node) -> Node:
    return node.input if isinstance(node, Whole) else node


def _window(join: Join, side: Node, clock: Node, last: tuple[str, Points]) -> Node | None:
    column, points = last
    if _streams(side) != _streams(clock):
        return None
    rest, read = parted(conditions(join.condition), side.schema.names)
    now = {column: now_of(side.time_domain)}
    condition = conjunction([substitute(part, now) for part in read])
    if not read or reads_now(conjunction(rest)):
        return None
    names = columns_of(condition) - {NOW}
    if not names <= {*side.schema.names} or Presence.of(condition, points) is None:
        return None
    times = tuple(name for name in sorted(names) if came_then(side, name))
    every = points.is_every_instant
    if not (every or _follows(side, points) or _asks_for_tick(condition, times)):
        return None
    if not every:
        return Within(condition, times, filtered(rest, side), points)
    later = [part for part in conditions(condition) if not is_past(part, times)]
    return during(later, times, filtered(rest, side))


def _streams(node: Node) -> frozenset[str]:
    return frozenset(part.stream for part in walk(node) if isinstance(part, Scan))


def _follows(side: Node, points: Points) -> bool:
    """Whether rows come at these ticks only."""
    while isinstance(side, Project | Filter):
        side = side.input
    return isinstance(side, Sync) and points.contains(side.points)


def _asks_for_tick(condition: Expression, times: tuple[str, ...]) -> bool:
    """Whether a row is wanted from the first tick after it on, or later."""
    bounds = bounds_of(condition) or ()
    lengths = [length_of(bound, times) for bound in bounds if bound.first]
    return any(length is not None and length >= 0 for length in lengths)
