"""The dialect that ties tokens, parser and generator together."""

from __future__ import annotations

from sqlglot.dialects.dialect import Dialect

from millstream.lang.generator import Generator as MillstreamGenerator
from millstream.lang.parser import Parser as MillstreamParser
from millstream.lang.tokens import Tokenizer as MillstreamTokenizer


class Millstream(Dialect):
    """Spark's SQL in what it means, CQL in what it adds."""

    TYPED_DIVISION = False
    SAFE_DIVISION = True

    Tokenizer = MillstreamTokenizer
    Parser = MillstreamParser
    Generator = MillstreamGenerator
