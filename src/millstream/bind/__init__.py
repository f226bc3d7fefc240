"""Syntax tree and catalog to logical plan: names, types, defaults and their report."""

from millstream.bind.clauses import source_fault
from millstream.bind.query import Bound, bind_query
from millstream.bind.statements import bind_derived, bind_stream, outermost
from millstream.bind.tables import bind_table

__all__ = [
    "Bound",
    "bind_derived",
    "bind_query",
    "bind_stream",
    "bind_table",
    "outermost",
    "source_fault",
]
