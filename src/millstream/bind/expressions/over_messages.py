"""What is said of calls with OVER that cannot be carried out."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlglot import exp

from millstream.bind.names.scope import Scope
from millstream.errors import MillstreamError
from millstream.lang import to_sql

LATER = ("lead",)
WHOLE = ("ntile", "percent_rank", "cume_dist")
"""Functions that need rows that come later, and those that need all rows of a partition."""


def no_call(node: exp.Window) -> MillstreamError:
    """OVER behind something that it cannot follow."""
    call = node.this.this if isinstance(node.this, exp.Filter) else node.this
    if isinstance(call, exp.IgnoreNulls | exp.RespectNulls):
        return MillstreamError(
            "IGNORE NULLS and RESPECT NULLS are not part of the language",
            hint="Leave out rows with FILTER (WHERE x IS NOT NULL).",
        )
    name = call.name.lower() if isinstance(call, exp.Anonymous) else None
    if name in LATER:
        value = to_sql(call.expressions[0]) if call.expressions else "x"
        return MillstreamError(
            f"{name}(…) OVER would have to wait for rows that come later",
            hint=f"Take the pair when the later row comes: lag({value}) OVER (…) is the value of "
            "the row before it.",
        )
    if name in WHOLE:
        return MillstreamError(
            f"{name}(…) OVER needs all rows of a partition, and a stream does not end",
            hint="Count what came so far: row_number() OVER (…), rank() OVER (…).",
        )
    if name is None:
        return MillstreamError("OVER follows the call of an aggregate")
    return MillstreamError(
        f'"{name}" is no aggregate, and OVER follows the call of one',
        hint="Leave OVER out, or write for example avg(…) OVER (ROWS 9 PRECEDING).",
    )


def misplaced_over(clause: str) -> MillstreamError:
    """OVER where there is no list of results."""
    if clause.startswith("aggregate") or clause.startswith("function"):
        hint = "Compute the inner one first, in a subquery in FROM or in a view."
    else:
        hint = "Compute it in a subquery in FROM, and use its column here."
    return MillstreamError(f"OVER cannot stand in {clause}", hint=hint)


def not_of_time(
    keys: Sequence[exp.Ordered], is_time: bool, known: Collection[str], scope: Scope
) -> MillstreamError:
    """ORDER BY something else than the time of the stream."""
    order = next((m.order for m in scope.members if m.order and known), None)
    if is_time:
        return MillstreamError(
            "OVER takes the rows of a stream in the order of its time, not from the last one on",
            hint="Leave DESC out.",
        )
    return MillstreamError(
        "ORDER BY in OVER takes the time of the stream",
        detail="Rows are taken as they come, so other orders are not known.",
        hint=f"Write ORDER BY {order}, or leave it out." if order else "Leave it out.",
    )


def no_frame_of(name: str) -> MillstreamError:
    return MillstreamError(
        f"{name}(…) OVER goes by all rows that came before, and takes no frame",
        hint="Leave the frame out: OVER (PARTITION BY …).",
    )


def several_windows() -> MillstreamError:
    return MillstreamError(
        "a window with SLIDE or ACTIVE EXPIRATION stands beside another one",
        detail="It decides which rows there are, so all calls must have the same window.",
        hint="Write a view for each window, or use the same in all calls: WINDOW w AS (…).",
    )


def beside_groups(word: str) -> MillstreamError:
    return MillstreamError(
        f"{word} cannot stand beside OVER",
        detail="One has a row per group, the other a row for every row of the stream.",
        hint="Compute one of them in a subquery in FROM or in a view.",
    )


def over_relation(described: str) -> MillstreamError:
    return MillstreamError(
        f"OVER needs a stream, and {described}",
        detail="It takes rows one by one, in the order in which they come.",
        hint="Leave the window in brackets out: OVER has a window of its own. For the changes of "
        "a relation write Istream around its select list.",
    )


def wrong_distance(count: int | None) -> MillstreamError:
    if count is not None:
        return MillstreamError(
            f"lag takes 1 to 3 arguments, and here {'is none' if not count else f'are {count}'}",
            hint="Write lag(x), lag(x, 2) or lag(x, 2, 0).",
        )
    return MillstreamError(
        "lag goes back a constant number of rows", hint="Write for example lag(x, 2)."
    )
