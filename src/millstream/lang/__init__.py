"""Text to syntax tree and back; knows no names and no types.

The folders, each of which imports only from those before it:

    grammar     queries and expressions: what overrides sqlglot's parser
    families    statements, a file for each family, which read with the grammar's words

`script` cuts a text into statements and gives each to the `parser`; `statements` and `nodes` are
what comes out, `printing` and `generator` lead back to text.
"""

from millstream.lang.families import commands
from millstream.lang.guard import deep_stack
from millstream.lang.interval import Interval, interval_from_text, interval_of
from millstream.lang.nodes import (
    MatchPattern,
    OverFrame,
    PatternAnchor,
    PatternChoice,
    PatternExclude,
    PatternPermute,
    PatternRepeat,
    PatternSequence,
    PatternVariable,
    Previous,
    SequenceElement,
    SequencePattern,
    StarOf,
    StreamWindow,
    SubsetOf,
    Tense,
    ToStream,
    TypeName,
)
from millstream.lang.places import name_place_of, place_of
from millstream.lang.printing import to_sql
from millstream.lang.routines import (
    BlockDelete,
    BlockInsert,
    BlockLoad,
    BlockStatement,
    BlockUpdate,
    CreateForeignAggregate,
    CreateRoutine,
    LocalTableDef,
    Section,
)
from millstream.lang.script import Unread, parse_each, parse_script
from millstream.lang.statements import (
    ColumnDef,
    CreateStream,
    CreateStreamAs,
    CreateTable,
    CreateView,
    Definition,
    Delete,
    Describe,
    DescribeFunction,
    Drop,
    Explain,
    ExplainRoutine,
    Insert,
    InsertQuery,
    Load,
    Modification,
    QueryStatement,
    Set,
    Show,
    Statement,
    Update,
)

__all__ = [
    "BlockDelete",
    "BlockInsert",
    "BlockLoad",
    "BlockStatement",
    "BlockUpdate",
    "ColumnDef",
    "CreateForeignAggregate",
    "CreateRoutine",
    "CreateStream",
    "CreateStreamAs",
    "CreateTable",
    "CreateView",
    "Definition",
    "Delete",
    "Describe",
    "DescribeFunction",
    "Drop",
    "Explain",
    "ExplainRoutine",
    "Insert",
    "InsertQuery",
    "Interval",
    "Load",
    "LocalTableDef",
    "MatchPattern",
    "Modification",
    "OverFrame",
    "PatternAnchor",
    "PatternChoice",
    "PatternExclude",
    "PatternPermute",
    "PatternRepeat",
    "PatternSequence",
    "PatternVariable",
    "Previous",
    "QueryStatement",
    "Section",
    "SequenceElement",
    "SequencePattern",
    "Set",
    "Show",
    "StarOf",
    "Statement",
    "StreamWindow",
    "SubsetOf",
    "Tense",
    "ToStream",
    "TypeName",
    "Unread",
    "Update",
    "commands",
    "deep_stack",
    "interval_from_text",
    "interval_of",
    "name_place_of",
    "parse_each",
    "parse_script",
    "place_of",
    "to_sql",
]
