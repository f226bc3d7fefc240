"""Text to syntax tree and back; knows no names and no types."""

from millstream.lang.guard import deep_stack
from millstream.lang.interval import Interval, interval_from_text, interval_of
from millstream.lang.nodes import StreamWindow, ToStream, TypeName
from millstream.lang.places import name_place_of, place_of
from millstream.lang.printing import to_sql
from millstream.lang.script import parse_script
from millstream.lang.statements import (
    ColumnDef,
    CreateStream,
    CreateStreamAs,
    CreateTable,
    CreateView,
    Describe,
    Drop,
    Explain,
    QueryStatement,
    Set,
    Show,
    Statement,
)

__all__ = [
    "ColumnDef",
    "CreateStream",
    "CreateStreamAs",
    "CreateTable",
    "CreateView",
    "Describe",
    "Drop",
    "Explain",
    "Interval",
    "QueryStatement",
    "Set",
    "Show",
    "Statement",
    "StreamWindow",
    "ToStream",
    "TypeName",
    "deep_stack",
    "interval_from_text",
    "interval_of",
    "name_place_of",
    "parse_script",
    "place_of",
    "to_sql",
]
