"""The order of the rows that a pattern is looked for in."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.algebra.node import Node, walk
from millstream.algebra.time import Domain
from millstream.algebra.types import INTEGER, TIMESTAMP
from millstream.bind.relations.own_time import names_own_time
from millstream.bind.relations.times import domain_of
from millstream.bind.relations.windows import length_in
from millstream.catalog import Catalog, Stream
from millstream.errors import MillstreamError, Notice, Place
from millstream.lang import Interval
from millstream.operators import Istream


def limit_in(
    length: Interval | int,
    plan: Node,
    order: Sequence[str],
    descends: bool,
    clause: str,
    described: str,
    places: tuple[Place | None, Place | None],
) -> int:
    """A limit of time in the units of the stream, or of the column that orders rows first."""
    domain = domain_of(plan)
    if not plan.is_stream:
        kind = plan.schema.field(order[0]).type
        domain = Domain.TIMESTAMP if kind == TIMESTAMP else Domain.INTEGER
        if kind not in (TIMESTAMP, INTEGER) or descends:
            raise MillstreamError(
                f'WITHIN goes by a time, and the rows are in the order of "{order[0]}"',
                places[1],
                hint=f"Write a timestamp or a whole number first in {clause}"
                + (", without DESC." if clause == "ORDER BY" else "."),
            )
        described = f'column "{order[0]}"'
    return length_in(length, domain, described, places[0])


def in_order(
    plan: Node,
    order: Sequence[str],
    descends: bool,
    clause: str,
    described: str,
    places: tuple[Place | None, Place | None],
    catalog: Catalog,
    notices: list[Notice],
) -> Node:
    """The stream or relation whose rows have an order: a stream has that of its time.

    `clause` is what the order is written with, and `places` are those of the pattern, and of the
    columns.
    """
    streams = [s for s in catalog.entries.values() if isinstance(s, Stream)]
    by_time = not order or (
        len(order) == 1
        and not descends
        and any(names_own_time(plan, order[0], s.scale, catalog) for s in streams)
    )
    if plan.is_stream:
        if by_time:
            return plan
        raise MillstreamError(
            f"{described} comes in the order of its time, and the pattern asks for another",
            places[1],
            hint=f"Leave {clause} out.",
        )
    if by_time and plan.monotonic and any(part.is_stream for part in walk(plan)):
        notices.append(Notice(f"{described} in a pattern only grows: Istream is used"))
        return Istream(plan)
    if not order:
        raise MillstreamError(
            f"{described} is a relation, whose rows have no order",
            places[0],
            hint=f"Say which: {clause} and a column, after PARTITION BY.",
        )
    return plan
