"""clockStr: the clock of a time domain as a stream of time points."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from millstream.algebra.expressions import Literal
from millstream.algebra.node import Node
from millstream.algebra.points import Points, tick_of
from millstream.algebra.time import Domain
from millstream.algebra.types import BOOLEAN
from millstream.catalog import Catalog, Filled, Stream, View, kind_of
from millstream.errors import MillstreamError
from millstream.operators import Filter, Instants, Scan, Ticks, UnionAll

CLOCK_STREAM = "clockStr"
FALSE = Literal(False, BOOLEAN)


def is_clock(name: str, catalog: Catalog) -> bool:
    """Whether a name means the clock: no one else has it."""
    return name.lower() == CLOCK_STREAM.lower() and name.lower() not in catalog.entries


def clock_stream(owner: str | None, catalog: Catalog) -> tuple[View, list[Stream | View]]:
    """The clock of a stream, or that which all declared streams go by; and these streams."""
    if owner:
        named = catalog.find(owner)
        if not isinstance(named, Stream | Filled):
            raise MillstreamError(
                f'{kind_of(named)} "{named.name}" has no clock of its own',
                hint=f"Name a declared stream before .{CLOCK_STREAM}.",
            )
        return _clock_of(named), [named]
    streams = [e for e in catalog.entries.values() if isinstance(e, Stream | Filled)]
    if not streams:
        raise MillstreamError(
            f"{CLOCK_STREAM} has no stream to go by",
            detail="The clock ticks as far as the streams of the script have come.",
            hint="Declare a stream before it.",
        )
    domains = {_domain_of(stream) for stream in streams}
    first = streams[0].name
    if len(domains) > 1 or (Domain.ARRIVAL in domains and len(streams) > 1):
        raise MillstreamError(
            f"{CLOCK_STREAM} is not clear: the streams of the script count time in different ways",
            hint=f"Name the stream whose clock you mean: {first}.{CLOCK_STREAM}.",
        )
    return _clock_of(*streams), [*streams]


def _clock_of(*streams: Stream | View) -> View:
    """The clock that some streams go by."""
    domain = _domain_of(streams[0])
    plans = [s.scan() if isinstance(s, Stream) else s.plan for s in streams]
    time = reduce(UnionAll, map(time_of, plans))
    plan = Ticks(Points.all(tick_of(domain)), time)
    return View(CLOCK_STREAM, plan, CLOCK_STREAM, "stream")


def _domain_of(stream: Stream | View) -> Domain | None:
    return stream.domain if isinstance(stream, Stream) else stream.plan.time_domain


def time_of(plan: Node) -> Node:
    """No rows of a plan, only its time."""
    bare = replace(plan, columns=()) if isinstance(plan, Scan) else Instants(None, 1, plan)
    return Filter(FALSE, bare)
