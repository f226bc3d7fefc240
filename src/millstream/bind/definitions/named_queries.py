"""CREATE VIEW and CREATE STREAM … AS: named queries, and the defaults of outermost ones."""

from __future__ import annotations

import re
from dataclasses import replace

from millstream.algebra.node import Node, walk
from millstream.bind.names.words import check_result_name
from millstream.bind.queries.query import Bound, bind_query, renamed
from millstream.bind.relations.own_time import at_own_instants
from millstream.catalog import Catalog
from millstream.errors import MillstreamError, Notice, Place
from millstream.lang import CreateStreamAs, CreateView, place_of, to_sql
from millstream.operators import Istream, Minus


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
        plan, more = _as_stream(plan, statement, catalog, text)
        notices = (*notices, *more)
    form = bound.form
    if isinstance(statement, CreateView) and statement.form is not None:
        form = _form(statement, bound, text)
    if statement.columns is not None:
        what = f'{kind} "{statement.name}"'
        plan = renamed(plan, statement.columns, what, _list_place(statement))
    return Bound(plan, form, notices, bound.reads), to_sql(statement.query)


def outermost(bound: Bound, catalog: Catalog) -> Bound:
    """The defaults of an outermost query: Istream if it only grows, otherwise a stored result."""
    if bound.plan.is_stream or bound.form is not None:
        return bound
    if bound.plan.monotonic:
        notice = Notice("the answer only grows: Istream is used, and the result is a stream")
        return replace(bound, plan=_istream(bound.plan, catalog), notices=(*bound.notices, notice))
    notice = Notice(
        "rows can leave the answer: it is kept as a stored result (COMPLETE)",
        "Write Istream, Dstream or Rstream for a stream, or SELECT STREAMED for changes.",
    )
    return replace(bound, form="complete", notices=(*bound.notices, notice))


def _istream(plan: Node, catalog: Catalog) -> Node:
    return Istream(at_own_instants(plan, catalog))


def why_no_stream(plan: Node, hint: str) -> dict[str, str]:
    """Why a relation is no stream by itself, and what to write: the detail and hint of an error."""
    if not any(isinstance(node, Minus) for node in walk(plan)):
        said = "Rows can leave the answer, so it is not clear which of its changes are meant."
        return {"detail": said, "hint": hint}
    return {
        "detail": "A row on the right of EXCEPT takes an equal one on the left back, however late "
        "it comes: no row of the left is ever final.",
        "hint": "Write Istream(… EXCEPT …) for the rows as they enter, or SELECT Rstream(…) FROM … "
        "[Now] WHERE NOT EXISTS (…) for those that the right side does not have by then.",
    }


def _as_stream(
    plan: Node, statement: CreateStreamAs, catalog: Catalog, text: str
) -> tuple[Node, list[Notice]]:
    if plan.is_stream:
        return plan, []
    if plan.monotonic:
        notice = Notice("the answer only grows: Istream is used")
        return _istream(plan, catalog), [notice]
    raise MillstreamError(
        f'stream "{statement.name}" is defined by a relation',
        place_of(statement.query, text) or statement.name_place,
        **why_no_stream(
            plan, "Put Istream, Dstream or Rstream around the select list, or write CREATE VIEW."
        ),
    )


def _form(statement: CreateView, bound: Bound, text: str) -> str:
    """The form that CREATE gives a view; that of its query, if it has one, must be the same."""
    form, place = statement.form, place_of(statement.query, text) or statement.name_place
    assert form is not None
    if bound.plan.is_stream:
        raise MillstreamError(
            f'view "{statement.name}" is a stream, and CREATE {form.upper()} VIEW makes a relation',
            place,
            hint=f"Write CREATE VIEW, or leave out the stream operator: SELECT {form.upper()} ….",
        )
    if bound.form not in (None, form):
        raise MillstreamError(
            f'view "{statement.name}" is {form}, and its query is {bound.form}',
            place,
            hint="Leave one of the two words out.",
        )
    return form


def _list_place(statement: CreateStreamAs | CreateView) -> Place:
    """The names in parentheses after the name."""
    text, start = statement.name_place.text, statement.name_place.end
    found = re.compile(r"\s*(\([^)]*\))").match(text, start)
    return Place(text, found.start(1), found.end(1)) if found else statement.name_place
