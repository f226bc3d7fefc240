"""The grammar of queries: sqlglot's parser, with what CQL adds and what Spark's SQL means."""

from __future__ import annotations

from millstream.lang.grammar.bare import Bare
from millstream.lang.grammar.calls import Calls
from millstream.lang.grammar.expressions import Expressions
from millstream.lang.grammar.literals import Literals


class Grammar(Bare, Expressions, Literals, Calls):
    """Reads queries and expressions; statements around them are read by `families/`."""
