"""Scalar expressions: every function call is kept by name, every operand knows its span."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.parser import build_mod
from sqlglot.tokens import TokenType

from millstream.errors import MillstreamError
from millstream.lang.grammar.core import Core
from millstream.lang.grammar.faults import FIELD
from millstream.lang.interval import MICROSECONDS
from millstream.lang.nodes import Previous

UNITS = {f"{unit}{ending}": unit for unit in MICROSECONDS for ending in ("", "s")}
"""The units that a length of time is a multiple of, in words."""
_AFTER_ALIAS = (TokenType.FROM, TokenType.COMMA)
_AFTER_IS = (TokenType.NULL, TokenType.TRUE, TokenType.FALSE, TokenType.DISTINCT)


QUOTED = TokenType.IDENTIFIER

_CALLS = (exp.Anonymous, exp.Filter, exp.Window, Previous)
"""What may have several columns: a point or an arrow behind it names one of them."""


def _member(this: exp.Expr, field: exp.Expr) -> exp.Dot:
    """`f(x)->column`, which is the same as `f(x).column`."""
    return exp.Dot(this=this, expression=field.this if isinstance(field, exp.Column) else field)


def _call_like(name: str) -> Callable[[Any, Any], exp.Expr]:
    """Read `a RLIKE b` as the call `regexp_like(a, b)`."""

    def parse(self: Any, this: exp.Expr | None) -> exp.Expr:
        pattern = self._parse_bitwise()
        if this is None or pattern is None:
            self.expect("an expression")
        return self.expression(exp.Anonymous(this=name, expressions=[this, pattern]))

    return parse


class Expressions(Core):
    """Expressions over columns, constants and calls."""

    FUNCTIONS: ClassVar = {"MOD": build_mod}
    LAMBDAS: ClassVar = {}
    ASSIGNMENT: ClassVar = {}
    BRACKETS: ClassVar = frozenset({TokenType.L_BRACKET})
    PLACEHOLDER_PARSERS: ClassVar = {}
    COLUMN_OPERATORS: ClassVar = {
        TokenType.DOT: None,
        TokenType.DCOLON: lambda self, this, to: self.expression(exp.Cast(this=this, to=to)),
        TokenType.ARROW: lambda self, this, field: self.expression(_member(this, field)),
    }
    FACTOR: ClassVar = {
        TokenType.DIV: exp.IntDiv,
        TokenType.MOD: exp.Mod,
        TokenType.SLASH: exp.Div,
        TokenType.STAR: exp.Mul,
    }
    TERM: ClassVar = {TokenType.DASH: exp.Sub, TokenType.PLUS: exp.Add}
    RANGE_PARSERS: ClassVar = {
        kind: Core.RANGE_PARSERS[kind]
        for kind in (
            TokenType.BETWEEN,
            TokenType.IN,
            TokenType.IS,
            TokenType.LIKE,
            TokenType.ILIKE,
        )
    } | {TokenType.RLIKE: _call_like("regexp_like")}

    def _parse_factor(self, parse_mod: bool = True) -> exp.Expr | None:
        """Factors, and `a mod b`, where `mod` is a name everywhere else."""
        added = self._prev is not None and self._prev.token_type in self.TERM
        node = super()._parse_factor(parse_mod)
        if added and isinstance(node, exp.Column) and self._at_unit_of():
            node = self._so_many(node)
        while node is not None and self._at_mod():
            self._advance()
            node = self._parse_more_factors(exp.Mod, node)
        return node

    def _parse_more_factors(self, kind: type[exp.Binary], left: exp.Expr) -> exp.Expr:
        """The left side with the operand ahead, and all other factors after it."""
        node = self.expression(kind(this=left, expression=self._parse_factor_operand()))
        while self._match_set(self.FACTOR):
            kind = self.FACTOR[self._prev.token_type]
            node = self.expression(kind(this=node, expression=self._parse_factor_operand()))
        return node

    def _at_unit_of(self) -> bool:
        """Whether a unit of time comes next, as in `at + n minutes`; before FROM or a comma it
        would be a name."""
        word = self._curr
        if word is None or word.token_type != TokenType.VAR or word.text.lower() not in UNITS:
            return False
        return self._next is not None and self._next.token_type not in _AFTER_ALIAS

    def _so_many(self, amount: exp.Expr) -> exp.Expr:
        """An amount of the unit ahead, which is a product."""
        self._advance()
        unit = exp.var(UNITS[self._prev.text.lower()].upper())
        one = self.expression(exp.Interval(this=exp.Literal.string("1"), unit=unit), self._prev)
        return self.expression(exp.Mul(this=amount, expression=one))

    def _at_mod(self) -> bool:
        """Whether `mod` and an operand come next."""
        if self._curr is None or self._curr.token_type != TokenType.VAR:
            return False
        operands = (TokenType.NUMBER, TokenType.VAR, TokenType.IDENTIFIER)
        return self._curr.text.lower() == "mod" and self._next.token_type in operands

    def _parse_unary(self) -> exp.Expr | None:
        first = self._curr
        node = super()._parse_unary()
        if node is not None and self._prev:
            node.meta.setdefault("span", (first.start, self._prev.end + 1))
        return node

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
        first, start = self._curr, self._index
        if self._at_column_of_relation():
            return self._parse_column_of_relation()
        column = super()._parse_column()
        if isinstance(column, exp.Dot) and isinstance(column.this, _CALLS):
            if isinstance(column.expression, exp.Identifier):
                return column
            self.fail("expected the name of a column of the result", self._prev)
        if isinstance(column, exp.Dot) or (column is not None and column.args.get("catalog")):
            arrow = TokenType.ARROW in [t.token_type for t in self._tokens[start : self._index]]
            error = MillstreamError(
                '"->" is not part of the language' if arrow else "a column has at most three parts",
                hint=FIELD if arrow else "Write column, or alias.column.",
            )
            self.guarded(error, first, self._prev)
        parts = column.parts if isinstance(column, exp.Column) else []
        if not all(isinstance(part, (exp.Identifier, exp.Star)) for part in parts):
            self.fail("expected the name of a column after the point", self._prev)
        return column

    def _at_column_of_relation(self) -> bool:
        """Whether `R(s).` comes next: a column of the entry `R(s)` of FROM, as of `s`."""
        if not self._at_relation_of():
            return False
        kinds = [token.token_type for token in self._tokens[self._index + 3 : self._index + 5]]
        return kinds == [TokenType.R_PAREN, TokenType.DOT]

    def _parse_column_of_relation(self) -> exp.Expr:
        """Take `R(s).column` or `R(s).*`."""
        first = self._curr
        self._advance(2)
        table = self._identifier_expression(self.read_name(), self._prev.token_type == QUOTED)
        self._advance(2)
        if self._match(TokenType.STAR):
            this: exp.Expr = self.expression(exp.Star())
        else:
            name = self.read_name("the name of a column after the point")
            this = self._identifier_expression(name, name.token_type == QUOTED)
        column = self.expression(exp.Column(this=this, table=table))
        column.meta["span"] = (first.start, self._prev.end + 1)
        return column

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        if self._match(TokenType.L_BRACKET, advance=False):
            closing = self._tokens[self._index + 2 : self._index + 3]
            alone = bool(closing) and closing[0].token_type == TokenType.R_BRACKET
            if this is None and alone and self._next.text.upper() != "NOW":
                self.fail(
                    "brackets are for windows, not for names",
                    hint=f'Write "{self._next.text}".',
                )
            if self._next.token_type in (TokenType.NUMBER, TokenType.STRING):
                self.fail(
                    "brackets are for windows, not for elements of lists",
                    hint=FIELD,
                )
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

    def _negate_range(self, this: exp.Expr | None = None) -> exp.Expr | None:
        """Read `a NOT LIKE b` as `NOT a LIKE b`, so that nobody has to look for a flag on Like."""
        return this and self.expression(exp.Not(this=this))

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
            if self._match(TokenType.L_PAREN, advance=False):
                names = self._parse_wrapped_id_vars()
                return self.expression(exp.Aliases(this=this, expressions=names))
            alias: exp.Expr | None = self._parse_id_var() or self.expect("a name after AS")
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
        """`time AT TIME ZONE zone`, as the call that it means.

        As in PostgreSQL, a time without a zone is a local one, which becomes an instant; an instant
        becomes a local time. An instant is what AT TIME ZONE or a type with a zone has made.
        """
        while this is not None and self._match_text_seq("AT", "TIME", "ZONE"):
            zone = self._parse_type() or self.expect("a time zone", hint="Write 'Europe/Berlin'.")
            inner = this.unnest()
            to = inner.args.get("to")
            zoned = inner.meta.get("zoned") or (to is not None and to.meta.get("zoned"))
            name = "from_utc_timestamp" if zoned else "to_utc_timestamp"
            this = self.expression(exp.Anonymous(this=name, expressions=[this, zone]))
            this.meta.update(zoned=not zoned, at_time_zone=True)
        return this
