"""Scalar expressions: every function call is kept by name, every operand knows its span."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.parser import build_mod
from sqlglot.tokens import Token, TokenType

from millstream.errors import MillstreamError
from millstream.lang.calls import Calls
from millstream.lang.interval import CALENDAR_UNITS, interval_of_parts, known_unit, split_parts
from millstream.lang.nodes import TypeName

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
_AFTER_IS = (TokenType.NULL, TokenType.TRUE, TokenType.FALSE, TokenType.DISTINCT)
_NUMBER = re.compile(r"\d+(\.\d*)?([eE][+-]?\d+)?")


def _number(self: Any, token: Token) -> exp.Expr:
    glued = self._curr.token_type == TokenType.VAR and self._is_connected()
    if glued or not _NUMBER.fullmatch(token.text):
        last = self._curr if glued else token
        text = self.sql[token.start : last.end + 1]
        self.guarded(MillstreamError(f'"{text}" is not a number'), token, last)
    return self.expression(exp.Literal(this=token.text, is_string=False), token)


def _star(self: Any, token: Token) -> exp.Expr:
    if self._curr and self._curr.token_type not in _AFTER_STAR:
        self.unexpected()
    return self.expression(exp.Star(), token)


def _call_like(name: str) -> Callable[[Any, Any], exp.Expr]:
    """Read `a RLIKE b` as the call `regexp_like(a, b)`."""
    return lambda self, this: self.expression(
        exp.Anonymous(this=name, expressions=[this, self._parse_bitwise()])
    )


class Expressions(Calls):
    """Expressions over columns, constants and calls."""

    FUNCTIONS: ClassVar = {"MOD": build_mod}
    LAMBDAS: ClassVar = {}
    ASSIGNMENT: ClassVar = {}
    BRACKETS: ClassVar = {TokenType.L_BRACKET}
    PLACEHOLDER_PARSERS: ClassVar = {}
    COLUMN_OPERATORS: ClassVar = {
        TokenType.DOT: None,
        TokenType.DCOLON: lambda self, this, to: self.expression(exp.Cast(this=this, to=to)),
    }
    FACTOR: ClassVar = {
        TokenType.DIV: exp.IntDiv,
        TokenType.MOD: exp.Mod,
        TokenType.SLASH: exp.Div,
        TokenType.STAR: exp.Mul,
    }
    TERM: ClassVar = {TokenType.DASH: exp.Sub, TokenType.PLUS: exp.Add}
    RANGE_PARSERS: ClassVar = {
        kind: Calls.RANGE_PARSERS[kind]
        for kind in (
            TokenType.BETWEEN,
            TokenType.IN,
            TokenType.IS,
            TokenType.LIKE,
            TokenType.ILIKE,
        )
    } | {TokenType.RLIKE: _call_like("regexp_like")}
    PRIMARY_PARSERS: ClassVar = {
        TokenType.STRING: Calls.PRIMARY_PARSERS[TokenType.STRING],
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

    def _parse_unary(self) -> exp.Expr | None:
        first = self._curr
        node = super()._parse_unary()
        if node is not None and self._prev:
            node.meta.setdefault("span", (first.start, self._prev.end + 1))
        return node

    def _parse_type(
        self, parse_interval: bool = True, fallback_to_identifier: bool = False
    ) -> exp.Expr | None:
        if self._next.token_type == TokenType.STRING and self._curr.text.upper() in (
            "DATE",
            "TIMESTAMP",
        ):
            self._advance()
            to = TypeName(this=self._prev.text.lower())
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
        return [(n, self._try_here(lambda word=word: known_unit(word), first)) for n, word in parts]

    def _check_interval(self, parts: list[tuple[str, str]], first: Token) -> None:
        self._try_here(lambda: interval_of_parts(parts), first)

    def _try_here(self, read: Callable[[], Any], first: Token) -> Any:
        try:
            return read()
        except MillstreamError as error:
            self.guarded(error, first, self._prev)

    def _parse_primary(self) -> exp.Expr | None:
        two_strings = self._curr.token_type == self._next.token_type == TokenType.STRING
        if two_strings:
            self.fail(
                "two strings stand side by side",
                self._next,
                hint="Put a comma or || between them; a quote inside a string is written ''.",
            )
        return super()._parse_primary()

    def _parse_paren(self) -> exp.Expr | None:
        if not self._match(TokenType.L_PAREN):
            return None
        query = self._parse_select()
        items = [query] if query else self._parse_csv(self._parse_disjunction)
        if not items:
            self.expect("an expression")
        if len(items) > 1:
            this: exp.Expr = exp.Tuple(expressions=items)
        elif query:
            this = exp.Subquery(this=query)
        elif isinstance(items[0], exp.Subquery):
            inner = self._parse_query_modifiers(self._parse_set_operations(items[0]))
            this = exp.Subquery(this=inner)
        else:
            this = exp.Paren(this=items[0])
        self._match_r_paren()
        return this

    def _parse_column(self) -> exp.Expr | None:
        first = self._curr
        column = super()._parse_column()
        if isinstance(column, exp.Dot) or (column is not None and column.args.get("catalog")):
            error = MillstreamError(
                "a column has at most three parts", hint="Write column, or alias.column."
            )
            self.guarded(error, first, self._prev)
        return column

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        if self._match(TokenType.L_BRACKET, advance=False):
            self.fail(
                "a window cannot stand here",
                hint="Put the window after a stream in FROM: FROM bids [Range 5 Minutes].",
            )
        return this

    def _parse_between(self, this: exp.Expr | None) -> exp.Between:
        low = self._parse_bitwise()
        if not self._match(TokenType.AND):
            self.expect("AND", hint="Write x BETWEEN low AND high.")
        return self.expression(exp.Between(this=this, low=low, high=self._parse_bitwise()))

    def _parse_in(self, this: exp.Expr | None, alias: bool = False) -> exp.In:
        if not self._match(TokenType.L_PAREN, advance=False):
            self.expect('"(" after IN', hint="Write x IN (1, 2) or x IN (SELECT …).")
        if self._next.token_type == TokenType.R_PAREN:
            self._advance()
            self.expect("an expression")
        return super()._parse_in(this)

    def _parse_is(self, this: exp.Expr | None) -> exp.Expr | None:
        after = self._next if self._match(TokenType.NOT, advance=False) else self._curr
        if after.token_type not in _AFTER_IS:
            self._match(TokenType.NOT)
            self.expect("NULL, TRUE, FALSE or DISTINCT FROM after IS", hint="Compare with =.")
        return super()._parse_is(this)

    def _parse_case(self) -> exp.Expr | None:
        this = None if self._match(TokenType.WHEN, advance=False) else self._parse_disjunction()
        whens = []
        while self._match(TokenType.WHEN):
            condition = self._parse_disjunction()
            if not self._match(TokenType.THEN):
                self.expect("THEN")
            whens.append(self.expression(exp.If(this=condition, true=self._parse_disjunction())))
        if not whens:
            self.expect("WHEN", hint="Write CASE WHEN condition THEN value ELSE value END.")
        default = None
        if self._match(TokenType.ELSE):
            default = self._parse_disjunction() or self.expect("an expression")
        if not self._match(TokenType.END):
            self.expect("END")
        return self.expression(exp.Case(this=this, ifs=whens, default=default))

    def _parse_alias(self, this: exp.Expr | None, explicit: bool = False) -> exp.Expr | None:
        if this is None:
            return None
        if this.is_star and self._match(TokenType.ALIAS, advance=False):
            self.fail("* takes no alias", hint="Name the columns to give them other names.")
        if self._match(TokenType.ALIAS):
            alias = self._parse_id_var() or self.expect("a name after AS")
        elif explicit or this.is_star:
            return this
        else:
            alias = self._parse_id_var(any_token=False, tokens=self.ALIAS_TOKENS)
        return self.expression(exp.Alias(this=this, alias=alias)) if alias else this

    def _parse_csv(self, parse_method: Any, sep: TokenType = TokenType.COMMA) -> Any:
        first = parse_method()
        if first is None and not self._match(sep, advance=False):
            return []
        items = [first if first is not None else self.expect("an expression")]
        while self._match(sep):
            item = parse_method()
            items.append(item if item is not None else self.expect("an expression after the comma"))
        return items

    def _parse_at_time_zone(self, this: exp.Expr | None) -> exp.Expr | None:
        return this
