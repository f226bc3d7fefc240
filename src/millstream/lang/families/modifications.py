"""INSERT, UPDATE and DELETE, each with the time it happens at."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from millstream.errors import Place
from millstream.lang.families.family import Family, Write, names_text, string_text
from millstream.lang.grammar.grammar import Grammar
from millstream.lang.statements import Delete, Insert, InsertQuery, Load, Modification, Update
from millstream.lang.tokens import quoted

QUERIES = (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN)
"""What a query in parentheses begins with; a list of columns begins with a name."""


def read_insert(parser: Grammar, first: Token) -> Insert | InsertQuery:
    if not parser.take_word("INTO"):
        parser.expect("INTO after INSERT", hint="Write INSERT INTO table VALUES (…).")
    name, columns, columns_place = parser.read_name("the name of a table"), None, None
    if parser.at(TokenType.L_PAREN) and parser.following.token_type not in QUERIES:
        start = parser.current
        columns = parser.read_names()
        columns_place = parser.since(start)
    if parser.current and parser.at_query():
        return InsertQuery(
            columns=columns,
            query=parser.parse_query(),
            columns_place=columns_place,
            **parser.named_parts(first, name),
        )
    if not parser.take_word("VALUES"):
        parser.expect("VALUES and rows", hint=f"Write INSERT INTO {name.text} VALUES (1, 'a').")
    rows, places = _value_rows(parser)
    at = _at(parser)
    return Insert(
        columns=columns,
        rows=rows,
        at=at,
        columns_place=columns_place,
        row_places=places,
        **parser.named_parts(first, name),
    )


def read_update(parser: Grammar, first: Token) -> Update:
    name = parser.read_name("the name of a table")
    values, places = read_assignments(parser, name)
    where, at = read_condition(parser), _at(parser)
    return Update(
        values=values, where=where, at=at, value_places=places, **parser.named_parts(first, name)
    )


def read_assignments(
    parser: Grammar, table: Token
) -> tuple[tuple[tuple[str, exp.Expr], ...], tuple[Place, ...]]:
    """Take SET column = value, …; the places are those of the columns."""
    if not parser.take_word("SET"):
        parser.expect("SET", hint=f"Write UPDATE {table.text} SET column = value WHERE ….")
    values, places = [], []
    while True:
        column = parser.read_name("the name of a column")
        if not parser.take(TokenType.EQ):
            parser.expect('"="', hint=f"Write {column.text} = value.")
        values.append((column.text, parser.read_expression()))
        places.append(parser.place_at(column))
        if not parser.take(TokenType.COMMA):
            return tuple(values), tuple(places)


def read_delete(parser: Grammar, first: Token) -> Delete:
    if not parser.take(TokenType.FROM):
        parser.expect("FROM after DELETE", hint="Write DELETE FROM table WHERE ….")
    name = parser.read_name("the name of a table")
    where, at = read_condition(parser), _at(parser)
    return Delete(where=where, at=at, **parser.named_parts(first, name))


def read_load(parser: Grammar, first: Token) -> Load:
    source, place = read_file(parser)
    name = parser.read_name("the name of a table")
    at = _at(parser)
    return Load(source=source, source_place=place, at=at, **parser.named_parts(first, name))


def read_file(parser: Grammar) -> tuple[str, Place]:
    """Take FROM, a file and INTO."""
    if not parser.take(TokenType.FROM) or not parser.take(TokenType.STRING):
        parser.expect("FROM and a file", hint="Write LOAD FROM 'file.csv' INTO table.")
    source, place = parser.previous.text, parser.place_at(parser.previous)
    if not parser.take_word("INTO"):
        parser.expect("INTO", hint="Write LOAD FROM 'file.csv' INTO table.")
    return source, place


def _value_rows(
    parser: Grammar,
) -> tuple[tuple[tuple[exp.Expr, ...], ...], tuple[Place, ...]]:
    rows, places = [], []
    while True:
        start = parser.current
        if not parser.take(TokenType.L_PAREN):
            parser.expect('"(" and values', hint="Write VALUES (1, 'a'), (2, 'b').")
        rows.append(tuple(parser.read_list()))
        if not rows[-1]:
            parser.expect("a value")
        parser.close()
        places.append(parser.since(start))
        if not parser.take(TokenType.COMMA):
            return tuple(rows), tuple(places)


def read_condition(parser: Grammar) -> exp.Expr | None:
    """Take WHERE and a condition, if there is one."""
    return parser.read_expression() if parser.take(TokenType.WHERE) else None


def _at(parser: Grammar) -> exp.Expr | None:
    if not parser.take_word("AT"):
        return None
    return parser.read_expression("a time after AT")


def _insert_text(node: Insert, write: Write) -> list[str]:
    rows = ", ".join(f"({', '.join(map(write, row))})" for row in node.rows)
    head = f"INSERT INTO {quoted(node.name)}{names_text(node.columns)} VALUES"
    return [head, rows, _at_text(node, write)]


def _insert_query_text(node: InsertQuery, write: Write) -> list[str]:
    return [f"INSERT INTO {quoted(node.name)}{names_text(node.columns)}", write(node.query)]


def _update_text(node: Update, write: Write) -> list[str]:
    values = ", ".join(f"{quoted(name)} = {write(value)}" for name, value in node.values)
    head = f"UPDATE {quoted(node.name)} SET"
    return [head, values, where_text(node.where, write), _at_text(node, write)]


def _delete_text(node: Delete, write: Write) -> list[str]:
    head = f"DELETE FROM {quoted(node.name)}"
    return [head, where_text(node.where, write), _at_text(node, write)]


def _load_text(node: Load, write: Write) -> list[str]:
    return [f"LOAD FROM {string_text(node.source)} INTO {quoted(node.name)}", _at_text(node, write)]


def where_text(condition: exp.Expr | None, write: Write) -> str:
    return f"WHERE {write(condition)}" if condition is not None else ""


def _at_text(node: Modification, write: Write) -> str:
    return f"AT {write(node.at)}" if node.at is not None else ""


MODIFICATIONS = Family(
    readers={
        "INSERT": read_insert,
        "UPDATE": read_update,
        "DELETE": read_delete,
        "LOAD": read_load,
    },
    writers={
        Insert: _insert_text,
        InsertQuery: _insert_query_text,
        Update: _update_text,
        Delete: _delete_text,
        Load: _load_text,
    },
)
