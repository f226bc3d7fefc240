"""The word Now, and what to say where it cannot stand."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from millstream.algebra.expressions import Expression
from millstream.bind.expressions.quoted import is_double_quoted
from millstream.bind.names.scope import Scope, is_known
from millstream.errors import MillstreamError

WORD = "now"


def is_now(node: exp.Column, scope: Scope) -> bool:
    """Whether a name means the current instant: it stands alone, and no column has it."""
    if node.table or node.name.lower() != WORD or is_double_quoted(node):
        return False
    return not is_known(scope, node)


def current(now: Callable[[], Expression] | None, clause: str) -> Expression:
    """The current instant, where it may stand."""
    if now is None:
        raise misplaced_now(clause)
    return now()


def misplaced_now(clause: str) -> MillstreamError:
    """Now outside of conditions on the rows of a query."""
    hint = "Compare it with a time of the rows, in WHERE, HAVING or ON: Now - 5 < TS."
    if clause in ("the select list", "GROUP BY", "ORDER BY") or clause.startswith("aggregate"):
        return MillstreamError(
            f"the instant Now cannot stand in {clause}",
            detail="Every row would be another one at every instant.",
            hint="Keep the rows for which Now is near, in WHERE; for the instant of a row, write "
            "the column TS of R(stream).",
        )
    return MillstreamError(f"the instant Now cannot stand in {clause}", hint=hint)
