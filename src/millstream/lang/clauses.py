"""The clauses after the columns: ORDER BY, SLACK, KEY, SOURCE, WITH and others, in any order."""

from __future__ import annotations

from typing import Any

from sqlglot.tokens import TokenType

from millstream.errors import closest
from millstream.lang.columns import Columns
from millstream.lang.faults import STATEMENTS
from millstream.lang.statements import Options


class Clauses(Columns):
    """Where a stream or table comes from, and how it is ordered."""

    def _parse_clauses(self, allowed: tuple[str, ...]) -> dict[str, Any]:
        """Take the clauses after the columns, each once, in any order."""
        found: dict[str, Any] = {}
        while self._curr:
            clause, word = self._curr, " ".join(self._curr.text.upper().split())
            if self._match_text_seq("NON", "RETROACTIVE", advance=False):
                word = "NON RETROACTIVE"
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
        if word == "NON RETROACTIVE":
            self._advance()
            return "non_retroactive", True
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
