"""What stands in blocks: local tables, and statements that change them."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from millstream.errors import Place
from millstream.lang.families.family import Write, names_text, string_text
from millstream.lang.families.modifications import (
    QUERIES,
    read_assignments,
    read_condition,
    read_file,
    where_text,
)
from millstream.lang.grammar.grammar import Grammar
from millstream.lang.routines import (
    BlockDelete,
    BlockInsert,
    BlockLoad,
    BlockStatement,
    BlockUpdate,
    LocalTableDef,
    Rows,
)
from millstream.lang.statements import ColumnDef
from millstream.lang.tokens import quoted

INWINDOW = "inwindow"
_STORED = ("MEMORY", "BTREE", "HASH", "RTREE")
_STATEMENTS = ("INSERT", "UPDATE", "DELETE", "LOAD")


def at_block_statement(parser: Grammar) -> bool:
    return bool(parser.current) and parser.current.text.upper() in _STATEMENTS


def read_block_statement(parser: Grammar) -> BlockStatement:
    """Take a statement and the semicolon behind it."""
    first = parser.current
    parser.advance()
    match first.text.upper():
        case "INSERT":
            statement: BlockStatement = _read_insert(parser, first)
        case "UPDATE":
            statement = _read_update(parser, first)
        case "DELETE":
            statement = _read_delete(parser, first)
        case _:
            statement = _read_load(parser, first)
    end_statement(parser)
    return statement


def end_statement(parser: Grammar) -> None:
    """Take the semicolon; before a closing brace it may be left out."""
    if parser.take(TokenType.SEMICOLON) or parser.at(TokenType.R_BRACE) or not parser.current:
        return
    parser.unexpected()


def read_local_table(parser: Grammar, first: Token) -> LocalTableDef:
    """Take the rest of TABLE name(columns) …"""
    name = parser.read_name("the name of a local table")
    columns = _read_columns(parser, name)
    stored, indexes, places, begins = None, [], [], None
    while parser.current and not parser.at(TokenType.SEMICOLON):
        word = parser.current
        if parser.take_word(*_STORED):
            stored = parser.previous.text.lower()
            if parser.at(TokenType.L_PAREN):
                indexes.append(parser.read_names())
                places.append(parser.since(word))
        elif parser.take_word("INDEX"):
            indexes.append(parser.read_names())
            places.append(parser.since(word))
        elif parser.take(TokenType.ALIAS):
            begins = _read_rows(parser, word, name, None, None)
            break
        else:
            break
    end_statement(parser)
    return LocalTableDef(
        columns=columns,
        stored=stored,
        indexes=tuple(indexes),
        begins=begins,
        index_places=tuple(places),
        **parser.named_parts(first, name),
    )


def _read_columns(parser: Grammar, table: Token) -> tuple[ColumnDef, ...]:
    if not parser.take(TokenType.L_PAREN):
        parser.expect('"(" and columns', hint=f"Write TABLE {table.text}(column type, …).")
    columns = []
    while True:
        name = parser.read_name("the name of a column")
        bare = parser.current.token_type in (TokenType.COMMA, TokenType.R_PAREN)
        if bare and table.text.lower() != INWINDOW:
            parser.fail(
                f'column "{name.text}" has no type',
                name,
                hint=f"Write for example {name.text} double.",
            )
        kind = "" if bare else parser.read_type().name
        columns.append(ColumnDef(name=name.text, type=kind, place=parser.since(name)))
        if not parser.take(TokenType.COMMA):
            parser.close()
            return tuple(columns)


def _read_insert(parser: Grammar, first: Token) -> BlockInsert:
    if not parser.take_word("INTO"):
        parser.expect("INTO after INSERT", hint="Write INSERT INTO RETURN VALUES (…).")
    name = parser.read_name("the name of a local table, or RETURN")
    columns, place = None, None
    if parser.at(TokenType.L_PAREN) and parser.following.token_type not in QUERIES:
        start = parser.current
        columns = parser.read_names()
        place = parser.since(start)
    return _read_rows(parser, first, name, columns, place)


def _read_rows(
    parser: Grammar,
    first: Token,
    name: Token,
    columns: tuple[str, ...] | None,
    columns_place: Place | None,
) -> BlockInsert:
    """Take VALUES and rows, or a query."""
    said: dict[str, Any] = {"columns": columns, "columns_place": columns_place}
    if parser.take_word("VALUES"):
        rows, places = _read_values(parser)
        where = read_condition(parser)
        return BlockInsert(
            rows=rows, row_places=places, where=where, **said, **parser.named_parts(first, name)
        )
    if not parser.current or not parser.at_query():
        parser.expect(
            "VALUES or SELECT", hint=f"Write INSERT INTO {name.text} VALUES (1, 'a'), or SELECT …."
        )
    query = parser.parse_query()
    return BlockInsert(query=query, **said, **parser.named_parts(first, name))


def _read_values(parser: Grammar) -> tuple[Rows, tuple[Place, ...]]:
    """Rows in parentheses; parentheses around all of them are dropped."""
    rows: list[tuple[exp.Expr, ...]] = []
    places: list[Place] = []
    while True:
        start = parser.current
        if not parser.take(TokenType.L_PAREN):
            parser.expect('"(" and values', hint="Write VALUES (1, 'a'), (2, 'b').")
        values = parser.read_list() or parser.expect("a value")
        parser.close()
        inner = [tuple(value.expressions) for value in values if isinstance(value, exp.Tuple)]
        found = inner if len(inner) == len(values) else [tuple(values)]
        rows += found
        places += [parser.since(start)] * len(found)
        if not parser.take(TokenType.COMMA):
            return tuple(rows), tuple(places)


def _read_update(parser: Grammar, first: Token) -> BlockUpdate:
    name = parser.read_name("the name of a local table")
    values, places = read_assignments(parser, name)
    where = read_condition(parser)
    return BlockUpdate(
        values=values, where=where, value_places=places, **parser.named_parts(first, name)
    )


def _read_delete(parser: Grammar, first: Token) -> BlockDelete:
    if not parser.take(TokenType.FROM):
        parser.expect("FROM after DELETE", hint="Write DELETE FROM table WHERE ….")
    name = parser.read_name("the name of a local table")
    return BlockDelete(where=read_condition(parser), **parser.named_parts(first, name))


def _read_load(parser: Grammar, first: Token) -> BlockLoad:
    source, place = read_file(parser)
    name = parser.read_name("the name of a local table")
    return BlockLoad(source=source, source_place=place, **parser.named_parts(first, name))


def block_text(node: BlockStatement, write: Write) -> str:
    """The canonical text of a statement, without its semicolon."""
    name = quoted(node.name)
    match node:
        case BlockInsert():
            return f"INSERT INTO {name}{names_text(node.columns)} {_rows_text(node, write)}"
        case BlockUpdate(values=values):
            listed = ", ".join(f"{quoted(column)} = {write(value)}" for column, value in values)
            return f"UPDATE {name} SET {listed}{_where(node.where, write)}"
        case BlockDelete():
            return f"DELETE FROM {name}{_where(node.where, write)}"
        case BlockLoad():
            return f"LOAD FROM {string_text(node.source)} INTO {name}"


def table_text(node: LocalTableDef, write: Write) -> str:
    """The canonical text of a local table."""
    listed = ", ".join(f"{quoted(c.name)} {c.type}".rstrip() for c in node.columns)
    parts = [f"TABLE {quoted(node.name)}({listed})"]
    parts += [node.stored.upper()] if node.stored else []
    parts += [f"INDEX{names_text(index)}" for index in node.indexes]
    parts += [f"AS {_rows_text(node.begins, write)}"] if node.begins is not None else []
    return " ".join(parts)


def _rows_text(node: BlockInsert, write: Write) -> str:
    if node.query is not None:
        return write(node.query)
    rows = ", ".join(f"({', '.join(map(write, row))})" for row in node.rows)
    return f"VALUES {rows}{_where(node.where, write)}"


def _where(condition: exp.Expr | None, write: Write) -> str:
    return f" {where_text(condition, write)}".rstrip()
