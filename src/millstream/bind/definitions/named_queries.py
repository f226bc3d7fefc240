"""CREATE VIEW and CREATE STREAM … AS: named queries, and the defaults of outermost ones."""

from __future__ import annotations

import re
from dataclasses import replace

from millstream.algebra.node import Node
from millstream.bind.names.words import check_result_name
from millstream.bind.queries.query import Bound, bind_query, renamed
from millstream.catalog import Catalog
from millstream.errors import MillstreamError, Notice, Place
from millstream.lang import CreateStreamAs, CreateView, place_of, to_sql
from millstream.operators import Istream


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
