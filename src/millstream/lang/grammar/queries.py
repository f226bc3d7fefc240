"""Queries: set operations, WITH, and stream operators around a whole query."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokens import TokenType

from millstream.lang.grammar.core import Core
from millstream.lang.nodes import ToStream


class Queries(Core):
    """Whole queries, alone or inside others."""

    def parse_query(self) -> exp.Expr:
        """Take a whole query; parentheses around all of it are dropped."""
        query = self._parse_whole_query()
        while isinstance(query, exp.Subquery) and query.is_wrapper:
            query = query.this
        return query

    def at_query(self) -> bool:
        """Whether a query begins here."""
        return (
            self._curr.token_type in (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN)
            or self._at_stream_operator()
        )

    def _parse_whole_query(self) -> exp.Expr:
        select = self._parse_select(nested=True, parse_set_operation=False)
        query = self._parse_query_modifiers(self._parse_set_operations(select))
        return query if query is not None else self.expect("a query", hint="Begin with SELECT.")

    def _parse_select_query(
        self,
        nested: bool = False,
        table: bool = False,
        parse_subquery_alias: bool = True,
        parse_set_operation: bool = True,
    ) -> exp.Expr | None:
        if self._match(TokenType.WITH):
            return self._parse_with_query()
        if self._at_stream_operator():
            query: exp.Expr | None = self._parse_to_stream()
        elif self._match(TokenType.SELECT):
            query = self._parse_select_body()
        elif nested and self._match(TokenType.L_PAREN):
            inner = self._parse_whole_query()
            self._match_r_paren()
            return self.expression(exp.Subquery(this=inner))
        else:
            return None
        return self._parse_set_operations(query) if parse_set_operation else query

    def _parse_to_stream(self) -> ToStream:
        """Take a stream operator around a whole query."""
        first = self._curr
        self._advance(2)
        if not self.at_query():
            self.expect(
                f"a query inside {first.text}",
                hint=f"Write {first.text}(SELECT …), or SELECT {first.text}(a, b) FROM …",
            )
        inner = self.parse_query()
        self._match_r_paren()
        node = self.expression(ToStream(this=inner, operator=first.text.lower()))
        node.meta["span"] = (first.start, self._prev.end + 1)
        return node

    def _parse_with_query(self) -> exp.Expr:
        if self._match(TokenType.RECURSIVE):
            name = self._curr.text if self._curr else "it"
            self.fail(
                "WITH RECURSIVE is not part of the language yet",
                self._prev,
                hint=f"Leave RECURSIVE out if {name} does not read itself; for a known number of "
                "steps write one view for each.",
            )
        ctes = self._parse_csv(self._parse_cte)
        if self._at_stream_operator():
            self.fail(
                f"WITH cannot stand before {self._curr.text}(…)",
                hint=f"Put it inside: {self._curr.text}(WITH … SELECT …).",
            )
        query = self._parse_whole_query()
        query.set("with_", self.expression(exp.With(expressions=ctes)))
        return query

    def _parse_cte(self) -> exp.CTE:
        alias = exp.TableAlias(this=self._identifier_expression(self.read_name()))
        if self._match(TokenType.L_PAREN, advance=False):
            alias.set("columns", self._parse_wrapped_id_vars())
        if not self._match(TokenType.ALIAS):
            self.expect("AS", hint="Write WITH name AS (SELECT …) SELECT …")
        if not self._match(TokenType.L_PAREN):
            self.expect('"("')
        query = self.parse_query()
        self._match_r_paren()
        return self.expression(exp.CTE(this=query, alias=alias))

    def _parse_select_or_expression(self, alias: bool = False) -> exp.Expr | None:
        if self._at_stream_operator():
            return self._parse_select()
        return super()._parse_select_or_expression(alias=False)
