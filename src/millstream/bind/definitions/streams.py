"""CREATE STREAM: a declared stream, whose time is checked against its columns."""

from __future__ import annotations

from millstream.algebra.time import Domain
from millstream.algebra.types import INTEGER, TIMESTAMP, type_name
from millstream.bind.definitions.clauses import (
    STREAM_OPTIONS,
    after_word,
    called,
    declared_columns,
    length_option,
    of_elsewhere,
    option_place,
    options_of,
    silence_option,
)
from millstream.bind.expressions.messages import a
from millstream.bind.names.words import check_result_name
from millstream.bind.relations.windows import length_in
from millstream.catalog import CURRENT_TIME, Fields, Stream
from millstream.errors import MillstreamError, closest
from millstream.lang import CreateStream


def bind_stream(statement: CreateStream, base: str) -> Stream:
    """A declared stream; its time is checked against its columns."""
    check_result_name(statement.name, "stream", statement.name_place)
    columns = declared_columns(statement.columns)
    order, clock = _order(statement, columns), None
    if order == CURRENT_TIME and statement.source is not None:
        clock = _clock(statement, columns)
        columns = tuple(c for c in columns if c[0].lower() != CURRENT_TIME)
    options = options_of(statement)
    _check_unit(statement, order, columns)
    bare = Stream(statement.name, columns, order, unit=statement.order_unit)
    slack = 0
    if statement.slack is not None:
        if order is None or order == CURRENT_TIME:
            raise MillstreamError(
                f'stream "{statement.name}" takes no SLACK: it is ordered by arrival',
                statement.slack_place,
                hint="Write ORDER BY and a timestamp or integer column before it, or leave it out.",
            )
        slack = length_in(statement.slack, bare.domain, called(statement), statement.slack_place)
    ahead = length_option(options.pop("ahead", None), bare.domain, "ahead", statement)
    idle = length_option(options.pop("idle", None), Domain.TIMESTAMP, "idle", statement)
    by_clock = silence_option(options.pop("silence", None), bare, idle, statement)
    if statement.source is None and options:
        raise _no_option(next(iter(options)), statement)
    return Stream(
        statement.name,
        columns,
        order,
        slack,
        statement.source,
        tuple(sorted(options.items())),
        base,
        ahead,
        idle,
        unit=statement.order_unit,
        clock=clock,
        by_clock=by_clock,
    )


def _clock(statement: CreateStream, columns: Fields) -> tuple[int, str] | None:
    """Where the column `current_time` is declared, which holds what the clock says."""
    for at, (name, kind) in enumerate(columns):
        if name.lower() == CURRENT_TIME and kind != TIMESTAMP:
            raise MillstreamError(
                f'column "{name}" of stream "{statement.name}" is {a(kind)}, '
                "and the clock gives a timestamp",
                statement.columns[at].place,
                hint="Declare it as a timestamp, or leave it out.",
            )
        if name.lower() == CURRENT_TIME:
            return at, name
    return None


def _check_unit(statement: CreateStream, order: str | None, columns: Fields) -> None:
    """A unit is that of an integer: all other times have one."""
    if statement.order_unit is None or dict(columns).get(str(order)) == INTEGER:
        return
    what = "the clock" if order == CURRENT_TIME else f'column "{order}", a timestamp,'
    raise MillstreamError(
        f"{what} takes no unit",
        after_word("order by", statement.order_place),
        hint=f"Leave out {statement.order_unit.upper()}S: it is for integer columns.",
    )


def _order(statement: CreateStream, columns: Fields) -> str | None:
    if statement.order_by is None:
        return None
    names = {name.lower(): (name, kind) for name, kind in columns}
    wanted = statement.order_by.lower()
    if wanted == CURRENT_TIME and (wanted not in names or statement.source is not None):
        return CURRENT_TIME
    place = after_word("order by", statement.order_place)
    if wanted not in names:
        near = closest(wanted, list(names))
        raise MillstreamError(
            f'column "{statement.order_by}" does not exist in stream "{statement.name}"',
            place,
            hint=f'Did you mean "{near}"?' if near else f"Write one of {', '.join(names)}.",
        )
    name, kind = names[wanted]
    if kind not in (TIMESTAMP, INTEGER):
        raise MillstreamError(
            f'stream "{statement.name}" cannot be ordered by column "{name}", a {type_name(kind)}',
            place,
            hint="Order by a timestamp or an integer.",
        )
    return name


def _no_option(name: str, statement: CreateStream) -> MillstreamError:
    near = closest(name, STREAM_OPTIONS)
    known = f"Without SOURCE there are {', '.join(STREAM_OPTIONS[:-1])} and {STREAM_OPTIONS[-1]}."
    hint = of_elsewhere(name, statement) or (f"Did you mean {near}?" if near else known)
    return MillstreamError(
        f'option "{name}" of stream "{statement.name}" does not exist',
        option_place(statement, name),
        hint=hint,
    )
