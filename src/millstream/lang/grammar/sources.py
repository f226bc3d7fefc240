"""What stands in FROM: names, subqueries and joins, each with a window, an alias and a pattern."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from millstream.lang.grammar.core import Core
from millstream.lang.nodes import RelationOf

CONSTANTS = (TokenType.STRING, TokenType.NUMBER, TokenType.DASH)
"""What an instant begins with."""
COMPUTED = (TokenType.VAR, TokenType.CURRENT_TIMESTAMP, TokenType.IDENTIFIER)
"""What begins an instant that would have to be computed."""


class Sources(Core):
    """The FROM clause."""

    JOIN_METHODS: ClassVar = {TokenType.NATURAL}
    JOIN_KINDS: ClassVar = {
        TokenType.INNER,
        TokenType.CROSS,
        TokenType.OUTER,
        TokenType.SEMI,
        TokenType.ANTI,
    }

    def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr:
        first = self._curr
        if self._at_stream_operator():
            source: exp.Expr = self.expression(exp.Subquery(this=self._parse_to_stream()))
        elif self._match(TokenType.L_PAREN):
            source = self._parse_wrapped_source()
        else:
            source = self._parse_source_name()
        self._parse_window_and_alias(source)
        source.meta["span"] = (first.start, self._prev.end + 1)
        return source

    def _parse_wrapped_source(self) -> exp.Subquery:
        """Take the rest of a subquery, or of joins in parentheses."""
        if self.at_query() and self._curr.token_type != TokenType.L_PAREN:
            inner: Any = self._parse_whole_query()
        else:
            inner = self._parse_table()
            for join in iter(self._parse_join, None):
                inner.append("joins", join)
            if isinstance(inner, exp.Subquery) and not inner.args.get("joins"):
                if (
                    isinstance(inner.this, exp.Table)
                    and self._curr.token_type in self.SET_OPERATIONS
                ):
                    inner = exp.Select(expressions=[exp.Star()], from_=exp.From(this=inner))
                inner = self._parse_query_modifiers(self._parse_set_operations(inner))
        self._match_r_paren()
        return self.expression(exp.Subquery(this=inner))

    def _parse_source_name(self) -> exp.Table:
        self.refuse_clause_not_yet()
        if self._at_table_over():
            return self._parse_table_over()
        if self._at_relation_of():
            return self._parse_relation_of()
        if self._next.token_type == TokenType.L_PAREN and (call := self._parse_function()):
            return self.expression(exp.Table(this=call))
        if self._curr.token_type not in {*self.ID_VAR_TOKENS, TokenType.IDENTIFIER}:
            self.expect("the name of a stream, table or view")
        return self._parse_plain_name()

    def _parse_plain_name(self) -> exp.Table:
        """Take `s`, or `s.late`."""
        parts = [self._identifier_expression(self.read_name(), self._is_quoted())]
        while self._match(TokenType.DOT):
            parts.append(self._identifier_expression(self.read_name(), self._is_quoted()))
        if len(parts) > 2:
            self.fail("a name has at most two parts", self._prev)
        table = self.expression(exp.Table(this=parts[-1], db=parts[0] if parts[1:] else None))
        if (instant := self._parse_as_of()) is not None:
            table.set("as_of", instant)
        return table

    def _parse_as_of(self) -> exp.Expr | None:
        """Take `AS OF` and a constant, after `FOR SYSTEM_TIME` or not; None where neither is."""
        index = self._index
        of_system = self._match_text_seq("FOR", "SYSTEM_TIME")
        constant = self._match_text_seq("AS", "OF") and self._curr is not None
        if constant and (self._curr.token_type in CONSTANTS or self._at_typed_constant()):
            return self._parse_unary()
        if constant and not of_system and self._curr.token_type in COMPUTED:
            self.fail(
                "AS OF takes a number, or a date and time in quotes",
                hint="Write the instant itself: AS OF '2024-05-01 10:00:00'.",
            )
        self._retreat(index)
        return None

    def _at_typed_constant(self) -> bool:
        """Whether `TIMESTAMP '…'` comes next."""
        return self._next is not None and self._next.token_type == TokenType.STRING

    def _at_relation_of(self) -> bool:
        """Whether `R(`, `ℜ(` or `ℜ_sync(` comes next."""
        word = self._curr.text
        return (
            self._curr.token_type == TokenType.VAR
            and self._next.token_type == TokenType.L_PAREN
            and (word in ("R", "r", "ℜ") or word.startswith("ℜ_"))
        )

    def _parse_relation_of(self) -> exp.Table:
        """Take `R(s)`, `R(s, sync)` or `ℜ_sync(s)`: the relation that a stream modifies."""
        first = self._curr
        self._advance(2)
        written = first.text[2:]
        sync = self._name_in_word(first, written) if written else None
        table = self._parse_name_in_relation("the name of a stream or view", first)
        if self._match(TokenType.COMMA):
            if sync is not None:
                self.fail(
                    "the relation is synchronized by two streams",
                    self._prev,
                    hint=f"Write R({table.name}, {sync.name}).",
                )
            sync = self._parse_name_in_relation("the name of a stream of time points", first)
        if self._match(TokenType.L_BRACKET, advance=False):
            self.fail(
                f"{first.text}(…) takes a name without a window",
                hint=f"Write the window behind the name alone: {table.name} [Range 1 Hour].",
            )
        self._match_r_paren()
        relation = self.expression(RelationOf(sync=sync))
        relation.meta["span"] = (first.start, self._prev.end + 1)
        table.set("relation_of", relation)
        return table

    def _parse_name_in_relation(self, what: str, first: Token) -> exp.Table:
        if self._curr.token_type not in {*self.ID_VAR_TOKENS, TokenType.IDENTIFIER}:
            self.expect(
                f"{what} in {first.text}(…)",
                hint="Give a query a name with CREATE VIEW, and write the name.",
            )
        start = self._curr
        if self._next is not None and self._at_relation_of():
            self.fail(
                f"{first.text}(…) takes a name, and {start.text}(…) is a relation already",
                hint="Write the name alone.",
            )
        table = self._parse_plain_name()
        table.meta["span"] = (start.start, self._prev.end + 1)
        return table

    def _name_in_word(self, token: Token, name: str) -> exp.Table:
        """The name behind `ℜ_`, which is part of one word."""
        table = self.expression(exp.Table(this=exp.to_identifier(name)))
        table.meta["span"] = table.this.meta["span"] = (token.end + 1 - len(name), token.end + 1)
        return table

    def _at_table_over(self) -> bool:
        """Whether `TABLE(s OVER` comes next."""
        if self._curr.text.upper() != "TABLE" or self._next.token_type != TokenType.L_PAREN:
            return False
        behind = self._tokens[self._index + 2 : self._index + 6]
        kinds = [token.token_type for token in behind]
        return TokenType.OVER in (kinds[1:2] + kinds[3:4])

    def _parse_table_over(self) -> exp.Table:
        """Take `TABLE(s OVER (RANGE 12 HOURS PRECEDING))`: the stream with a window."""
        self._advance(2)
        table = self._parse_source_name()
        self._match(TokenType.OVER)
        table.set("stream_window", self.read_window_of_table(table))
        self._match_r_paren()
        return table

    def _is_quoted(self) -> bool:
        return self._prev.token_type == TokenType.IDENTIFIER

    def _parse_window_and_alias(self, source: exp.Expr) -> None:
        window = source.args.get("stream_window") or self._parse_stream_window()
        self.refuse_window_clause(source.name)
        if alias := self._parse_table_alias():
            source.set("alias", alias)
            self.refuse_window_clause(source.name)
        if self._match(TokenType.L_BRACKET, advance=False):
            if window is not None:
                self.fail("a stream cannot have two windows", hint="Remove one of them.")
            window = self._parse_stream_window()
        if window is not None:
            source.set("stream_window", window)
        if self.at_sequence():
            source.set("sequence", self.read_sequence())
        if self.at_recognize():
            self._read_recognize_of(source)

    def _read_recognize_of(self, source: exp.Expr) -> None:
        """The pattern; the alias before it is of its input, the one behind it of the entry."""
        pattern = self.read_recognize()
        if (before := source.args.get("alias")) is not None:
            if before.args.get("columns"):
                self.fail(
                    "an alias before MATCH_RECOGNIZE takes no names of columns",
                    hint="Rename the columns in a subquery.",
                )
            pattern.set("inner_alias", before.this)
        source.set("recognize", pattern)
        source.set("alias", self._parse_table_alias())

    def _parse_table_alias(self, alias_tokens: Any = None) -> exp.TableAlias | None:
        self.refuse_clause_not_yet()
        if self.at_window_clause() or self.at_sequence() or self.at_recognize():
            return None
        if self._match(TokenType.ALIAS):
            name: exp.Expr | None = self._parse_id_var() or self.expect("a name after AS")
        else:
            name = self._parse_id_var(any_token=False, tokens=self.TABLE_ALIAS_TOKENS)
        if name is None:
            return None
        columns = None
        if self._match(TokenType.L_PAREN, advance=False):
            columns = self._parse_wrapped_id_vars()
        return self.expression(exp.TableAlias(this=name, columns=columns))

    def _parse_join(self, *args: Any, **kwargs: Any) -> exp.Join | None:
        if self._match(TokenType.COMMA):
            return self.expression(exp.Join(this=self._parse_table()))
        index = self._index
        method, side, kind = self._parse_join_parts()
        if not self._match(TokenType.JOIN):
            self._retreat(index)
            return None
        words = {"method": method, "side": side, "kind": kind}
        named = {key: token.text.upper() for key, token in words.items() if token}
        join = exp.Join(this=self._parse_table(), **named)
        if self._match(TokenType.ON):
            join.set("on", self._parse_disjunction() or self.expect("a condition after ON"))
        elif self._match(TokenType.USING):
            join.set("using", self._parse_wrapped_id_vars())
        elif not method and named.get("kind") != "CROSS":
            self.refuse_clause_not_yet()
            self.expect(
                "ON or USING after JOIN", hint="Add ON with a condition, or write CROSS JOIN."
            )
        return self.expression(join)
