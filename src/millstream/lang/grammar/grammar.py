"""The grammar of queries: sqlglot's parser, with what CQL adds and what Spark's SQL means."""

from __future__ import annotations

from millstream.lang.grammar.bare import Bare
from millstream.lang.grammar.calls import Calls
from millstream.lang.grammar.expressions import Expressions
from millstream.lang.grammar.literals import Literals
from millstream.lang.grammar.overs import Overs
from millstream.lang.grammar.queries import Queries
from millstream.lang.grammar.recognize import Recognize
from millstream.lang.grammar.row_patterns import RowPatterns
from millstream.lang.grammar.selects import Selects
from millstream.lang.grammar.sequences import Sequences
from millstream.lang.grammar.sources import Sources
from millstream.lang.grammar.windows import Windows


class Grammar(
    Bare,
    Sequences,
    Recognize,
    RowPatterns,
    Queries,
    Selects,
    Sources,
    Windows,
    Overs,
    Expressions,
    Literals,
    Calls,
):
    """Reads queries and expressions; statements around them are read by `families/`."""
