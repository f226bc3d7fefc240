"""INSERT INTO a stream: queries that fill a declared stream, and what the stream is then."""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
from sqlglot import exp

from millstream.algebra.expressions import Column, Expression, Literal
from millstream.algebra.node import Node, walk
from millstream.algebra.types import common_type, type_name
from millstream.bind.definitions.named_queries import why_no_stream
from millstream.bind.expressions.constants import coerce
from millstream.bind.expressions.messages import a
from millstream.bind.queries.query import bind_query
from millstream.bind.relations.own_time import at_own_instants, names_own_time
from millstream.bind.relations.times import check_clock, check_times
from millstream.catalog import Catalog, Filled, Put, Stream
from millstream.errors import MillstreamError, Notice, closest
from millstream.lang import InsertQuery, place_of, to_sql
from millstream.operators import Fill, Istream, Merge, Missed, Project, Retime, Scan

ARRIVAL_BITS = 47
"""Arrival numbers of sources are below two to this power; those of partitions, up to two billion
rows in each. Larger ones are cut off, which only matters to rows of one instant."""

MOST_BITS = 62


def bind_put(statement: InsertQuery, stream: Stream, catalog: Catalog, text: str) -> Put:
    """The rows that a query puts into a stream, in the columns of the stream."""
    bound = bind_query(statement.query, catalog, text)
    plan, notices = bound.plan, list(bound.notices)
    place = place_of(statement.query, text) or statement.name_place
    if bound.form is not None or not (plan.is_stream or plan.monotonic):
        raise MillstreamError(
            f'stream "{stream.name}" cannot be filled by a relation',
            place,
            **why_no_stream(plan, "Put Istream, Dstream or Rstream around the select list."),
        )
    if not plan.is_stream:
        plan = Istream(at_own_instants(plan, catalog))
        notices.append(Notice("the answer only grows: Istream is used"))
    if not any(isinstance(node, Scan) for node in walk(plan)):
        raise MillstreamError(
            f'the rows that are put into stream "{stream.name}" have no time: no stream is read',
            place,
            hint="Read a stream, or join one with the table.",
        )
    plan = _fitted(plan, statement, stream, text)
    if _is_timed(stream):
        check_clock(plan, stream.domain, f'stream "{stream.name}"', place)
    return Put(plan, to_sql(statement), tuple(notices), bound.reads)


def filled(stream: Stream, puts: tuple[Put, ...], catalog: Catalog) -> Filled:
    """The stream that several queries fill."""
    plans = tuple(put.plan for put in puts)
    for plan in plans[1:]:
        check_times(plans[0], plan, None, merges=True)
    order = stream.order_by if _is_timed(stream) else None
    late, may_miss = None, False
    if order is not None:
        late = _merged(stream, tuple(Missed(order, stream.scale, plan) for plan in plans))
        may_miss = not all(names_own_time(plan, order, stream.scale, catalog) for plan in plans)
    if order is not None and may_miss:
        plans = tuple(Retime(order, stream.scale, plan) for plan in plans)
    return Filled(
        stream.name,
        _merged(stream, plans),
        "; ".join(put.text for put in puts),
        declared=stream,
        puts=puts,
        late=late,
        may_miss=may_miss,
    )


def _is_timed(stream: Stream) -> bool:
    """Whether a column of the stream says when its rows are."""
    return stream.order_by is not None and stream.order_by in stream.schema.names


def _merged(stream: Stream, streams: tuple[Node, ...]) -> Node:
    if len(streams) == 1:
        return streams[0]
    bits = max(map(_arrival_bits, streams))
    if bits + (len(streams) - 1).bit_length() > MOST_BITS:
        raise MillstreamError(
            f'stream "{stream.name}" is filled by streams that are filled in too many steps',
            hint="Write CREATE STREAM … AS … UNION ALL … for some of them.",
        )
    sides: list[Node] = [Fill(side, bits, one) for side, one in enumerate(streams)]
    return reduce(Merge, sides)


def _arrival_bits(plan: Node) -> int:
    fills = [node for node in walk(plan) if isinstance(node, Fill)]
    return max([ARRIVAL_BITS, *(fill.bits + fill.side.bit_length() for fill in fills)])


def _fitted(plan: Node, statement: InsertQuery, stream: Stream, text: str) -> Node:
    """The columns of the query as those of the stream, by their position."""
    names = _names(statement, stream)
    given = [field for field in plan.schema if not field.name.startswith("#")]
    if len(given) != len(names):
        has = "1 column" if len(given) == 1 else f"{len(given)} columns"
        listed = "the list" if statement.columns is not None else f'stream "{stream.name}"'
        raise MillstreamError(
            f"the query has {has}, and {listed} has {len(names)}",
            place_of(statement.query, text),
            hint=f"Select values for {', '.join(names)}.",
        )
    values = dict(zip(names, given))
    outputs: list[tuple[str, Expression]] = []
    for name, kind in stream.columns:
        field = values.get(name)
        value: Expression = Literal(None, kind)
        if field is not None and not _is_null(plan, field.name):
            _check_kind(statement, stream, name, kind, field, names.index(name), text)
            value = coerce(Column(field.name, field.type), kind)
        outputs.append((name, value))
    same = all(isinstance(v, Column) and v.name == name for name, v in outputs)
    return (
        plan
        if same and list(plan.schema.names) == [n for n, _ in outputs]
        else Project(tuple(outputs), plan)
    )


def _names(statement: InsertQuery, stream: Stream) -> list[str]:
    """The columns of the stream that the query gives, in its order."""
    known = {name.lower(): name for name, _ in stream.columns}
    if statement.columns is None:
        return list(known.values())
    found: list[str] = []
    for written in statement.columns:
        name = known.get(written.lower())
        if name is None:
            near = closest(written, list(known.values()))
            raise MillstreamError(
                f'column "{written}" does not exist in stream "{stream.name}"',
                statement.columns_place,
                hint=f'Did you mean "{near}"?' if near else f"Write one of {', '.join(known)}.",
            )
        if name in found:
            raise MillstreamError(
                f'column "{name}" stands twice',
                statement.columns_place,
                hint="Leave one of them out.",
            )
        found.append(name)
    if _is_timed(stream) and stream.order_by not in found:
        raise MillstreamError(
            f'column "{stream.order_by}" is missing: stream "{stream.name}" is ordered by it',
            statement.columns_place,
            hint=f"Add {stream.order_by}, and a value for it to the query.",
        )
    return found


def _check_kind(
    statement: InsertQuery,
    stream: Stream,
    name: str,
    kind: pa.DataType,
    given: pa.Field,
    at: int,
    text: str,
) -> None:
    """Types convert where nothing can be lost."""
    if common_type(given.type, kind) == kind:
        return
    query = statement.query
    items = query.expressions if isinstance(query, exp.Select) else []
    place = place_of(items[at], text) if at < len(items) else None
    written = given.name if given.name.isidentifier() else "…"
    raise MillstreamError(
        f'column "{name}" of stream "{stream.name}" is {a(kind)}, and this is {a(given.type)}',
        place or place_of(query, text),
        detail=f"It is column {at + 1} of the query.",
        hint=f"Write CAST({written} AS {type_name(kind)}), or put the columns in the order of the "
        "stream.",
    )


def _is_null(plan: Node, name: str) -> bool:
    below = plan
    while isinstance(below, Istream):
        below = below.input
    value = dict(below.outputs).get(name) if isinstance(below, Project) else None
    return isinstance(value, Literal) and value.value is None
