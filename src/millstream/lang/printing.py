"""Statements back to canonical text."""

from __future__ import annotations

from sqlglot import exp

from millstream.lang.dialect import Millstream
from millstream.lang.generator import text_of
from millstream.lang.guard import deep_stack
from millstream.lang.statements import (
    ColumnDef,
    CreateStream,
    CreateStreamAs,
    CreateTable,
    CreateView,
    Delete,
    Describe,
    Drop,
    Explain,
    Insert,
    Modification,
    QueryStatement,
    Set,
    Show,
    Statement,
    Update,
)
from millstream.lang.tokens import quoted


def to_sql(node: Statement | exp.Expr) -> str:
    """Canonical text that parses again to an equal tree."""
    if isinstance(node, exp.Expr):
        with deep_stack():
            return text_of(node, Millstream())
    return " ".join(part for part in _parts(node) if part)


def _parts(node: Statement) -> list[str]:
    match node:
        case QueryStatement():
            return [to_sql(node.query)]
        case CreateStream():
            return [
                f"CREATE STREAM {quoted(node.name)} ({_columns(node.columns)})",
                f"ORDER BY {quoted(node.order_by)}" if node.order_by else "",
                f"SLACK {node.slack}" if node.slack else "",
                *_source_and_options(node),
            ]
        case CreateTable():
            return [
                f"CREATE TABLE {quoted(node.name)} ({_columns(node.columns)})",
                f"KEY{_names(node.key)}" if node.key else "",
                "NON RETROACTIVE" if node.non_retroactive else "",
                f"SLACK {node.slack}" if node.slack else "",
                *_source_and_options(node),
            ]
        case CreateStreamAs():
            return [
                f"CREATE STREAM {quoted(node.name)}{_names(node.columns)} AS",
                to_sql(node.query),
            ]
        case CreateView():
            return [f"CREATE VIEW {quoted(node.name)}{_names(node.columns)} AS", to_sql(node.query)]
        case Modification():
            return [*_changing(node), f"AT {to_sql(node.at)}" if node.at is not None else ""]
        case Drop():
            exists = "IF EXISTS" if node.if_exists else ""
            return ["DROP", node.kind.upper(), exists, quoted(node.name)]
        case Show():
            return ["SHOW", (node.what or "").upper()]
        case Describe():
            return ["DESCRIBE", quoted(node.name)]
        case Explain():
            what = to_sql(node.query) if node.query is not None else quoted(node.name or "")
            return ["EXPLAIN", (node.stage or "").upper(), what]
        case Set():
            return ["SET", ".".join(map(quoted, node.name.split("."))), "=", _string(node.value)]
    raise TypeError(f"{type(node).__name__} is not a statement")


def _changing(node: Modification) -> list[str]:
    match node:
        case Insert():
            rows = ", ".join(f"({', '.join(map(to_sql, row))})" for row in node.rows)
            return [f"INSERT INTO {quoted(node.name)}{_names(node.columns)} VALUES", rows]
        case Update():
            values = ", ".join(f"{quoted(name)} = {to_sql(value)}" for name, value in node.values)
            return [f"UPDATE {quoted(node.name)} SET", values, _where(node.where)]
        case Delete():
            return [f"DELETE FROM {quoted(node.name)}", _where(node.where)]
    raise TypeError(f"{type(node).__name__} is not a modification")


def _where(condition: exp.Expr | None) -> str:
    return f"WHERE {to_sql(condition)}" if condition is not None else ""


def _source_and_options(node: CreateStream | CreateTable) -> list[str]:
    options = ", ".join(f"{_string(name)} = {_string(value)}" for name, value in node.options)
    return [
        f"SOURCE {_string(node.source)}" if node.source is not None else "",
        f"WITH ({options})" if options else "",
    ]


def _columns(columns: tuple[ColumnDef, ...]) -> str:
    return ", ".join(f"{quoted(column.name)} {column.type}" for column in columns)


def _names(names: tuple[str, ...] | None) -> str:
    return f" ({', '.join(map(quoted, names))})" if names else ""


def _string(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{escaped}'"
