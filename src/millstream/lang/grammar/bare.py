"""Bare queries: names and expressions that stand for a SELECT.

`TABLE a`, or a name beside UNION, INTERSECT or EXCEPT, stands for SELECT * FROM it; an expression
over scalar subqueries stands for SELECT with the expression.
"""

from __future__ import annotations

from itertools import pairwise

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from millstream.lang.grammar.core import Core

_BEGIN_EXPRESSION = {
    TokenType.NUMBER,
    TokenType.STRING,
    TokenType.DASH,
    TokenType.CASE,
    TokenType.NOT,
    TokenType.EXISTS,
}
_OPERATORS = {
    TokenType.STAR,
    TokenType.SLASH,
    TokenType.DIV,
    TokenType.MOD,
    TokenType.PLUS,
    TokenType.DASH,
    TokenType.DPIPE,
    TokenType.EQ,
    TokenType.NEQ,
    TokenType.LT,
    TokenType.LTE,
    TokenType.GT,
    TokenType.GTE,
}


class Bare(Core):
    """Queries without the word SELECT."""

    def at_query(self) -> bool:
        """Whether a query begins here."""
        return super().at_query() or self._at_bare_name() or self._at_bare_expression()

    def parse_query(self) -> exp.Expr:
        """Take a whole query; parentheses around all of it are dropped."""
        if self._at_bare_expression() or self.at_bare_call():
            return self._parse_bare_expression()
        return super().parse_query()

    def _parse_select_query(
        self,
        nested: bool = False,
        table: bool = False,
        parse_subquery_alias: bool = True,
        parse_set_operation: bool = True,
    ) -> exp.Expr | None:
        if self._at_bare_name():
            query = self._parse_bare_name()
            return self._parse_set_operations(query) if parse_set_operation else query
        if nested and self._at_name_in_parentheses():
            self._advance()
            query = self._parse_bare_name()
            self._match_r_paren()
            return self.expression(exp.Subquery(this=query))
        return super()._parse_select_query(nested, table, parse_subquery_alias, parse_set_operation)

    def _parse_select_or_expression(self, alias: bool = False) -> exp.Expr | None:
        if self._at_bare_name():
            return self._parse_select()
        return super()._parse_select_or_expression(alias)

    def _at_bare_name(self) -> bool:
        """Whether `TABLE name` comes next, or a name that stands in a set operation.

        `TABLE name (` is a definition, as ESL writes it.
        """
        if self._is_name(self._next) and self._curr.text.upper() == "TABLE":
            after = self._tokens[self._index + 2 : self._index + 3]
            defines = bool(after) and after[0].token_type == TokenType.L_PAREN
            return self._curr.token_type == TokenType.VAR and not defines
        if not self._is_name(self._curr):
            return False
        if self._is_operand(self._index):
            return self._next.token_type != TokenType.L_PAREN
        return self._kind_after_source(self._index) in self.SET_OPERATIONS

    def _at_name_in_parentheses(self) -> bool:
        """Whether a name stands alone in parentheses, with its window."""
        opens = self._curr.token_type == TokenType.L_PAREN and self._is_name(self._next)
        return opens and self._kind_after_source(self._index + 1) == TokenType.R_PAREN

    def _is_operand(self, index: int) -> bool:
        """Whether the token at an index follows UNION, INTERSECT or EXCEPT."""
        before = [token.token_type for token in self._tokens[max(index - 2, 0) : index]]
        if before and before[-1] in (TokenType.ALL, TokenType.DISTINCT):
            before.pop()
        return bool(before) and before[-1] in self.SET_OPERATIONS

    def _is_name(self, token: Token) -> bool:
        return token.token_type in {*self.ID_VAR_TOKENS, TokenType.IDENTIFIER}

    def _kind_after_source(self, index: int) -> TokenType | None:
        """The kind of the token after a name, its parts and its window."""
        kinds = [*(token.token_type for token in self._tokens[index:]), None]
        at = 1
        while kinds[at] == TokenType.DOT and at + 2 < len(kinds):
            at += 2
        if kinds[at] == TokenType.L_BRACKET:
            closing = TokenType.R_BRACKET
            at = kinds.index(closing, at) + 1 if closing in kinds[at:] else len(kinds) - 1
        return kinds[at]

    def _parse_bare_name(self) -> exp.Select:
        """Take a name, with its window, as the query that reads all of it."""
        first = self._curr
        table_first = self._next
        if self._curr.text.upper() == "TABLE" and self._is_name(self._next):
            self._advance()
        else:
            table_first = first
        source = self._parse_source_name()
        if (window := self._parse_stream_window()) is not None:
            source.set("stream_window", window)
        source.meta["span"] = (table_first.start, self._prev.end + 1)
        select = self.expression(
            exp.Select(expressions=[exp.Star()], from_=self.expression(exp.From(this=source)))
        )
        select.meta["span"] = (first.start, self._prev.end + 1)
        return select

    def _at_bare_expression(self) -> bool:
        """Whether an expression with a subquery stands here instead of a query."""
        if self._curr.token_type == TokenType.L_PAREN:
            return self.kind_after_parentheses() in _OPERATORS
        return self._curr.token_type in _BEGIN_EXPRESSION and self._holds_subquery()

    def at_bare_call(self) -> bool:
        """Whether a call with a subquery stands here; a query where nothing else can stand."""
        named = self._is_name(self._curr) and self._next.token_type == TokenType.L_PAREN
        return named and not self._at_stream_operator() and self._holds_subquery()

    def _holds_subquery(self) -> bool:
        kinds = [token.token_type for token in self._tokens[self._index :]]
        return (TokenType.L_PAREN, TokenType.SELECT) in pairwise(kinds)

    def _parse_bare_expression(self) -> exp.Select:
        """Take an expression as the query that has its value."""
        first = self._curr
        item = self._parse_expression() or self.expect("an expression")
        select = self.expression(exp.Select(expressions=[item]))
        select.meta["span"] = (first.start, self._prev.end + 1)
        return select
