"""What is refused before parsing: too long, too deep, unfinished, or not text."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlglot import exp

from millstream.errors import MillstreamError, Place

LONGEST_SCRIPT = 1_000_000
DEEPEST_NESTING = 200
DEEPEST_TREE = 500
FRAMES = 50_000

_PIECES = re.compile(
    r"""
      (?P<skip> \s++ | --[^\r\n]*+ | /\*(?:[^*]++|\*(?!/))*+\*/ )
    | (?P<quoted> '(?:[^']++|'')*+' | "(?:[^"]++|"")*+" | `(?:[^`]++|``)*+` )
    | (?P<word> [\w$]++ )
    | (?P<open> [(\[{] )
    | (?P<close> [)\]}] )
    | (?P<prefix> [-+~!] )
    | (?P<unfinished> /\* | ['"`] )
    | (?P<end> ; )
    | (?P<symbol> [&^:,.=><≤≥≠%|/*?@\#\\] )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_UNFINISHED = {
    "/*": ("comment", "Close it with */."),
    "'": ("string", "Close it with '."),
    '"': ("quoted name", 'Close it with ".'),
    "`": ("quoted name", "Close it with `."),
}
_PREFIX_WORDS = ("NOT",)
SETS = {"∪": "UNION", "∩": "INTERSECT", "∖": "EXCEPT"}
"""Signs of set operations, and how they are written."""


@dataclass(frozen=True)
class Span:
    """The text of one statement, `text[start:end]`, and the first thing in it that cannot be read.

    What is unfinished has no end, so that its statement is the last one.
    """

    start: int
    end: int
    fault: MillstreamError | None


def check_script(text: str) -> None:
    """Refuse a script that cannot or should not be parsed."""
    for span in spans(text):
        if span.fault is not None:
            raise span.fault


def spans(text: str) -> Iterator[Span]:
    """The statements of a script, each with what is refused in it.

    A semicolon ends a statement, unless it stands in braces; a closing brace ends one without.
    One pass over the text, whatever is in it: the parser behind it recurses, this does not.
    """
    if len(text) > LONGEST_SCRIPT:
        raise MillstreamError(
            f"the script is {len(text):,} characters long; the limit is {LONGEST_SCRIPT:,}",
            hint="Split it into several scripts, and load rows with SOURCE.",
        )
    if (zero := text.find("\0")) >= 0:
        raise MillstreamError(
            "the script holds a zero byte and is not text",
            Place(text, zero, zero + 1),
            hint="Save the script as UTF-8 text.",
        )
    start = depth = braces = run = 0
    fault: MillstreamError | None = None
    for match in _PIECES.finditer(text):
        kind, piece = match.lastgroup, match.group()
        word = piece.upper() if kind == "word" else ""
        if kind == "skip":
            continue
        run = run + 1 if kind == "prefix" or word in _PREFIX_WORDS else 0
        if kind == "open" or word == "CASE":
            depth += 1
        elif kind == "close" or word == "END":
            depth = max(0, depth - 1)
        braces = max(0, braces + (piece == "{") - (piece == "}"))
        if kind == "end" and braces:
            depth = braces
        elif kind == "end" or (piece == "}" and not braces):
            yield Span(start, match.end(), fault)
            start, depth, fault = match.end(), 0, None
        if kind in ("unfinished", "other"):
            fault = fault or _unreadable(text, match)
        if kind == "unfinished":
            break
        # The first of a run may stand between two operands; only the others nest for sure.
        if depth + max(0, run - 1) > DEEPEST_NESTING and fault is None:
            fault = MillstreamError(
                f"the script is nested more than {DEEPEST_NESTING} deep here",
                Place(text, match.start(), match.end()),
                hint="Split the query into several views.",
            )
    yield Span(start, len(text), fault)


def check_tree(tree: exp.Expr, place: Place) -> None:
    """Refuse a tree that is too deep for those who walk it, such as a chain of 1,000 additions."""
    level, depth = [tree], 0
    while level:
        level = [child for node in level for child in node.iter_expressions()]
        depth += 1
        if depth > DEEPEST_TREE:
            raise MillstreamError(
                f"the query is more than {DEEPEST_TREE} operators deep",
                place,
                detail="A chain such as a + a + … is as deep as it is long.",
                hint="Use IN for a chain of OR, or split the query into several views.",
            )


@contextmanager
def deep_stack() -> Iterator[None]:
    """Let Python functions recurse as deep as the deepest tree that was accepted needs."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _unreadable(text: str, match: re.Match[str]) -> MillstreamError:
    piece, start = match.group(), match.start()
    if piece in _UNFINISHED:
        what, hint = _UNFINISHED[piece]
        return MillstreamError(
            f"the {what} does not end", Place(text, start, start + len(piece)), hint=hint
        )
    if piece in "“”„‟«»‘’‚‛":
        hint = "Use straight quotes: 'text' for a string, \"name\" for a name."
    elif piece in SETS:
        hint = f"Write SELECT … {SETS[piece]} SELECT …; in FROM, put it in parentheses: (…) AS u."
    else:
        hint = "Remove it, or put it between quotes if it belongs to a string or a name."
    shown = f'"{piece}"' if piece.isprintable() else f"U+{ord(piece):04X}"
    return MillstreamError(
        f"the character {shown} has no meaning here", Place(text, start, start + 1), hint=hint
    )
