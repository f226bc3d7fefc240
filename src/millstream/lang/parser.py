"""The parser of the language: the grammar of queries, and the statements around them."""

from __future__ import annotations

from typing import ClassVar

from sqlglot.tokens import Token

from millstream.lang.families.all_statements import BEGINNINGS, read_statement
from millstream.lang.grammar.grammar import Grammar
from millstream.lang.statements import Statement


class Parser(Grammar):
    """Reads one statement from its tokens."""

    BEGINNINGS: ClassVar = BEGINNINGS

    def parse_one(self, tokens: list[Token], text: str) -> Statement:
        """Read the tokens of one statement, without its semicolon."""
        self.reset()
        self.sql = text
        self._chunks = [tokens]
        self._advance_chunk()
        statement = read_statement(self)
        if self._curr:
            self.unexpected()
        return statement
