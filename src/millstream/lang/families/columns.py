"""Columns of streams and tables, as CREATE lists them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from sqlglot.tokens import Token, TokenType

from millstream.errors import MillstreamError
from millstream.lang.grammar.grammar import Grammar
from millstream.lang.statements import ColumnDef
from millstream.lang.types import CANONICAL, SECOND_WORDS


def read_columns(
    parser: Grammar, read_one: Callable[[Grammar], ColumnDef] | None = None
) -> tuple[tuple[ColumnDef, ...], tuple[str, ...], Token | None]:
    """Take columns in parentheses: their definitions, the primary key, and where it stands.

    `read_one` takes a column; by default a name and a type.
    """
    if not parser.take(TokenType.L_PAREN):
        _refuse_change_stream(parser)
        parser.expect('"(" and columns', hint="Write for example (item bigint, price double).")
    columns: list[ColumnDef] = []
    key: tuple[str, ...] = ()
    key_token: Token | None = None
    while True:
        if parser.take_words("PRIMARY", "KEY"):
            found, token = parser.read_names, parser.previous
            key, key_token = _one_key(parser, key, token) or found(), token
        else:
            columns.append((read_one or read_column)(parser))
            if parser.take_words("PRIMARY", "KEY"):
                token = parser.previous
                key, key_token = _one_key(parser, key, token) or (columns[-1].name,), token
        if not parser.take(TokenType.COMMA):
            break
    _check_column_end(parser)
    parser.close()
    return tuple(columns), key, key_token


def _one_key(parser: Grammar, key: tuple[str, ...], token: Token) -> tuple[str, ...]:
    if key:
        parser.fail(
            "the table has two keys", token, hint="Write PRIMARY KEY (a, b) for a key of two."
        )
    return ()


def read_swapped_column(parser: Grammar) -> ColumnDef:
    """Take a type and a name, as `char room`, or a name and a type."""
    first = parser.current
    if not _at_type_first(parser):
        return read_column(parser)
    type_name = parser.read_type().name
    name = parser.read_name("the name of a column")
    return ColumnDef(name=name.text, type=type_name, place=parser.since(first))


def _at_type_first(parser: Grammar) -> bool:
    """Whether a type comes next, and no type stands where the name would be."""
    if parser.current.token_type == TokenType.IDENTIFIER:
        return False
    word, after = parser.current.text.lower(), parser.following
    if word not in CANONICAL or after.text.lower() == SECOND_WORDS.get(word):
        return word in CANONICAL
    if after.token_type == TokenType.L_PAREN:
        return True
    return after.token_type == TokenType.IDENTIFIER or after.text.lower() not in CANONICAL


def read_column(parser: Grammar) -> ColumnDef:
    """Take a name and a type."""
    name = parser.read_name("the name of a column")
    if name.text.upper() == "WATERMARK" and parser.take_word("FOR"):
        _refuse_watermark(parser, name)
    if parser.at(TokenType.DOT):
        _refuse_bare_path(parser, name)
    if parser.current.token_type in (TokenType.COMMA, TokenType.R_PAREN):
        parser.expect(f'a type after column "{name.text}"', hint="Write for example price double.")
    swapped = name.text.lower() in CANONICAL and parser.current.text.lower() not in CANONICAL
    if swapped and parser.current.token_type == TokenType.VAR:
        parser.guarded(
            MillstreamError(
                f'type "{parser.current.text}" does not exist',
                hint=f"The name comes first: {parser.current.text} {name.text}.",
            ),
            parser.current,
            parser.current,
        )
    type_name = parser.read_type().name
    return ColumnDef(name=name.text, type=type_name, place=parser.since(name))


def read_maybe_typed(parser: Grammar) -> ColumnDef:
    """Take a name and a type, or a name alone where a SOURCE follows that has the type."""
    first, after = parser.current, parser.following
    if after is None or after.token_type not in (TokenType.COMMA, TokenType.R_PAREN):
        return read_column(parser)
    if not parser.has_ahead("SOURCE"):
        return read_column(parser)
    name = parser.read_name("the name of a column")
    return ColumnDef(name=name.text, type="", place=parser.since(first))


def _refuse_bare_path(parser: Grammar, first: Token) -> NoReturn:
    """Stop at `item.price double`: the path of a field is one name."""
    path = first.text
    while parser.take(TokenType.DOT):
        path += f".{parser.read_name('the name of a field').text}"
    parser.guarded(
        MillstreamError(
            f'the path "{path}" is not the name of a column',
            hint=f'Write "{path}", in double quotes, for a field inside of "{first.text}".',
        ),
        first,
        parser.previous,
    )


def _refuse_change_stream(parser: Grammar) -> None:
    """Stop at CREATE STREAM s ON TABLE t, which elsewhere are the changes of a table."""
    made = parser.previous.text
    if parser.at(TokenType.ON) and parser.following.text.upper() in ("TABLE", "VIEW"):
        first = parser.current
        parser.advance(2)
        last, table = parser.previous, parser.current.text if parser.current else "t"
        parser.guarded(
            MillstreamError(
                f"ON {last.text.upper()} is not part of the language",
                hint=f"Write CREATE VIEW {made} AS SELECT STREAMED * FROM {table}.",
            ),
            first,
            last,
        )


def _refuse_watermark(parser: Grammar, first: Token) -> NoReturn:
    """WATERMARK FOR at AS at - INTERVAL '5' SECOND is ORDER BY at SLACK 5 SECONDS here."""
    column = parser.read_name("a column").text
    if not parser.take(TokenType.ALIAS):
        parser.expect("AS")
    while parser.current and not parser.at(TokenType.DASH) and not parser.at(TokenType.R_PAREN):
        parser.advance()
    slack = ""
    if parser.take(TokenType.DASH):
        slack = f" SLACK {str(parser.read_length('SLACK')).title()}"
    parser.guarded(
        MillstreamError(
            "WATERMARK is not part of the language",
            hint=f"Write ORDER BY {column}{slack} after the columns of CREATE STREAM.",
        ),
        first,
        parser.previous,
    )


def _check_column_end(parser: Grammar) -> None:
    if parser.at(TokenType.NOT) or parser.at(TokenType.NULL):
        parser.fail(
            "NULL and NOT NULL are not part of the language",
            hint="Remove it: every column may hold NULL.",
        )
    words = ("DEFAULT", "UNIQUE", "CHECK", "REFERENCES", "CONSTRAINT", "COMMENT")
    if parser.current.text.upper() in words:
        parser.fail(
            f"{parser.current.text.upper()} is not part of the language",
            hint="A column has a name and a type.",
        )
