"""LIKE with an ESCAPE character of its own: the pattern is rewritten to backslashes."""

from __future__ import annotations

from sqlglot import exp

from millstream.errors import MillstreamError
from millstream.lang import place_of


def without_escape(node: exp.Escape, text: str) -> exp.Expr:
    """The same LIKE without ESCAPE."""
    like, mark = node.this, node.expression
    pattern = like.expression
    if not (isinstance(mark, exp.Literal) and mark.is_string and len(mark.this) == 1):
        raise MillstreamError(
            "ESCAPE needs a string of one character",
            place_of(mark, text),
            hint="Write ESCAPE '!'.",
        )
    if not (isinstance(pattern, exp.Literal) and pattern.is_string):
        raise MillstreamError(
            "a pattern with ESCAPE must be a constant",
            place_of(pattern, text),
            hint="Write LIKE 'a!%' ESCAPE '!'.",
        )
    plain = exp.Literal.string(with_backslashes(pattern.this, mark.this))
    return type(like)(this=like.this, expression=plain)


def with_backslashes(pattern: str, mark: str) -> str:
    """A LIKE pattern whose own escape character becomes the backslash."""
    result, escaped = [], False
    for character in pattern:
        if character == mark and not escaped:
            escaped = True
            continue
        special = character in "%_\\" if escaped else character == "\\"
        result.append(f"\\{character}" if special else character)
        escaped = False
    return "".join(result)
