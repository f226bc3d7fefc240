"""CREATE: streams, views and tables."""

from __future__ import annotations

from typing import Any

from sqlglot.tokens import Token, TokenType

from millstream.errors import closest
from millstream.lang.clauses import Clauses
from millstream.lang.statements import (
    CreateStream,
    CreateStreamAs,
    CreateTable,
    CreateView,
    Statement,
)

STREAM_CLAUSES = ("ORDER BY", "SLACK", "SOURCE", "WITH")
TABLE_CLAUSES = ("KEY", "NON RETROACTIVE", "SLACK", "SOURCE", "WITH")


class Definitions(Clauses):
    """Statements that make something; each starts after its first words."""

    def parse_create(self, first: Token) -> Statement:
        if self._match(TokenType.OR):
            self.fail(
                "CREATE OR REPLACE is not part of the language",
                self._prev,
                hint="Write DROP … IF EXISTS first, then CREATE.",
            )
        if self._match_texts({"STREAM"}):
            return self.parse_stream(first)
        if self._match_texts({"VIEW"}):
            return self._parse_view(first)
        if self._match_texts({"TABLE"}):
            return self._parse_created_table(first)
        kinds = ("STREAM", "VIEW", "TABLE")
        near = closest(self._curr.text, kinds) if self._curr else None
        self.expect(
            "STREAM, VIEW or TABLE after CREATE", hint=f"Did you mean {near}?" if near else None
        )

    def parse_stream(self, first: Token) -> Statement:
        name = self._parse_new_name()
        if self._match(TokenType.ALIAS):
            return self._finish_stream_as(first, name, None)
        if self._names_only():
            names = self.read_names()
            self._match(TokenType.ALIAS)
            return self._finish_stream_as(first, name, names)
        columns, key, key_token = self._parse_columns()
        if key:
            self.fail(
                "a stream has no primary key",
                key_token,
                hint="Remove PRIMARY KEY, or CREATE TABLE.",
            )
        clauses = self._parse_clauses(STREAM_CLAUSES)
        return CreateStream(columns=columns, **clauses, **self._named_parts(first, name))

    def _finish_stream_as(
        self, first: Token, name: Token, columns: tuple[str, ...] | None
    ) -> CreateStreamAs:
        query = self.parse_query()
        return CreateStreamAs(columns=columns, query=query, **self._named_parts(first, name))

    def _parse_view(self, first: Token) -> CreateView:
        name = self._parse_new_name()
        names = self.read_names() if self._match(TokenType.L_PAREN, advance=False) else None
        if not self._match(TokenType.ALIAS):
            self.expect("AS and a query", hint="Write CREATE VIEW name AS SELECT …")
        query = self.parse_query()
        return CreateView(columns=names, query=query, **self._named_parts(first, name))

    def _parse_created_table(self, first: Token) -> CreateTable:
        name = self._parse_new_name()
        if self._match(TokenType.ALIAS):
            self.fail(
                "a table cannot be made from a query",
                self._prev,
                hint=f"Write CREATE VIEW {name.text} AS …",
            )
        columns, key, key_token = self._parse_columns()
        clauses = self._parse_clauses(TABLE_CLAUSES)
        if key and key_token:
            if clauses.get("key"):
                self.fail("the table has two keys", key_token, hint="Remove one of them.")
            clauses |= {"key": key, "key_place": self.place_at(key_token)}
        return CreateTable(columns=columns, **clauses, **self._named_parts(first, name))

    def _named_parts(self, first: Token, name: Token) -> dict[str, Any]:
        return {
            "name": name.text,
            "name_place": self.place_at(name),
            "place": self.since(first),
        }

    def _parse_new_name(self) -> Token:
        if self._match_text_seq("IF", "NOT", "EXISTS"):
            self.fail(
                "CREATE … IF NOT EXISTS is not part of the language",
                self._prev,
                hint="Write DROP … IF EXISTS first, then CREATE.",
            )
        return self.read_name()

    def _names_only(self) -> bool:
        """Whether AS follows the parenthesis ahead, which then holds names without types."""
        if self._curr.token_type != TokenType.L_PAREN:
            return False
        depth = 0
        for index in range(self._index, len(self._tokens) - 1):
            kind = self._tokens[index].token_type
            depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
            if not depth:
                return self._tokens[index + 1].token_type == TokenType.ALIAS
        return False
