"""Syntax tree and catalog to logical plan: names, types, defaults and their notices.

The folders are in the order in which things happen, and a folder imports only from those before it:

    names          what a script calls things, and in which order its statements are carried out
    expressions    scalar expressions, with their types
    relations      FROM: streams, tables and views, their windows, joins and set operations
    subqueries     IN, EXISTS, ANY, ALL and scalar subqueries, as relations beside the plan
    queries        SELECT with all its clauses, and queries in queries
    definitions    CREATE STREAM and CREATE VIEW, and INSERT into streams
    tables         CREATE TABLE, INSERT, UPDATE and DELETE
    blocks         CREATE AGGREGATE and CREATE FUNCTION: routines
"""

from millstream.bind.definitions.clauses import source_fault
from millstream.bind.definitions.filled import bind_put, filled
from millstream.bind.definitions.inferred import is_whole, with_columns
from millstream.bind.definitions.named_queries import bind_derived, outermost
from millstream.bind.definitions.raw_sources import bind_source
from millstream.bind.definitions.streams import bind_stream
from millstream.bind.definitions.tagged import bind_tagged
from millstream.bind.queries.query import Bound, bind_query
from millstream.bind.tables.declared import bind_table

__all__ = [
    "Bound",
    "bind_derived",
    "bind_put",
    "bind_query",
    "bind_source",
    "bind_stream",
    "bind_table",
    "bind_tagged",
    "filled",
    "is_whole",
    "outermost",
    "source_fault",
    "with_columns",
]
