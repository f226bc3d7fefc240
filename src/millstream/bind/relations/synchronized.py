"""R(S, sync): a relation that changes at the time points of another stream only."""

from __future__ import annotations

from millstream.algebra.expressions import Column
from millstream.algebra.node import Node, walk
from millstream.algebra.points import Points, tick_of
from millstream.algebra.time import Domain
from millstream.algebra.types import INTEGER, TIMESTAMP, type_name
from millstream.bind.relations.clock_column import CLOCK
from millstream.bind.relations.clock_stream import CLOCK_STREAM, is_clock
from millstream.bind.relations.own_time import names_own_time
from millstream.bind.relations.times import check_times, domain_of
from millstream.catalog import Catalog, Filled, Stream, Table, kind_of
from millstream.errors import MillstreamError, Place
from millstream.operators import (
    Dated,
    GroupBy,
    Instants,
    Istream,
    Project,
    Retime,
    Scan,
    Stamp,
    Sync,
    SyncAt,
    Ticks,
)
from millstream.operators.clocked import points_of
from millstream.operators.stamp import INSTANT

WRITE = f"Write a query for it: SELECT Timepoint FROM R({CLOCK_STREAM}) WHERE Timepoint % 5 = 0."


def synchronized(
    plan: Node, sync: str, catalog: Catalog, described: str, place: Place | None
) -> Node:
    """The relation as it stands at the last point of `sync`; `described` says what it is of.

    Points that are arithmetic on the clock are computed; a stream of others goes to every bucket.
    """
    domain = domain_of(plan)
    if is_clock(sync.rpartition(".")[2], catalog):
        return Sync(Points.all(tick_of(domain)), plan)
    times, called = _stream_of(sync, catalog, place)
    check_times(plan, times, place)
    column, scale = _time_column(times, called, domain, catalog, place)
    points = points_of(times)
    if points is not None:
        return Sync(points, plan)
    stream = times if times.is_stream else Istream(times)
    plain = names_own_time(stream, column, scale, catalog)
    return SyncAt(plan, Instants(None if plain else column, scale, stream))


def _stream_of(sync: str, catalog: Catalog, place: Place | None) -> tuple[Node, str]:
    """The plan of a sync, which a table is not, and what it is called."""
    owner, _, side = sync.rpartition(".")
    entry = catalog.find(owner or sync)
    called = f'{kind_of(entry)} "{sync}"'
    if isinstance(entry, Table):
        raise MillstreamError(f"{called} is not a stream of time points", place, hint=WRITE)
    if isinstance(entry, Stream):
        return (entry.side(side) if owner else entry).scan(), called
    late = entry.late if owner and isinstance(entry, Filled) else None
    return entry.plan if late is None else late, called


def _time_column(
    times: Node, called: str, domain: Domain, catalog: Catalog, place: Place | None
) -> tuple[str, int]:
    """The one column of a sync, which holds the time of its rows, and its unit."""
    columns = [f for f in times.schema if not f.name.startswith("#")]
    if len(columns) != 1:
        raise MillstreamError(
            f"{called} is not a stream of time points: it has {len(columns)} columns",
            place,
            detail="A stream of time points has one column, with the time of each row.",
            hint=f"Select the time alone: {_time_name(times, catalog)}.",
        )
    (column,) = columns
    scale = _scale(times, catalog) if column.type == INTEGER and domain is Domain.TIMESTAMP else 1
    wanted = TIMESTAMP if domain is Domain.TIMESTAMP and scale == 1 else INTEGER
    if column.type != wanted or not is_time(times, column.name, catalog):
        raise MillstreamError(
            f"{called} is not a stream of time points: "
            f'its column "{column.name}" is not the time of its rows',
            place,
            detail=f"It is of type {type_name(column.type)}, and a time is of type "
            f"{type_name(wanted)} here."
            if column.type != wanted
            else None,
            hint=f"Select the time of the rows: {_time_name(times, catalog)}.",
        )
    return column.name, scale


def _scale(times: Node, catalog: Catalog) -> int:
    """How many units of the domain one unit of the order columns is; 1 where that differs."""
    streams = [n.stream for n in walk(times) if isinstance(n, Scan)]
    scales = {e.scale for s in streams if isinstance(e := catalog.entries.get(s.lower()), Stream)}
    return scales.pop() if len(scales) == 1 else 1


def _time_name(times: Node, catalog: Catalog) -> str:
    """What the time of the rows is called, in a hint."""
    for node in walk(times):
        if isinstance(node, Ticks):
            return "Timepoint"
        if isinstance(node, Scan):
            source = catalog.entries.get(node.stream.lower())
            source = source.declared if isinstance(source, Filled) else source
            if isinstance(source, Stream) and source.order_by:
                return source.order_by
    return "TS"


def is_time(node: Node, column: str, catalog: Catalog) -> bool:
    """Whether a column holds times of rows: of those that it stands in, or of rows below."""
    match node:
        case Scan():
            source = catalog.entries.get(node.stream.lower())
            return isinstance(source, Stream) and source.order_by == column
        case Ticks():
            return True
        case Retime():
            return node.order == column
        case Stamp() | Dated() if column == INSTANT:
            return True
        case Project():
            value = dict(node.outputs).get(column)
            if value == CLOCK:
                return is_time(node.input, INSTANT, catalog)
            return isinstance(value, Column) and is_time(node.input, value.name, catalog)
        case GroupBy() if column not in node.keys:
            call = next((call for call in node.calls if call.name == column), None)
            given = () if call is None else call.arguments
            return any(is_time(node.input, name, catalog) for name in given)
    below = [child for child in node.inputs if column in child.schema.names]
    return any(is_time(child, column, catalog) for child in below)
