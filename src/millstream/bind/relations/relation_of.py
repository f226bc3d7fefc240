"""R(S): the relation that a stream modifies, with the instants of its rows in the column TS."""

from __future__ import annotations

from sqlglot import exp

from millstream.algebra.expressions import Column, Expression
from millstream.algebra.node import Node
from millstream.algebra.time import Domain
from millstream.algebra.types import INTEGER
from millstream.bind.relations.clock_column import CLOCK, names_column
from millstream.bind.relations.times import domain_of
from millstream.catalog import Table, TaggedStream
from millstream.errors import MillstreamError, Place
from millstream.operators import Copies, Dated, Istream, Project, Stamp, Tagger, Unbounded
from millstream.operators.project import handed_on
from millstream.operators.stamp import INSTANT

ARRIVED = "TS"
"""The column with the instant at which a row came, or was last modified."""


def reads_arrived(select: exp.Select, node: exp.Expr, alias: str) -> bool:
    """Whether a query names the column TS of an entry of FROM, or takes all columns of it.

    A pattern may name it by its variables, and gives all columns of its input; an alias may give
    it another name.
    """
    if any(node.args.get(pattern) is not None for pattern in ("sequence", "recognize")):
        return True
    if (named := node.args.get("alias")) is not None and named.args.get("columns"):
        return True
    joins = select.args.get("joins") or ()
    stars = (item for item in select.expressions if item.is_star)
    return (
        names_column(select, ARRIVED, alias)
        or any(join.args.get("method") for join in joins)
        or any(
            not isinstance(star, exp.Column) or star.table.lower() == alias.lower()
            for star in stars
        )
    )


def relation_of(plan: Node, with_arrived: bool) -> Node:
    """The relation that a stream or a view modifies; with TS, unless it has such a column."""
    if not with_arrived or _has_arrived(plan):
        return Unbounded(plan) if plan.is_stream else plan
    if plan.is_stream:
        return Unbounded(_stamped(plan))
    if plan.monotonic:
        return Unbounded(_stamped(Istream(plan)))
    return _with_arrived(Dated(plan), plan)


def tagged_relation(
    raw: Node, keys: tuple[str, ...] | None, op: str | None, with_arrived: bool
) -> Node:
    """What the elements of a tagged stream make; with TS if it has a key and has no such column.

    Modifications that do nothing are told of, so all readers share the one operator that tells.
    """
    if keys is None:
        return raw if op is None else Copies(op, raw)
    if op is None:
        return Tagger(keys, None, False, _stamped(raw) if with_arrived else raw)
    hidden = f"#{ARRIVED}"
    whole = Tagger(keys, op, True, raw if _has_arrived(raw) else _stamped(raw, hidden))
    outputs = handed_on(whole.schema, [name for name in _own(raw) if name != op])
    if with_arrived:
        arrived = Column(hidden, whole.schema.field(hidden).type)
        outputs = (*outputs, (ARRIVED, arrived))
    return Project(outputs, whole)


def relation_of_tagged(found: TaggedStream, with_arrived: bool) -> Node:
    """R( ) of a tagged stream: under a key, a row has the time of its last modification."""
    if found.keys is None or not with_arrived or _has_arrived(found.raw):
        return relation_of(found.plan, with_arrived)
    return tagged_relation(found.raw, found.keys, found.op, with_arrived)


def no_relation_of(table: Table, place: Place | None) -> MillstreamError:
    """R( ) is for what arrives; a table is a relation by itself."""
    return MillstreamError(
        f'table "{table.name}" is a relation, and R(…) is for streams and views',
        place,
        hint=f"Write {table.name} alone.",
    )


def _stamped(stream: Node, name: str = ARRIVED) -> Node:
    """The elements of a stream with their instants as a column."""
    return _with_arrived(Stamp(stream), stream, name)


def _with_arrived(stamped: Node, plain: Node, name: str = ARRIVED) -> Node:
    """The columns of a plan, and the instants of its rows as a time of its domain."""
    instant = Column(INSTANT, INTEGER)
    value: Expression = CLOCK if domain_of(plain) is Domain.TIMESTAMP else instant
    return Project((*handed_on(plain.schema, _own(plain)), (name, value)), stamped)


def _has_arrived(plan: Node) -> bool:
    """Whether a column of its own hides TS."""
    return ARRIVED.lower() in map(str.lower, plan.schema.names)


def _own(stream: Node) -> list[str]:
    return [name for name in stream.schema.names if not name.startswith("#")]
