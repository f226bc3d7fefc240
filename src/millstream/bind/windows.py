"""Windows: from brackets to operators, with lengths in the units of the stream's time."""

from __future__ import annotations

from sqlglot import exp

from millstream.algebra.node import Node
from millstream.algebra.time import Domain
from millstream.bind.scope import Scope
from millstream.errors import MillstreamError, Place
from millstream.lang import Interval, StreamWindow, name_place_of, place_of
from millstream.operators import Now, Range, RangeSlide, Rows, Unbounded
from millstream.operators.rows import EVER


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
            raise MillstreamError("[Now] takes no Slide", place, hint="Write [Range T Slide L].")
        case "unbounded" if slide is None:
            return Unbounded(stream)
        case "unbounded" if isinstance(slide, int):
            return Rows(EVER, (), None, slide, stream)
        case "unbounded":
            return RangeSlide(None, _slide_length(slide, domain, name, place), stream)
        case "range":
            length = length_in(window.range, domain, name, place)
            if slide is None:
                return Range(length, stream)
            return RangeSlide(length, _slide_length(slide, domain, name, place), stream)
    length = length_in(window.range, domain, name, place) if window.range is not None else None
    if slide is not None and length is not None:
        raise MillstreamError(
            "a window by Rows and Range together takes no Slide", place,
            hint="Leave out Range or Slide.",
        )
    if isinstance(slide, Interval):
        if slide.unit is not None:
            raise MillstreamError("a window by Rows slides by a number of rows", place,
                                  hint="Write [Rows 100 Slide 10].")
        slide = slide.amount
    partition = tuple(_partition_column(c, scope, text) for c in window.partition_by)
    return Rows(int(window.rows or 1), partition, length, int(slide or 1), stream)


def length_in(interval: Interval | None, domain: Domain, name: str, place: Place | None) -> int:
    """A length of time in the units of the domain."""
    assert interval is not None
    if domain is Domain.TIMESTAMP and interval.unit is None:
        raise MillstreamError(
            f'{interval.amount} of what? stream "{name}" counts {domain.words}', place,
            hint=f"Give a unit, for example {interval.amount} Seconds.",
        )
    if domain is not Domain.TIMESTAMP and interval.unit is not None:
        hint = "Write a bare number." if domain is Domain.INTEGER else (
            "Write a number of Rows, or order the stream by a timestamp or by current_time."
        )
        raise MillstreamError(
            f'{interval} cannot be counted: stream "{name}" counts {domain.words}', place, hint=hint
        )
    return interval.amount


def _slide_length(slide: Interval | int, domain: Domain, name: str, place: Place | None) -> int:
    interval = slide if isinstance(slide, Interval) else Interval(slide, None)
    return length_in(interval, domain, name, place)


def _partition_column(node: exp.Expr, scope: Scope, text: str) -> str:
    if not isinstance(node, exp.Column):
        raise MillstreamError("Partition By takes columns", place_of(node, text),
                              hint="Compute the value in a derived stream first.")
    try:
        return scope.resolve(node.name, node.table or None).name
    except MillstreamError as error:
        raise error.at(name_place_of(node, text)) from None
