"""Definitions: streams and named queries, from the syntax tree to catalog entries."""

from __future__ import annotations

import re
from dataclasses import replace

from millstream.algebra.node import Node
from millstream.algebra.time import Domain
from millstream.algebra.types import INTEGER, TIMESTAMP, type_name
from millstream.bind.clauses import (
    STREAM_OPTIONS,
    after_word,
    called,
    declared_columns,
    length_option,
    option_place,
    options_of,
)
from millstream.bind.query import Bound, bind_query, renamed
from millstream.bind.windows import length_in
from millstream.bind.words import check_result_name
from millstream.catalog import CURRENT_TIME, Catalog, Fields, Stream
from millstream.errors import MillstreamError, Notice, Place, closest
from millstream.lang import (
    CreateStream,
    CreateStreamAs,
    CreateView,
    place_of,
    to_sql,
)
from millstream.operators import Istream


def bind_stream(statement: CreateStream, base: str) -> Stream:
    """A declared stream; its time is checked against its columns."""
    check_result_name(statement.name, "stream", statement.name_place)
    columns = declared_columns(statement.columns)
    order = _order(statement, columns)
    options = options_of(statement)
    bare = Stream(statement.name, columns, order)
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
    )


def bind_derived(
    statement: CreateStreamAs | CreateView, catalog: Catalog, text: str
) -> tuple[Bound, str]:
    """The plan of a named query with its column names, and its text."""
    kind = "stream" if isinstance(statement, CreateStreamAs) else "view"
    check_result_name(statement.name, kind, statement.name_place)
    bound = bind_query(statement.query, catalog, text)
    plan = bound.plan
    notices = bound.notices
    if isinstance(statement, CreateStreamAs):
        plan, more = _as_stream(plan, statement, text)
        notices = (*notices, *more)
    if statement.columns is not None:
        what = f'{kind} "{statement.name}"'
        plan = renamed(plan, statement.columns, what, _list_place(statement))
    return Bound(plan, bound.form, notices, bound.reads), to_sql(statement.query)


def outermost(bound: Bound) -> Bound:
    """The defaults of an outermost query: Istream if it only grows, otherwise a stored result."""
    if bound.plan.is_stream or bound.form is not None:
        return bound
    if bound.plan.monotonic:
        notice = Notice("the answer only grows: Istream is used, and the result is a stream")
        return replace(bound, plan=Istream(bound.plan), notices=(*bound.notices, notice))
    notice = Notice(
        "rows can leave the answer: it is kept as a stored result (COMPLETE)",
        "Write Istream, Dstream or Rstream for a stream, or SELECT STREAMED for changes.",
    )
    return replace(bound, form="complete", notices=(*bound.notices, notice))


def _as_stream(plan: Node, statement: CreateStreamAs, text: str) -> tuple[Node, list[Notice]]:
    if plan.is_stream:
        return plan, []
    if plan.monotonic:
        return Istream(plan), [Notice("the answer only grows: Istream is used")]
    raise MillstreamError(
        f'stream "{statement.name}" is defined by a relation',
        place_of(statement.query, text) or statement.name_place,
        detail="Rows can leave the answer, so it is not clear which of its changes are meant.",
        hint="Put Istream, Dstream or Rstream around the select list, or write CREATE VIEW.",
    )


def _list_place(statement: CreateStreamAs | CreateView) -> Place:
    """The names in parentheses after the name."""
    text, start = statement.name_place.text, statement.name_place.end
    found = re.compile(r"\s*(\([^)]*\))").match(text, start)
    return Place(text, found.start(1), found.end(1)) if found else statement.name_place


def _order(statement: CreateStream, columns: Fields) -> str | None:
    if statement.order_by is None:
        return None
    names = {name.lower(): (name, kind) for name, kind in columns}
    wanted = statement.order_by.lower()
    if wanted == CURRENT_TIME and wanted not in names:
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
    return MillstreamError(
        f'option "{name}" of stream "{statement.name}" does not exist',
        option_place(statement, name),
        hint=f"Did you mean {near}?" if near else "Without SOURCE there are ahead and idle.",
    )
