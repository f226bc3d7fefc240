"""The tokens of the language: few keywords, so that most words stay free for names."""

from __future__ import annotations

from typing import ClassVar

from sqlglot.tokens import Tokenizer as SqlTokenizer
from sqlglot.tokens import TokenType

OPERATORS = {
    "==": TokenType.EQ,
    "<>": TokenType.NEQ,
    "!=": TokenType.NEQ,
    "<=": TokenType.LTE,
    ">=": TokenType.GTE,
    "<=>": TokenType.NULLSAFE_EQ,
    "≤": TokenType.LTE,
    "≥": TokenType.GTE,
    "≠": TokenType.NEQ,
    "->": TokenType.ARROW,
    "||": TokenType.DPIPE,
    "::": TokenType.DCOLON,
}
_RESERVED_WORDS = """
    ALL AND ANY BETWEEN CASE CROSS DISTINCT DIV ELSE END EXCEPT EXISTS FALSE FROM FULL HAVING ILIKE
    IN INNER INTERSECT IS JOIN LEFT LIKE LIMIT NATURAL NOT NULL ON OR OUTER OVER RIGHT RLIKE SELECT
    SOME THEN TRUE UNION USING WHEN WHERE WITH
"""
_SOFT_WORDS = """
    ANTI ASC CURRENT_DATE CURRENT_TIMESTAMP DESC ESCAPE FILTER INTERVAL OFFSET RANGE RECURSIVE ROWS
    SEMI
"""
RESERVED = {name: TokenType[name] for name in _RESERVED_WORDS.split()} | {
    "AS": TokenType.ALIAS,
    "GROUP BY": TokenType.GROUP_BY,
    "ORDER BY": TokenType.ORDER_BY,
    "PARTITION BY": TokenType.PARTITION_BY,
    "REGEXP": TokenType.RLIKE,
}
# Words that are keywords where the grammar expects them and names everywhere else.
SOFT = {name: TokenType[name] for name in _SOFT_WORDS.split()}
_NOT_PLAIN = {word for keyword in RESERVED for word in keyword.split()}


class Tokenizer(SqlTokenizer):
    """Cuts a script into tokens whose offsets are those of the whole script."""

    IDENTIFIERS: ClassVar = ['"', "`"]
    KEYWORDS: ClassVar = OPERATORS | RESERVED | SOFT
    COMMANDS: ClassVar = set()
    COMMENTS: ClassVar = ["--", ("/*", "*/")]
    NESTED_COMMENTS = False
    STRING_ESCAPES: ClassVar = ["'"]


def is_plain_name(name: str) -> bool:
    """Whether a name can stand without quotes.

    >>> is_plain_name("bids"), is_plain_name("hot-items"), is_plain_name("from")
    (True, False, False)
    """
    return name.isidentifier() and name.upper() not in _NOT_PLAIN


def quoted(name: str) -> str:
    """A name as it is written in a script."""
    escaped = name.replace('"', '""')
    return name if is_plain_name(name) else f'"{escaped}"'
