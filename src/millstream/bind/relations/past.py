"""AS OF: what a name held at an instant, for queries that are read once."""

from __future__ import annotations

from sqlglot import exp

from millstream.bind.expressions.scalars import Expressions
from millstream.bind.names.scope import Scope
from millstream.catalog import Catalog, Entry
from millstream.errors import MillstreamError
from millstream.lang import place_of


def held_as_of(node: exp.Table, instant: exp.Expr, catalog: Catalog, text: str) -> Entry:
    """What the name of an entry held; an error where queries are kept up to date."""
    place = place_of(instant, text)
    if catalog.past is None:
        raise MillstreamError(
            "AS OF is for queries that are read once, and this one is kept up to date",
            place,
            hint="Leave it out here. db.read and millstream read answer a query with AS OF once.",
        )
    if node.args.get("db"):
        raise MillstreamError(
            "AS OF is for views and tables", place, hint="Leave it out: side streams hold no rows."
        )
    value = Expressions(Scope(()), text, "AS OF").bind(instant)
    try:
        return catalog.past(node.name, value)
    except MillstreamError as error:
        raise error.at(place) from None
