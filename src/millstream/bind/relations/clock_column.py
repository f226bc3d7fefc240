"""The column `current_time` of streams that are ordered by the clock: the instants of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from millstream.algebra.expressions import Call, Column, Expression
from millstream.algebra.node import Node
from millstream.algebra.time import Domain
from millstream.algebra.types import INTEGER, TIMESTAMP
from millstream.bind.names.scope import Member
from millstream.bind.relations.times import domain_of
from millstream.catalog import CURRENT_TIME, Fields, Stream
from millstream.operators import Project, Stamp
from millstream.operators.project import handed_on
from millstream.operators.stamp import INSTANT

CLOCK = Call("timestamp_micros", (Column(INSTANT, INTEGER),), TIMESTAMP)
"""The instant of a row as a time."""


def names_clock(select: exp.Select, alias: str) -> bool:
    """Whether a query, or one inside of it, names the column of the entry of that alias."""
    return names_column(select, CURRENT_TIME, alias)


def names_column(select: exp.Select, name: str, alias: str) -> bool:
    """The same of any column."""
    return any(
        column.name.lower() == name.lower() and column.table.lower() in ("", alias.lower())
        for column in (*select.find_all(exp.Column), *_merged(select))
    )


def _merged(select: exp.Select) -> list[exp.Column]:
    """The columns of USING, which are bare names."""
    joins = select.args.get("joins") or ()
    return [exp.column(name.name) for join in joins for name in join.args.get("using") or ()]


def hides_clock(stream: Stream, plan: Node) -> bool:
    """Whether a stream has the column though none of that name was declared."""
    if not stream.is_internal or stream.clock is not None:
        return False
    declared = CURRENT_TIME in map(str.lower, plan.schema.names)
    return not declared and domain_of(plan) is Domain.TIMESTAMP


def with_clock(stream: Stream, plan: Node, hidden: bool) -> Node:
    """The rows of a stream with the column where it was declared; a hidden one comes last."""
    at, name = stream.clock or (len(plan.schema), CURRENT_TIME)
    if stream.clock is None and not hidden:
        return plan
    outputs: list[tuple[str, Expression]] = list(handed_on(plan.schema, plan.schema.names))
    return Project((*outputs[:at], (name, CLOCK), *outputs[at:]), Stamp(plan))


def hiding(member: Member, rename: Callable[[Member], Member]) -> Member:
    """An entry under the names of its alias, which has none for the hidden column."""
    plain = tuple(c for c in member.columns if c[0] != CURRENT_TIME)
    clock = tuple(c for c in member.columns if c[0] == CURRENT_TIME)
    named = rename(replace(member, columns=plain))
    return replace(named, columns=(*named.columns, *clock), hidden=frozenset({CURRENT_TIME}))


def shown_columns(stream: Stream) -> Fields:
    """The columns of a stream as it was declared."""
    if stream.clock is None:
        return stream.columns
    at, name = stream.clock
    return (*stream.columns[:at], (name, TIMESTAMP), *stream.columns[at:])
