"""Calls of functions, and the few whose arguments have a syntax of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from millstream.lang.grammar.core import Core

_TRIMS = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}
_PARTS = [
    "YEAR",
    "QUARTER",
    "MONTH",
    "WEEK",
    "DAY",
    "HOUR",
    "MINUTE",
    "SECOND",
    "MILLISECOND",
    "MICROSECOND",
    "EPOCH",
    "DOW",
    "DAYOFWEEK",
    "DOY",
    "DAYOFYEAR",
]


def _closed(parse: Callable[[Any], exp.Expr]) -> Callable[[Any], exp.Expr]:
    """A parser of arguments that insists on the closing parenthesis, where sqlglot does not."""

    def parse_closed(self: Any) -> exp.Expr:
        node = parse(self)
        if not self._match(TokenType.R_PAREN, advance=False):
            self.raise_error("Expecting )")
        return node

    return parse_closed


class Calls(Core):
    """Function calls, all of them `exp.Anonymous(this=name, expressions=arguments)`.

    Only CAST, TRY_CAST, EXTRACT, `mod` and the subquery predicates have nodes of their own.
    """

    WINDOW_BEFORE_PAREN_TOKENS: ClassVar = set()
    """Sqlglot reads FILTER behind a call; OVER is read by `overs`."""
    NO_PAREN_FUNCTIONS: ClassVar = {
        TokenType.CURRENT_DATE: lambda: exp.Anonymous(this="current_date"),
        TokenType.CURRENT_TIMESTAMP: lambda: exp.Anonymous(this="current_timestamp"),
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar = {"CASE": lambda self: self._parse_case()}
    FUNCTION_PARSERS: ClassVar = {
        "CAST": _closed(lambda self: self._parse_cast(True)),
        "TRY_CAST": _closed(lambda self: self._parse_cast(False)),
        "SAFE_CAST": _closed(lambda self: self._parse_cast(False)),
        "EXTRACT": _closed(lambda self: self._parse_extract()),
        "SUBSTRING": _closed(lambda self: self._parse_substring()),
        "POSITION": _closed(lambda self: self._parse_position()),
        "TRIM": _closed(lambda self: self._parse_trim()),
    }

    def _parse_function_call(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        if self._at_stream_operator():
            self.fail(
                f'"{self._curr.text}" cannot stand inside an expression',
                hint=f"Put the whole select list inside: SELECT {self._curr.text}(a, b) FROM …",
            )
        name = self._curr
        if name.token_type == TokenType.EXISTS and self._next.token_type != TokenType.L_PAREN:
            self.fail("EXISTS needs a subquery", hint="Write EXISTS (SELECT …).")
        node = self._as_predicate(name, super()._parse_function_call(*args, **kwargs))
        if isinstance(node, exp.Func) and "start" not in node.meta:
            node.update_positions(name)
        return node

    def _as_predicate(self, name: Token, node: exp.Expr | None) -> exp.Expr | None:
        """EXISTS, ANY, ALL and SOME of a query that begins with a parenthesis."""
        made = self.SUBQUERY_PREDICATES.get(name.token_type)
        match node:
            case exp.Anonymous(expressions=[exp.Query() as query]) if made is not None:
                return self.expression(made(this=query.unnest()))
        return node

    def _parse_lambda(self, alias: bool = False) -> exp.Expr | None:
        if self._match(TokenType.DISTINCT):
            items = self._parse_csv(self._parse_disjunction) or self.expect("an expression")
            this: exp.Expr | None = self.expression(exp.Distinct(expressions=items))
        else:
            self._match(TokenType.ALL)
            this = self._parse_select_or_expression()
            if isinstance(this, exp.Query) and self._match(TokenType.PARTITION_BY):
                this.meta["partition_by"] = self._parse_partition_columns()
        return self._parse_order(this)

    def _parse_partition_columns(self) -> list[exp.Expr]:
        """`TABLE s PARTITION BY k` as an argument, which a message repeats: one column, or several
        in parentheses."""
        if self._match(TokenType.L_PAREN):
            columns = self._parse_csv(self._parse_column)
            self._match_r_paren()
            return columns
        return [self._parse_column() or self.expect("a column")]

    def _parse_window(self, this: exp.Expr | None, alias: bool = False) -> exp.Expr | None:
        call = super()._parse_window(this, alias)
        return self.read_over(call) if call is not None and self._match(TokenType.OVER) else call

    def _parse_partition_by(self) -> list[exp.Expr]:
        if not self._match(TokenType.PARTITION_BY):
            return []
        return self._parse_csv(self._parse_disjunction) or self.expect("an expression")

    def _parse_cast(self, strict: bool, safe: bool | None = None) -> exp.Expr:
        this = self._parse_disjunction()
        if not self._match(TokenType.ALIAS):
            self.expect("AS", hint="Write CAST(x AS type).")
        node = exp.Cast if strict else exp.TryCast
        return self.expression(node(this=this, to=self.read_type()))

    def _parse_dcolon(self) -> exp.Expr | None:
        return self.read_type()

    def _parse_extract(self) -> exp.Extract:
        if self._curr.text.upper() not in _PARTS:
            self.expect("a part of a time", hint="Write for example EXTRACT(HOUR FROM ts).")
        self._advance()
        part = exp.var(self._prev.text.upper())
        if not self._match(TokenType.FROM):
            self.expect("FROM", hint="Write for example EXTRACT(HOUR FROM ts).")
        return self.expression(exp.Extract(this=part, expression=self._parse_bitwise()))

    def _parse_substring(self) -> Any:
        items = self._parse_csv(self._parse_disjunction)
        if self._match(TokenType.FROM):
            items.append(self._parse_bitwise() or self.expect("an expression"))
        if self._match_text_seq("FOR"):
            items.extend([exp.Literal.number(1)] if len(items) == 1 else [])
            items.append(self._parse_bitwise() or self.expect("an expression"))
        return self._named("substring", items)

    def _parse_position(self, haystack_first: bool = False) -> Any:
        items = self._parse_csv(self._parse_bitwise)
        if self._match(TokenType.IN):
            items.append(self._parse_bitwise() or self.expect("an expression"))
        return self._named("position", items)

    def _parse_trim(self) -> Any:
        side = self._prev.text.upper() if self._match_texts(_TRIMS) else "BOTH"
        items = (
            []
            if self._match(TokenType.FROM, advance=False)
            else self._parse_csv(self._parse_bitwise)
        )
        if self._match(TokenType.FROM):
            items.insert(0, self._parse_bitwise() or self.expect("an expression"))
        return self._named(_TRIMS[side], items)

    def _named(self, name: str, items: list[exp.Expr]) -> exp.Anonymous:
        """A call whose arguments were written in a special way."""
        return self.expression(exp.Anonymous(this=name, expressions=items))
