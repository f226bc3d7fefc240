"""CREATE: streams, views and tables."""

from __future__ import annotations

from typing import Any

from sqlglot.tokens import Token, TokenType

from millstream.errors import MillstreamError, closest
from millstream.lang.faults import STATEMENTS
from millstream.lang.sources import Sources
from millstream.lang.statements import (
    ColumnDef,
    CreateStream,
    CreateStreamAs,
    CreateTable,
    CreateView,
    Options,
    Statement,
)
from millstream.lang.types import CANONICAL

STREAM_CLAUSES = ("ORDER BY", "SLACK", "SOURCE", "WITH")
TABLE_CLAUSES = ("KEY", "SOURCE", "WITH")


class Definitions(Sources):
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
                "a stream has no primary key", key_token, hint="Remove PRIMARY KEY, or CREATE TABLE."
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

    def _parse_columns(self) -> tuple[tuple[ColumnDef, ...], tuple[str, ...], Token | None]:
        if not self._match(TokenType.L_PAREN):
            self.expect('"(" and columns', hint="Write for example (item bigint, price double).")
        columns: list[ColumnDef] = []
        key: tuple[str, ...] = ()
        key_token: Token | None = None
        while True:
            if self._match_text_seq("PRIMARY", "KEY"):
                found, token = self.read_names, self._prev
                key, key_token = self._one_key(key, token) or found(), token
            else:
                columns.append(self._parse_column_def())
                if self._match_text_seq("PRIMARY", "KEY"):
                    token = self._prev
                    key, key_token = self._one_key(key, token) or (columns[-1].name,), token
            if not self._match(TokenType.COMMA):
                break
        self._check_column_end()
        self._match_r_paren()
        return tuple(columns), key, key_token

    def _one_key(self, key: tuple[str, ...], token: Token) -> tuple[str, ...]:
        if key:
            self.fail(
                "the table has two keys", token, hint="Write PRIMARY KEY (a, b) for a key of two."
            )
        return ()

    def _parse_column_def(self) -> ColumnDef:
        name = self.read_name("the name of a column")
        if self._curr.token_type in (TokenType.COMMA, TokenType.R_PAREN):
            self.expect(f'a type after column "{name.text}"', hint="Write for example price double.")
        swapped = name.text.lower() in CANONICAL and self._curr.text.lower() not in CANONICAL
        if swapped and self._curr.token_type == TokenType.VAR:
            self.guarded(
                MillstreamError(
                    f'type "{self._curr.text}" does not exist',
                    hint=f"The name comes first: {self._curr.text} {name.text}.",
                ),
                self._curr,
                self._curr,
            )
        type_name = self._parse_type_name().name
        return ColumnDef(name=name.text, type=type_name, place=self.since(name))

    def _check_column_end(self) -> None:
        if self._match(TokenType.NOT, advance=False) or self._match(TokenType.NULL, advance=False):
            self.fail(
                "NULL and NOT NULL are not part of the language",
                hint="Remove it: every column may hold NULL.",
            )
        words = ("DEFAULT", "UNIQUE", "CHECK", "REFERENCES", "CONSTRAINT", "COMMENT")
        if self._curr.text.upper() in words:
            self.fail(
                f"{self._curr.text.upper()} is not part of the language",
                hint="A column has a name and a type.",
            )

    def _parse_clauses(self, allowed: tuple[str, ...]) -> dict[str, Any]:
        """Take the clauses after the columns, each once, in any order."""
        found: dict[str, Any] = {}
        while self._curr:
            clause, word = self._curr, " ".join(self._curr.text.upper().split())
            if word not in allowed:
                self._wrong_clause(word, allowed)
            self._advance()
            key, value = self._parse_clause(word)
            if key in found:
                self.fail(f"{word} stands twice", clause, hint="Remove one of them.")
            short = key.removesuffix("_by")
            found |= {key: value, f"{short}_place": self.since(clause)}
        return found

    def _wrong_clause(self, word: str, allowed: tuple[str, ...]) -> None:
        if word == "ORDER" or word == "KEY":
            hint = "Write ORDER BY." if word == "ORDER" else "A key belongs to a table."
        elif word in STATEMENTS and word not in allowed:
            hint = "End the statement before it with a semicolon."
        else:
            near = closest(word, allowed)
            hint = f"Did you mean {near}?" if near else f"Clauses are {', '.join(allowed)}."
        self.fail(f"unexpected {self.written(self._curr)}", hint=hint)

    def _parse_clause(self, word: str) -> tuple[str, Any]:
        if word == "ORDER BY":
            name = self.read_name("a column or current_time").text
            return "order_by", "current_time" if name.lower() == "current_time" else name
        if word == "SLACK":
            return "slack", self._parse_length("SLACK")
        if word == "KEY":
            return "key", self.read_names()
        if word == "SOURCE":
            if not self._match(TokenType.STRING):
                self.expect("a string after SOURCE", hint="Write for example SOURCE 'bids.csv'.")
            return "source", self._prev.text
        return "options", self._parse_options()

    def _parse_options(self) -> Options:
        if not self._match(TokenType.L_PAREN):
            self.expect('"(" after WITH', hint="Write WITH (name = value, …).")
        options = [self._parse_option()]
        while self._match(TokenType.COMMA):
            options.append(self._parse_option())
        self._match_r_paren()
        return tuple(options)

    def _parse_option(self) -> tuple[str, str]:
        if self._match(TokenType.STRING):
            name = self._prev.text
        else:
            name = self.read_name("the name of an option").text
        while self._match(TokenType.DOT):
            name += f".{self.read_name().text}"
        if not self._match(TokenType.EQ):
            self.expect('"="', hint="Write WITH (name = value, …).")
        return name, self.read_value((TokenType.COMMA, TokenType.R_PAREN))

    def read_value(self, ends: tuple[TokenType, ...] = ()) -> str:
        """Take the text of a value: a string, or everything up to the end."""
        first, count = self._curr, 0
        while self._curr and self._curr.token_type not in ends:
            self._advance()
            count += 1
        if not count:
            self.expect("a value")
        if count == 1 and first.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
            return first.text
        return self.sql[first.start : self._prev.end + 1]
