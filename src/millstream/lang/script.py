"""A script: its statements, in order."""

from __future__ import annotations

import re
from bisect import bisect
from dataclasses import dataclass
from itertools import pairwise

from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from millstream.errors import MillstreamError, Place
from millstream.lang.dialect import Millstream
from millstream.lang.grammar.faults import SyntaxFault
from millstream.lang.guard import Span, check_script, check_tree, deep_stack, spans
from millstream.lang.parser import Parser
from millstream.lang.statements import Statement

_BEFORE_SIGN = re.compile(
    r"""'[^']*'|"[^"]*"|`[^`]*`|--[^\n]*|/\*.*?\*/"""
    r"|(?P<number>(?<![\w.])(?:\d+\.?\d*|\.\d+)[eE]\d+(?=[+-]))",
    re.DOTALL,
)
"""A number with an exponent before a sign; strings, names and comments are passed over."""


_BRACES = {TokenType.L_BRACE: 1, TokenType.R_BRACE: -1}
_IN_PATTERNS = (TokenType.NUMBER, TokenType.COMMA, TokenType.DASH)
"""What stands behind a brace in the pattern of MATCH_RECOGNIZE, and nowhere else."""


def parse_script(text: str) -> tuple[Statement, ...]:
    """Read a script; every mistake in it is a MillstreamError with its place."""
    check_script(_readable(text))
    with deep_stack():
        return tuple(_parse_statement(tokens, text) for tokens in _split(text))


@dataclass(frozen=True)
class Unread:
    """A statement that cannot be read: why not, and the name that it was to define, if any."""

    error: MillstreamError
    name: str | None


def parse_each(text: str) -> tuple[Statement | Unread, ...]:
    """Read every statement by itself: a mistake in one does not hide those of others.

    A text that cannot be cut into statements is a MillstreamError. What cannot be cut into words,
    such as a string that does not end, is blank for those who read the other statements.
    """
    refused, readable = [], _readable(text)
    for span in [span for span in spans(readable) if span.fault is not None]:
        refused.append(_refused(span, readable))
        blank = " " * (span.end - span.start)
        readable = readable[: span.start] + blank + readable[span.end :]
    with deep_stack():
        read = (_read_or_not(tokens, text) for tokens in _split(readable))
        return (*refused, *read)


def _refused(span: Span, text: str) -> Unread:
    assert span.fault is not None and span.fault.place is not None
    before = _split(text[span.start : span.fault.place.start])
    return Unread(span.fault, _defined_name(before[0]) if before else None)


def _read_or_not(tokens: list[Token], text: str) -> Statement | Unread:
    try:
        return _parse_statement(tokens, text)
    except MillstreamError as error:
        return Unread(error, _defined_name(tokens))


def _defined_name(tokens: list[Token]) -> str | None:
    """The name after CREATE STREAM and the like, as far as it can be told."""
    words = [token.text.upper() for token in tokens[:7]]
    for at, word in enumerate(words):
        if word in ("AGGREGATE", "FUNCTION") and at + 1 < len(tokens):
            return f"{tokens[at + 1].text}()" + (" over" if "WINDOW" in words[:at] else "")
        if words[0] == "CREATE" and word in ("STREAM", "TABLE", "VIEW") and at + 1 < len(tokens):
            return tokens[at + 1].text
        if words[:2] == ["REGISTER", "SOURCE"] and len(tokens) > 2:
            return tokens[2].text
    return None


def _split(text: str) -> list[list[Token]]:
    """The tokens of every statement that is not empty."""
    try:
        tokens = _tokens(_readable(text))
    except SqlglotError as error:
        raise MillstreamError("the script cannot be cut into words", Place(text, 0, 1)) from error
    statements: list[list[Token]] = [[]]
    braces, inside = 0, False
    for token, after in zip(tokens, [*tokens[1:], None]):
        token.comments = []
        ends = not braces and token.token_type == TokenType.SEMICOLON
        change = _BRACES.get(token.token_type, 0)
        if change > 0 and after is not None and after.token_type in _IN_PATTERNS:
            inside, change = True, 0
        elif change < 0 and inside:
            inside, change = False, 0
        before, braces = braces, max(0, braces + change)
        if not ends:
            statements[-1].append(token)
        if ends or before > braces == 0:
            statements.append([])
    return [statement for statement in statements if statement]


def _readable(text: str) -> str:
    """A text without the mark that some editors begin a file with; places stay what they are."""
    return " " + text[1:] if text.startswith("\ufeff") else text


def _tokens(text: str) -> list[Token]:
    """The tokens of a text, where `1e3+2` is a sum: sqlglot takes the sign for the exponent's.

    A space is put before such signs, and taken out of the offsets again.
    """
    signs = [match.end() for match in _BEFORE_SIGN.finditer(text) if match["number"]]
    if not signs:
        return Millstream().tokenize(text)
    pieces = [text[start:end] for start, end in pairwise([0, *signs, len(text)])]
    tokens = Millstream().tokenize(" ".join(pieces))
    spaces = [sign + before for before, sign in enumerate(signs)]
    for token in tokens:
        token.start -= bisect(spaces, token.start)
        token.end -= bisect(spaces, token.end)
    return tokens


def _parse_statement(tokens: list[Token], text: str) -> Statement:
    for token in tokens:
        if token.token_type == TokenType.IDENTIFIER and not token.text:
            raise MillstreamError("a name cannot be empty", Place(text, token.start, token.end + 1))
    parser = Parser(dialect=Millstream())
    try:
        statement = parser.parse_one(tokens, text)
    except SyntaxFault as fault:
        raise fault.error from None
    except MillstreamError:
        raise
    except RecursionError as error:
        raise MillstreamError(
            "the statement is nested too deep",
            parser.place_at(),
            hint="Split the query into several views.",
        ) from error
    except Exception as error:  # whatever else sqlglot stumbles over is the author's syntax
        raise MillstreamError("the statement cannot be read here", parser.place_at()) from error
    query = getattr(statement, "query", None)
    trees = getattr(statement, "trees", (query,) if query else ())
    for tree in trees:
        check_tree(tree, statement.place)
    return statement
