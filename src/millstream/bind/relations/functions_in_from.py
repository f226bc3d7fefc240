"""Functions in FROM that cannot stand there: what to write in their place."""

from __future__ import annotations

from sqlglot import exp

from millstream.bind.expressions.elsewhere import HINTS, UNFOLD
from millstream.bind.expressions.own_messages import no_such_function
from millstream.bind.names.window_functions import window_in_from
from millstream.catalog import Catalog
from millstream.errors import MillstreamError
from millstream.lang import name_place_of, place_of


def function_in_from(call: exp.Expr, catalog: Catalog, text: str) -> MillstreamError:
    """What to say about a call in FROM that is no table function."""
    if (window := window_in_from(call, text)) is not None:
        return window
    name = call.name if isinstance(call, exp.Anonymous) else call.key
    place = place_of(call, text)
    inner = call.expressions[0] if name.lower() == "table" and call.expressions else None
    if isinstance(inner, exp.Anonymous):
        known = [v.any.name for v in catalog.routines.values() if v.function is not None]
        raise no_such_function(inner.name, known).at(name_place_of(inner, text))
    if name.upper() == "STREAM" and len(call.expressions) == 1:
        return MillstreamError(
            "STREAM(…) is not part of the language",
            place,
            hint=f"Write FROM {call.expressions[0].name}.",
        )
    return MillstreamError(
        f'function "{name}" cannot stand in FROM',
        place,
        hint=UNFOLD if HINTS.get(name) == UNFOLD else "Name a stream, a table or a view.",
    )
