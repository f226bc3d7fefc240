"""All statements: DROP, SHOW, DESCRIBE, EXPLAIN, SET, and what is not part of the language."""

from __future__ import annotations

from typing import Any

from sqlglot.tokens import Token, TokenType

from millstream.errors import closest
from millstream.lang.faults import STATEMENTS
from millstream.lang.modifications import Modifications
from millstream.lang.statements import (
    Describe,
    Drop,
    Explain,
    QueryStatement,
    Set,
    Show,
    Statement,
)

KINDS = ("STREAM", "VIEW", "TABLE", "QUERY")
LISTS = ("STREAMS", "TABLES", "VIEWS", "QUERIES", "SETTINGS")
STAGES = ("BOUND", "OPTIMIZED", "PHYSICAL", "PATTERNS", "STATE", "COST")
NOT_YET = {
    "MERGE": "Write INSERT: a row replaces the one of its KEY.",
    "REGISTER": "Write CREATE STREAM name (columns) SOURCE '…'.",
    "AGGREGATE": "Use one of the built-in aggregates.",
    "VALUES": "Write SELECT.",
    "TABLE": "Write CREATE TABLE, or SELECT * FROM the table.",
    "VIEW": "Write CREATE VIEW.",
}
NEVER = [
    "ALTER",
    "ANALYZE",
    "BEGIN",
    "CACHE",
    "CALL",
    "COMMIT",
    "COPY",
    "EXECUTE",
    "EXPORT",
    "GRANT",
    "IMPORT",
    "LOAD",
    "LOCK",
    "OPTIMIZE",
    "PRAGMA",
    "PREPARE",
    "RENAME",
    "REPLACE",
    "REVOKE",
    "ROLLBACK",
    "START",
    "TRUNCATE",
    "USE",
    "VACUUM",
]


class Commands(Modifications):
    """The whole language: one statement from the tokens of one statement."""

    def parse_one(self, tokens: list[Token], text: str) -> Statement:
        """Read the tokens of one statement, without its semicolon."""
        self.reset()
        self.sql = text
        self._chunks = [tokens]
        self._advance_chunk()
        statement = self._parse_any_statement()
        if self._curr:
            self.unexpected()
        return statement

    def _parse_any_statement(self) -> Statement:
        first = self._curr
        if self.at_query():
            query = self.parse_query()
            return QueryStatement(query=query, place=self.since(first))
        readers: dict[str, Any] = {
            "CREATE": self.parse_create,
            "STREAM": self.parse_stream,
            "INSERT": self.parse_insert,
            "UPDATE": self.parse_update,
            "DELETE": self.parse_delete,
            "DROP": self._parse_drop_statement,
            "SHOW": self._parse_show_statement,
            "DESCRIBE": self._parse_describe_statement,
            "DESC": self._parse_describe_statement,
            "EXPLAIN": self._parse_explain,
            "SET": self._parse_set_statement,
        }
        word = first.text.upper()
        if first.token_type in (TokenType.IDENTIFIER, TokenType.STRING) or word not in readers:
            self._wrong_beginning(word)
        self._advance()
        return readers[word](first)

    def _wrong_beginning(self, word: str) -> None:
        if word in NOT_YET:
            self.fail(f"{word} is not part of the language yet", hint=NOT_YET[word])
        if word in NEVER:
            self.fail(f"{word} is not part of the language")
        near = closest(word, STATEMENTS)
        self.fail(
            f"a statement cannot begin with {self.written(self._curr)}",
            hint=f"Did you mean {near}?" if near else f"Begin with {', '.join(STATEMENTS)}.",
        )

    def _parse_drop_statement(self, first: Token) -> Drop:
        kind = self._read_word(KINDS, "DROP")
        if_exists = self._match_text_seq("IF", "EXISTS")
        name = self.read_name()
        return Drop(kind=kind, if_exists=if_exists, **self._named_parts(first, name))

    def _parse_show_statement(self, first: Token) -> Show:
        what = self._read_word(LISTS, "SHOW") if self._curr else None
        return Show(what=what, place=self.since(first))

    def _parse_describe_statement(self, first: Token) -> Describe:
        if self._next:
            self._match_texts(set(KINDS))
        return Describe(**self._named_parts(first, self.read_name()))

    def _parse_explain(self, first: Token) -> Explain:
        stage = None
        if self._next and not self.at_query():
            if self._curr.text.upper() not in STAGES:
                near = closest(self._curr.text, STAGES)
                self.fail(
                    f"stage {self.written(self._curr)} does not exist",
                    hint=f"Did you mean {near}?" if near else f"Write {', '.join(STAGES)}.",
                )
            stage = self._read_word(STAGES, "EXPLAIN")
        if self.at_query():
            query = self.parse_query()
            return Explain(stage=stage, query=query, place=self.since(first))
        name = self.read_name("a query or a name")
        return Explain(
            stage=stage, name=name.text, name_place=self.place_at(name), place=self.since(first)
        )

    def _parse_set_statement(self, first: Token) -> Set:
        token = self.read_name("the name of a setting")
        name = token.text.lower()
        while self._match(TokenType.DOT):
            name += f".{self.read_name().text.lower()}"
        if not self._match(TokenType.EQ) and not self._match_texts({"TO"}):
            self.expect('"="', hint=f"Write SET {name} = value.")
        start = self._curr
        value = self.read_value()
        return Set(
            name=name,
            value=value,
            value_place=self.since(start),
            name_place=self.place_at(token),
            place=self.since(first),
        )

    def _read_word(self, words: tuple[str, ...], after: str) -> str:
        """Take one of a few words, in lower case."""
        if self._curr.token_type == TokenType.VAR and self._match_texts(set(words)):
            return self._prev.text.lower()
        near = closest(self._curr.text, words) if self._curr else None
        self.expect(
            f"{', '.join(words[:-1])} or {words[-1]} after {after}",
            hint=f"Did you mean {near}?" if near else None,
        )
