"""Statements back to canonical text."""

from __future__ import annotations

from sqlglot import exp

from millstream.lang.dialect import Millstream
from millstream.lang.families.all_statements import statement_parts
from millstream.lang.generator import text_of
from millstream.lang.guard import deep_stack
from millstream.lang.statements import Statement


def to_sql(node: Statement | exp.Expr) -> str:
    """Canonical text that parses again to an equal tree."""
    if isinstance(node, exp.Expr):
        with deep_stack():
            return text_of(node, Millstream())
    return " ".join(statement_parts(node, to_sql))
