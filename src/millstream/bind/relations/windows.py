"""Windows: from brackets to operators, with lengths in the units of the stream's time."""

from __future__ import annotations

import re

from sqlglot import exp

from millstream.algebra.node import Node
from millstream.algebra.time import Domain
from millstream.bind.names.scope import Scope
from millstream.errors import MillstreamError, Place
from millstream.lang import Interval, StreamWindow, name_place_of, place_of
from millstream.operators import Hop, Now, Range, RangeSlide, Rows, Session, Unbounded
from millstream.operators.rows import EVER

LONGEST = 2**60
"""Longer than people's instants are apart, and short enough to be added to them."""


def bind_window(
    window: StreamWindow, stream: Node, scope: Scope, domain: Domain, name: str, text: str
) -> Node:
    """The operator that a window in brackets stands for, over the stream."""
    place = place_of(window, text)
    slide = window.slide
    match window.kind:
        case "now" if slide is None:
            return Now(stream)
        case "now":
            raise MillstreamError(
                "a window by Now takes no Slide",
                place,
                hint="Write for example [Range 5 Minutes Slide 1 Minute].",
            )
        case "unbounded" if slide is None:
            return Unbounded(stream)
        case "unbounded" if isinstance(slide, int):
            return Rows(EVER, (), None, min(slide, EVER), stream)
        case "unbounded":
            step = length_in(slide, domain, name, _piece(place, "slide"))
            return RangeSlide(None, step, stream)
        case "range":
            length = length_in(window.range, domain, name, _piece(place, "range"))
            if slide is None:
                return Range(length, stream)
            step = length_in(slide, domain, name, _piece(place, "slide"))
            return RangeSlide(length, step, stream)
        case "tumble" | "hop":
            return _slots(window, stream, domain, name, place)
        case "session":
            _check_time(window, domain, name, place)
            gap = length_in(window.range, domain, name, _piece(place, "session"))
            partition = tuple(_partition_column(c, scope, text) for c in window.partition_by)
            return Session(partition, gap, stream)
    within = None
    if window.range is not None:
        within = length_in(window.range, domain, name, _piece(place, "range"))
    if slide is not None and within is not None:
        raise MillstreamError(
            "a window by Rows and Range together takes no Slide",
            place,
            hint="Leave out Range or Slide.",
        )
    if isinstance(slide, Interval):
        if slide.unit is not None:
            raise MillstreamError(
                "a window by Rows slides by a number of rows",
                place,
                hint="Write [Rows 100 Slide 10].",
            )
        slide = slide.amount
    partition = tuple(_partition_column(c, scope, text) for c in window.partition_by)
    count, step = min(int(window.rows or 1), EVER), min(int(slide or 1), EVER)
    return Rows(count, partition, within, step, stream)


def length_in(
    interval: Interval | int | None, domain: Domain, name: str, place: Place | None
) -> int:
    """A length of time in the units of the domain; `name` says whose time it is."""
    assert interval is not None
    if isinstance(interval, int):
        interval = Interval(interval, None)
    if domain is Domain.TIMESTAMP and interval.unit is None:
        raise MillstreamError(
            f"length {interval.amount} has no unit, and {name} is ordered by timestamps",
            place,
            hint=f"Write a unit, for example {interval.amount} Seconds.",
        )
    if domain is Domain.INTEGER and interval.unit is not None:
        raise MillstreamError(
            f"length {interval} has a unit, and {name} is ordered by an integer",
            place,
            hint="Write a bare number, or, if it counts seconds, declare it so: "
            "ORDER BY column SECONDS.",
        )
    if domain is Domain.ARRIVAL and interval.unit is not None:
        raise MillstreamError(
            f"length {interval} cannot be measured: {name} is ordered by arrival",
            place,
            hint="Write a number of Rows, or declare the stream with ORDER BY a timestamp "
            "or current_time.",
        )
    if interval.amount > LONGEST:
        raise MillstreamError(
            f"{interval} is longer than a window can be", place, hint="Write [Range Unbounded]."
        )
    return interval.amount


def _slots(
    window: StreamWindow, stream: Node, domain: Domain, name: str, place: Place | None
) -> Hop:
    """Tumble is a Hop whose slots lie side by side."""
    _check_time(window, domain, name, place)
    length = length_in(window.range, domain, name, _piece(place, window.kind))
    every, offset = length, 0
    if window.slide is not None:
        every = length_in(window.slide, domain, name, _piece(place, "every"))
    if window.offset is not None:
        offset = length_in(window.offset, domain, name, _piece(place, "offset"))
    return Hop(length, every, offset % every, stream)


def _check_time(window: StreamWindow, domain: Domain, name: str, place: Place | None) -> None:
    """Slots and sessions are of a time that the rows have, not of the order they come in."""
    if domain is Domain.ARRIVAL:
        raise MillstreamError(
            f"a window by {window.kind.capitalize()} needs a time, and {name} is ordered by "
            "arrival",
            place,
            hint="Declare the stream with ORDER BY a timestamp, an integer or current_time, or "
            "count rows: [Rows 100 Slide 100].",
        )


def _piece(place: Place | None, word: str) -> Place | None:
    """The length after a word within the text of a window."""
    if place is None:
        return None
    pattern = rf"\b{word}\s+(.*?)\s*(?:\b(?:slide|rows|range|preceding|every|offset)\b|\])"
    search = re.compile(pattern, re.IGNORECASE | re.DOTALL).search
    found = search(place.text, place.start, place.end)
    return Place(place.text, found.start(1), found.end(1)) if found else place


def _partition_column(node: exp.Expr, scope: Scope, text: str) -> str:
    if not isinstance(node, exp.Column):
        raise MillstreamError(
            "Partition By takes columns",
            place_of(node, text),
            hint="Compute the value in a derived stream first.",
        )
    try:
        return scope.resolve(node.name, node.table or None).name
    except MillstreamError as error:
        raise error.at(name_place_of(node, text)) from None
