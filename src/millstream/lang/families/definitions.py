"""CREATE: streams, views and tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlglot.tokens import Token, TokenType

from millstream.lang.families.clauses import read_clauses
from millstream.lang.families.columns import read_columns, read_maybe_typed
from millstream.lang.families.family import Family, Read, Write, names_text, string_text
from millstream.lang.families.tagged import read_over
from millstream.lang.grammar.grammar import Grammar
from millstream.lang.nodes import FORMS
from millstream.lang.statements import (
    ColumnDef,
    CreateStream,
    CreateStreamAs,
    CreateTable,
    CreateView,
    Definition,
    Statement,
)
from millstream.lang.tokens import quoted

STREAM_CLAUSES = ("ORDER BY", "SLACK", "SOURCE", "WITH")
TABLE_CLAUSES = ("KEY", "NON RETROACTIVE", "SLACK", "SOURCE", "WITH")


def read_stream(parser: Grammar, first: Token) -> Statement:
    """CREATE STREAM, or STREAM alone as ESL writes it: declared, or defined by a query."""
    name = _new_name(parser)
    if parser.take(TokenType.ALIAS):
        return _finish_stream_as(parser, first, name, None)
    if parser.take(TokenType.OVER):
        return read_over(parser, first, name)
    if _names_only(parser):
        names = parser.read_names()
        parser.take(TokenType.ALIAS)
        return _finish_stream_as(parser, first, name, names)
    columns, key, key_token = _columns_or_none(parser, STREAM_CLAUSES)
    if key:
        parser.fail(
            "a stream has no primary key",
            key_token,
            hint="Remove PRIMARY KEY, or CREATE TABLE.",
        )
    clauses = read_clauses(parser, STREAM_CLAUSES)
    _check_source(parser, "stream", name, columns, clauses)
    return CreateStream(columns=columns, **clauses, **parser.named_parts(first, name))


def _finish_stream_as(
    parser: Grammar, first: Token, name: Token, columns: tuple[str, ...] | None
) -> CreateStreamAs:
    query = parser.parse_query()
    return CreateStreamAs(columns=columns, query=query, **parser.named_parts(first, name))


def _view_reader(form: str) -> Read:
    """Reads CREATE STREAMED VIEW and CREATE COMPLETE VIEW."""

    def read(parser: Grammar, first: Token) -> CreateView:
        if not parser.take_word("VIEW"):
            parser.expect(f"VIEW after CREATE {form.upper()}")
        return replace(read_view(parser, first), form=form)

    return read


def read_view(parser: Grammar, first: Token) -> CreateView:
    name = _new_name(parser)
    names = parser.read_names() if parser.at(TokenType.L_PAREN) else None
    if not parser.take(TokenType.ALIAS):
        parser.expect("AS and a query", hint="Write CREATE VIEW name AS SELECT …")
    query = parser.parse_query()
    return CreateView(columns=names, query=query, **parser.named_parts(first, name))


def read_table(parser: Grammar, first: Token) -> CreateTable:
    name = _new_name(parser)
    if parser.take(TokenType.ALIAS):
        parser.fail(
            "a table cannot be made from a query",
            parser.previous,
            hint=f"Write CREATE VIEW {name.text} AS …",
        )
    columns, key, key_token = _columns_or_none(parser, TABLE_CLAUSES)
    clauses = read_clauses(parser, TABLE_CLAUSES)
    _check_source(parser, "table", name, columns, clauses)
    if key and key_token:
        if clauses.get("key"):
            parser.fail("the table has two keys", key_token, hint="Remove one of them.")
        clauses |= {"key": key, "key_place": parser.place_at(key_token)}
    return CreateTable(columns=columns, **clauses, **parser.named_parts(first, name))


def _columns_or_none(
    parser: Grammar, clauses: tuple[str, ...]
) -> tuple[tuple[ColumnDef, ...], tuple[str, ...], Token | None]:
    """Columns in parentheses, or none where a clause follows at once: they are inferred then."""
    words = " ".join(parser.current.text.upper().split()) if parser.current else ""
    if words in clauses or (words == "NON" and parser.at_words("NON", "RETROACTIVE")):
        return (), (), None
    return read_columns(parser, read_maybe_typed)


def _check_source(
    parser: Grammar,
    kind: str,
    name: Token,
    columns: tuple[ColumnDef, ...],
    clauses: dict[str, Any],
) -> None:
    if clauses.get("source") is not None:
        return
    if not columns:
        parser.fail(
            f'{kind} "{name.text}" has no columns, and no SOURCE that they could be inferred from',
            name,
            hint=f"Write for example {quoted(name.text)} (item bigint, price double).",
        )
    for column in columns:
        if not column.type:
            parser.fail(
                f'column "{column.name}" has no type, and no SOURCE that it could be inferred from',
                name,
                hint=f"Write for example {quoted(column.name)} double.",
            )


def _new_name(parser: Grammar) -> Token:
    if parser.take_words("IF", "NOT", "EXISTS"):
        parser.fail(
            "CREATE … IF NOT EXISTS is not part of the language",
            parser.previous,
            hint="Leave IF NOT EXISTS out, or write CREATE OR REPLACE.",
        )
    return parser.read_name()


def _names_only(parser: Grammar) -> bool:
    """Whether AS follows the parenthesis ahead, which then holds names without types."""
    return parser.at(TokenType.L_PAREN) and parser.kind_after_parentheses() == TokenType.ALIAS


def _stream_text(node: CreateStream, write: Write) -> list[str]:
    return [
        f"{_create(node)} STREAM {quoted(node.name)}{_columns(node.columns)}",
        f"ORDER BY {quoted(node.order_by)}" if node.order_by else "",
        f"{node.order_unit.upper()}S" if node.order_unit else "",
        f"SLACK {node.slack}" if node.slack else "",
        *_source_and_options(node),
    ]


def _table_text(node: CreateTable, write: Write) -> list[str]:
    return [
        f"{_create(node)} TABLE {quoted(node.name)}{_columns(node.columns)}",
        f"KEY{names_text(node.key)}" if node.key else "",
        "NON RETROACTIVE" if node.non_retroactive else "",
        f"SLACK {node.slack}" if node.slack else "",
        *_source_and_options(node),
    ]


def _stream_as_text(node: CreateStreamAs, write: Write) -> list[str]:
    head = f"{_create(node)} STREAM {quoted(node.name)}{names_text(node.columns)} AS"
    return [head, write(node.query)]


def _view_text(node: CreateView, write: Write) -> list[str]:
    form = "" if node.form is None else f"{node.form.upper()} "
    head = f"{_create(node)} {form}VIEW {quoted(node.name)}{names_text(node.columns)} AS"
    return [head, write(node.query)]


def _create(node: Definition) -> str:
    return "CREATE OR REPLACE" if node.replaces else "CREATE"


def _source_and_options(node: CreateStream | CreateTable) -> list[str]:
    options = ", ".join(f"{string_text(k)} = {string_text(v)}" for k, v in node.options)
    return [
        f"SOURCE {string_text(node.source)}" if node.source is not None else "",
        f"WITH ({options})" if options else "",
    ]


def _columns(columns: tuple[ColumnDef, ...]) -> str:
    listed = ", ".join(f"{quoted(column.name)} {column.type}".rstrip() for column in columns)
    return f" ({listed})" if columns else ""


DEFINITIONS = Family(
    readers={
        "CREATE STREAM": read_stream,
        "CREATE VIEW": read_view,
        **{f"CREATE {form.upper()}": _view_reader(form) for form in FORMS},
        "CREATE TABLE": read_table,
        "STREAM": read_stream,
        "TABLE": read_table,
    },
    writers={
        CreateStream: _stream_text,
        CreateStreamAs: _stream_as_text,
        CreateView: _view_text,
        CreateTable: _table_text,
    },
)
