"""R(S): the relation that a stream modifies, with the instants of its rows in the column TS."""

from __future__ import annotations

from sqlglot import exp

from millstream.algebra.expressions import Column, Expression
from millstream.algebra.node import Node
from millstream.algebra.time import Domain
from millstream.algebra.types import INTEGER
from millstream.bind.relations.clock_column import CLOCK, names_column
from millstream.bind.relations.times import domain_of
from millstream.catalog import Table
from millstream.errors import MillstreamError, Place
from millstream.operators import Istream, Project, Stamp, Unbounded
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
    has_own = ARRIVED.lower() in map(str.lower, plan.schema.names)
    if not with_arrived or has_own:
        return Unbounded(plan) if plan.is_stream else plan
    if plan.is_stream:
        return Unbounded(_stamped(plan))
    return Unbounded(_stamped(Istream(plan))) if plan.monotonic else plan


def no_relation_of(table: Table, place: Place | None) -> MillstreamError:
    """R( ) is for what arrives; a table is a relation by itself."""
    return MillstreamError(
        f'table "{table.name}" is a relation, and R(…) is for streams and views',
        place,
        hint=f"Write {table.name} alone.",
    )


def _stamped(stream: Node) -> Node:
    """The elements of a stream with their instants as a column."""
    instant = Column(INSTANT, INTEGER)
    value: Expression = CLOCK if domain_of(stream) is Domain.TIMESTAMP else instant
    return Project((*handed_on(stream.schema, _own(stream)), (ARRIVED, value)), Stamp(stream))


def _own(stream: Node) -> list[str]:
    return [name for name in stream.schema.names if not name.startswith("#")]
