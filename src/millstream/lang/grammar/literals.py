"""Constants: numbers, strings, dates and intervals."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from millstream.errors import MillstreamError
from millstream.lang.grammar.core import Core
from millstream.lang.interval import CALENDAR_UNITS, interval_of_parts, known_unit, split_parts
from millstream.lang.nodes import TypeName
from millstream.lang.types import INSTANTS, canonical_type

_NUMBER = re.compile(r"\d+(\.\d*)?([eE][+-]?\d+)?")
_LESS = ("EXCEPT", "EXCLUDE", "REPLACE")
"""What follows a star in other systems, with columns in parentheses."""
_AFTER_STAR = {
    TokenType.COMMA,
    TokenType.R_PAREN,
    TokenType.FROM,
    TokenType.ALIAS,
    TokenType.VAR,
    TokenType.UNION,
    TokenType.EXCEPT,
    TokenType.INTERSECT,
}


def _number(self: Any, token: Token) -> exp.Expr:
    after = (TokenType.VAR, TokenType.DOT)
    glued = self._curr.token_type in after and self._is_connected()
    if glued or not _NUMBER.fullmatch(token.text):
        last = self._curr if glued else token
        text = self.sql[token.start : last.end + 1]
        error = MillstreamError(f'"{text}" is not a number', hint=_meant(text))
        self.guarded(error, token, last)
    return self.expression(exp.Literal(this=token.text, is_string=False), token)


def _meant(text: str) -> str:
    """A hint for a word that begins like a number."""
    if text.count(".") > 1:
        return "A number has one point at most."
    if re.fullmatch(r"[\d_.]+", text):
        return f"Write {text.replace('_', '')}."
    if re.fullmatch(r"0[xX][0-9a-fA-F]+", text):
        return f"Write {int(text, 16)}."
    if re.fullmatch(r"[\d.]+[eE][+-]?", text):
        return f"Write digits after the e: {text.rstrip('+-')}3."
    return "Put a space or an operator behind the number; a name does not begin with a digit."


def _star(self: Any, token: Token) -> exp.Expr:
    if self._curr.text.upper() in _LESS and self._next.token_type == TokenType.L_PAREN:
        beyond = self._tokens[self._index + 2 : self._index + 3]
        if not beyond or beyond[0].token_type not in (TokenType.SELECT, TokenType.WITH):
            self.fail(
                f"* {self._curr.text.upper()} is not part of the language",
                hint="Name the columns that are wanted.",
            )
    if self._curr and self._curr.token_type not in _AFTER_STAR:
        self.unexpected()
    return self.expression(exp.Star(), token)


class Literals(Core):
    """Constants, and the notes that every leaf of the tree carries."""

    PRIMARY_PARSERS: ClassVar = {
        TokenType.STRING: Core.PRIMARY_PARSERS[TokenType.STRING],
        TokenType.NUMBER: _number,
        TokenType.NULL: lambda self, token: self.expression(exp.Null(), token),
        TokenType.TRUE: lambda self, token: self.expression(exp.Boolean(this=True), token),
        TokenType.FALSE: lambda self, token: self.expression(exp.Boolean(this=False), token),
        TokenType.STAR: _star,
    }

    def expression(self, instance: Any, token: Any = None, comments: Any = None) -> Any:
        """Finish a node: note which quotes a name had, and write calls in lower case."""
        if type(instance) is exp.Identifier and token and self.sql[token.start] == '"':
            instance.meta["double_quoted"] = True
        elif type(instance) is exp.Anonymous and isinstance(instance.this, str):
            instance.set("this", instance.this.lower())
        return super().expression(instance, token, comments)

    def _parse_type(
        self, parse_interval: bool = True, fallback_to_identifier: bool = False
    ) -> exp.Expr | None:
        if self._next.token_type == TokenType.STRING and self._curr.text.upper() in (
            "DATE",
            "TIMESTAMP",
            "TIMESTAMPTZ",
            "TIMESTAMP_NTZ",
            "TIMESTAMP_LTZ",
        ):
            self._advance()
            to = TypeName(this=canonical_type(self._prev.text))
            to.meta["zoned"] = self._prev.text.lower() in INSTANTS
            return self.expression(exp.Cast(this=self._parse_primary(), to=to))
        return self._parse_interval() or self._parse_atom() or self._parse_column()

    def _parse_interval(
        self, require_interval: bool = True, parse_function_unit: bool = True
    ) -> Any:
        """`INTERVAL '5' MINUTE`, `INTERVAL '1 day 2 hours'`, `INTERVAL 5 MINUTES`."""
        first, sign = self._curr, ""
        if first.token_type != TokenType.INTERVAL or self._next.token_type not in (
            TokenType.STRING,
            TokenType.NUMBER,
            TokenType.DASH,
        ):
            return None
        self._advance()
        if self._match(TokenType.DASH):
            sign = "-"
        if not self._match_set((TokenType.STRING, TokenType.NUMBER)):
            self.expect("a number")
        parts = self._interval_parts(f"{sign}{self._prev.text.strip()}", first)
        if any(unit not in CALENDAR_UNITS for _, unit in parts):
            self._check_interval([p for p in parts if p[1] not in CALENDAR_UNITS], first)
        if len(parts) > 1:
            text = exp.Literal.string(" ".join(f"{amount} {unit}" for amount, unit in parts))
            return self.expression(exp.Interval(this=text))
        amount, unit = parts[0]
        return self.expression(
            exp.Interval(this=exp.Literal.string(amount), unit=exp.var(unit.upper()))
        )

    def _interval_parts(self, text: str, first: Token) -> list[tuple[str, str]]:
        if re.fullmatch(r"[+-]?\d+(\.\d*)?", text):
            if self._curr.token_type != TokenType.VAR:
                self.expect("a unit of time", hint="Write for example INTERVAL '5' MINUTE.")
            self._advance()
            parts, first = [(text, self._prev.text)], self._prev
        else:
            parts = self._try_here(lambda: split_parts(text), first)
        return [(amount, self._known_unit(word, first)) for amount, word in parts]

    def _known_unit(self, word: str, first: Token) -> str:
        return self._try_here(lambda: known_unit(word), first)

    def _check_interval(self, parts: list[tuple[str, str]], first: Token) -> None:
        self._try_here(lambda: interval_of_parts(parts), first)

    def _parse_primary(self) -> exp.Expr | None:
        two_strings = self._curr.token_type == self._next.token_type == TokenType.STRING
        if two_strings:
            self.fail(
                "two strings stand side by side",
                self._next,
                hint="Put a comma or || between them; a quote inside a string is written ''.",
            )
        if self._curr.token_type == TokenType.DOT and self._next.token_type == TokenType.NUMBER:
            return self._parse_fraction()
        return super()._parse_primary()

    def _parse_fraction(self) -> exp.Expr:
        """A number that begins with its point, such as `.5`."""
        self._advance(2)
        if not re.fullmatch(r"\d+([eE][+-]?\d+)?", self._prev.text):
            self.fail(f'".{self._prev.text}" is not a number', self._prev)
        return self.expression(exp.Literal.number(f"0.{self._prev.text}"), self._prev)
