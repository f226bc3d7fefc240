"""SELECT: its forms, its stream operators and its clauses."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from millstream.errors import MillstreamError
from millstream.lang.grammar.core import Core
from millstream.lang.grammar.elsewhere import Words, without_stream
from millstream.lang.nodes import FORMS

_LIST_STARTS = {
    TokenType.VAR,
    TokenType.IDENTIFIER,
    TokenType.STRING,
    TokenType.NUMBER,
    TokenType.CASE,
    TokenType.NULL,
    TokenType.TRUE,
    TokenType.FALSE,
    TokenType.EXISTS,
    TokenType.DISTINCT,
    TokenType.LEFT,
    TokenType.RIGHT,
    *Core.ID_VAR_TOKENS,
}
_AFTER_ALIAS = (TokenType.COMMA, TokenType.FROM, TokenType.R_PAREN)
_OF_WHOLE_RESULT = (TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET)


class Selects(Core):
    """One SELECT, from the word to its last clause."""

    QUERY_MODIFIER_PARSERS: ClassVar = {
        kind: Core.QUERY_MODIFIER_PARSERS[kind]
        for kind in (TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, *_OF_WHOLE_RESULT)
    }

    def _parse_select_body(self) -> exp.Select:
        first = self._prev
        form = self._parse_form()
        distinct = self._match(TokenType.DISTINCT)
        if not distinct:
            self._match(TokenType.ALL)
        self._refuse_other_lists(distinct)
        self._refuse_stream_word()
        form = form or self._parse_form()
        operator = None
        if self._at_stream_operator():
            operator, inner_distinct, items = self._parse_operator_list(form)
            distinct = distinct or inner_distinct
        else:
            items = self._parse_expressions()
        if not items:
            self.expect("a select list", hint="Name the columns, or write * for all of them.")
        select = self.expression(
            exp.Select(distinct=exp.Distinct() if distinct else None, expressions=items)
        )
        if self._match(TokenType.FROM):
            select.set("from_", self.expression(exp.From(this=self._parse_table())))
            for join in iter(self._parse_join, None):
                select.append("joins", join)
        self._parse_query_modifiers(select)
        if form:
            select.set("form", form)
        if operator:
            select.set("to_stream", operator)
        select.meta["span"] = (first.start, self._prev.end + 1)
        return select

    def _refuse_other_lists(self, distinct: bool | None) -> None:
        """Stop at `DISTINCT ON (…)` and `TOP 3`, which other systems write before the list."""
        around = Words(self._tokens, self._index, self.sql)
        if distinct and self._match(TokenType.ON, advance=False):
            names = around.list_after(TokenType.L_PAREN, "a")
            self.fail(
                "DISTINCT ON is not part of the language",
                hint=f"For the latest row of each write FROM {around.source} "
                f"[Partition By {names} Rows 1].",
            )
        is_number = self._next.token_type == TokenType.NUMBER if self._next else False
        if self._curr.text.upper() == "TOP" and is_number:
            self.fail(
                "TOP is not part of the language",
                hint=f"Write ORDER BY … LIMIT {self._next.text} at the end.",
            )

    def _refuse_stream_word(self) -> None:
        """Stop at `SELECT STREAM …`, unless STREAM is a column, perhaps with an alias."""
        if self._curr.token_type != TokenType.VAR or self._curr.text.upper() != "STREAM":
            return
        beyond = self._tokens[self._index + 2 : self._index + 3]
        is_alias = not beyond or beyond[0].token_type in _AFTER_ALIAS
        if self._at_lone_star() or (self._next.token_type in _LIST_STARTS and not is_alias):
            listed = Words(self._tokens, self._index, self.sql).select_list
            self.fail("SELECT STREAM is not part of the language", hint=without_stream(listed))

    def _parse_form(self) -> str | None:
        """Take STREAMED or COMPLETE, unless it is a column of that name."""
        word, after = self._curr.text.lower(), self._next.token_type
        if self._curr.token_type != TokenType.VAR or word not in FORMS:
            return None
        if after not in _LIST_STARTS and not self._at_lone_star() and not self._at_open_paren():
            return None
        self._advance()
        return word

    def _at_lone_star(self) -> bool:
        """Whether a star that is no multiplication comes next."""
        beyond = self._tokens[self._index + 2 : self._index + 3]
        ends = (TokenType.FROM, TokenType.COMMA, TokenType.R_PAREN)
        is_end = not beyond or beyond[0].token_type in ends
        return self._next.token_type == TokenType.STAR and is_end

    def _at_open_paren(self) -> bool:
        """Whether a parenthesis comes next that does not touch the word, as that of a call does."""
        touching = self._curr.end + 1 == self._next.start
        return self._next.token_type == TokenType.L_PAREN and not touching

    def _parse_operator_list(self, form: str | None) -> tuple[str, bool, list[exp.Expr]]:
        """Take `Istream(a, b AS c)`, which must be the whole select list."""
        name = self._curr
        if form:
            self.fail(
                f"{form.upper()} and {name.text} cannot stand together",
                hint=f"{form.upper()} reports changes of a relation; remove one of the two.",
            )
        self._advance(2)
        if self._match(TokenType.SELECT, advance=False):
            self.fail(
                f"{name.text} around a query stands without SELECT before it",
                name,
                hint=f"Write {name.text}(SELECT …), or SELECT {name.text}(a, b) FROM …",
            )
        distinct = self._match(TokenType.DISTINCT)
        items = self._parse_expressions()
        if not items:
            self.expect("a select list", hint="Name the columns, or write * for all of them.")
        self._match_r_paren()
        self._check_stands_alone(name)
        return name.text.lower(), distinct, items

    def _check_stands_alone(self, name: Token) -> None:
        allowed = {TokenType.FROM, TokenType.R_PAREN, *self.SET_OPERATIONS}
        if self._curr and self._curr.token_type not in allowed | set(self.QUERY_MODIFIER_PARSERS):
            self.fail(
                f'"{name.text}" must be the whole select list',
                name,
                hint=f"Put all columns and aliases inside: SELECT {name.text}(a, b AS c) FROM …",
            )

    def _parse_query_modifiers(self, this: Any) -> Any:
        if not isinstance(this, (exp.Select, exp.SetOperation, exp.Subquery)):
            return this
        while self._curr.token_type in self.QUERY_MODIFIER_PARSERS or self.at_window_clause():
            clause = self._curr
            if self.at_window_clause():
                this.set("windows", self.read_window_clause())
                continue
            if not isinstance(this, exp.Select) and clause.token_type not in _OF_WHOLE_RESULT:
                break
            if clause.token_type == TokenType.GROUP_BY and self._next.token_type == TokenType.ALL:
                self._refuse_group_by_all(this)
            key, modifier = self.QUERY_MODIFIER_PARSERS[clause.token_type](self)
            if this.args.get(key):
                self.raise_error(f"Found multiple '{clause.text.upper()}'", clause)
            this.set(key, modifier)
        return this

    def _refuse_group_by_all(self, select: exp.Query) -> NoReturn:
        items = [item.unalias() for item in select.expressions]
        names = ", ".join(item.sql() for item in items if isinstance(item, exp.Column))
        error = MillstreamError(
            "GROUP BY ALL is not part of the language",
            hint=f"Write GROUP BY {names or 'and the expressions that are no aggregates'}.",
        )
        self.guarded(error, self._curr, self._next)

    def _parse_group(self, skip_group_by_token: bool = False) -> exp.Group | None:
        if not self._match(TokenType.GROUP_BY):
            return None
        items = self._parse_csv(self._parse_disjunction)
        return self.expression(exp.Group(expressions=items or self.expect("an expression")))

    def _parse_limit(
        self, this: Any = None, top: bool = False, skip_limit_token: bool = False
    ) -> Any:
        if not self._match(TokenType.LIMIT):
            return this
        if self._match(TokenType.ALL):
            self.fail(
                "LIMIT ALL is not part of the language",
                self._prev,
                hint="Leave LIMIT ALL out: without LIMIT there are all rows.",
            )
        count = self._parse_bitwise() or self.expect("a number of rows")
        return self.expression(exp.Limit(expression=count))

    def _parse_offset(self, this: Any = None) -> Any:
        if not self._match(TokenType.OFFSET):
            return this
        return self.expression(exp.Offset(expression=self._parse_bitwise()))
