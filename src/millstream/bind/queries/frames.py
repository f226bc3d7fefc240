"""Windows of OVER: their names, their frames in the units of the stream, and its time."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from millstream.algebra.frame import Frame, Units
from millstream.algebra.node import Node, walk
from millstream.bind.names.scope import Scope
from millstream.bind.relations.times import domain_of
from millstream.bind.relations.windows import LONGEST, length_in
from millstream.errors import MillstreamError, closest
from millstream.lang import Interval, OverFrame, place_of
from millstream.operators import Filter, Lateral, LookupJoin, Project, Unbounded


def named_windows(select: exp.Select, node: exp.Window, text: str) -> exp.Window:
    """The window of a call: the one in parentheses, or the one of that name."""
    alias = node.args.get("alias")
    if alias is None:
        return node
    known = {w.this.name.lower(): w for w in select.args.get("windows") or ()}
    if alias.name.lower() not in known:
        near = closest(alias.name, list(known))
        raise MillstreamError(
            f'window "{alias.name}" does not exist',
            place_of(alias, text),
            hint=f"Did you mean {near}?"
            if near
            else f"Write it after FROM: WINDOW {alias.name} AS (ROWS 9 PRECEDING).",
        )
    return known[alias.name.lower()]


def frame_of(window: exp.Window, stream: Node, text: str) -> Frame:
    """The frame; without one, all rows that came before.

    Elements come one by one, so a frame without a bound is the same by rows and by time, unless it
    slides.
    """
    written: OverFrame | None = window.args.get("spec")
    if written is None:
        return Frame(Units.ROWS)
    units = Units.ROWS if written.kind == "rows" else Units.RANGE

    def amount(given: Interval | int | None) -> int | None:
        if given is None:
            return None
        if units is Units.ROWS:
            return min(int(str(given)), LONGEST)
        if isinstance(given, Interval) and given == Interval(0, None):
            return 0
        return length_in(given, domain_of(stream), "the stream", place_of(written, text))

    frame = Frame(units, amount(written.length), amount(written.slide), written.active)
    if frame.unbounded and frame.active:
        raise MillstreamError(
            "nothing expires in a window without a bound",
            place_of(written, text),
            hint="Leave ACTIVE EXPIRATION out, or write RANGE 5 MINUTES PRECEDING.",
        )
    if frame.units is Units.ROWS and frame.slide == 1:
        frame = replace(frame, slide=None)
    return replace(frame, units=Units.ROWS) if frame.unbounded and frame.plain else frame


def as_stream(plan: Node) -> Node | None:
    """The elements of which a plan over one unbounded stream makes rows; None for another plan."""
    match plan:
        case Unbounded():
            return plan.input
        case Filter() | Project() | LookupJoin() | Lateral():
            stream = as_stream(plan.input)
            return None if stream is None else replace(plan, input=stream)
    return None


def time_columns(plan: Node, scope: Scope) -> frozenset[str]:
    """The columns that hold the instants of a stream."""
    return frozenset(
        plan_name
        for member in scope.members
        for column, plan_name, _ in member.columns
        if member.order and column.lower() == member.order.lower()
    )


def is_over_stream(plan: Node) -> bool:
    return any(node.is_stream for node in walk(plan))
