"""Sequence patterns: `PARTITION BY k SEQUENCE BY t AS (X, *Y)`, and references to their tuples."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from millstream.errors import MillstreamError
from millstream.lang.grammar.core import Core
from millstream.lang.nodes import Previous, SequenceElement, SequencePattern, StarOf

EXAMPLE = "Write for example PARTITION BY k AS (X, *Y)."
TIMEOUTS = "Write WITHIN 10 MINUTES WITH TIMEOUTS."


class Sequences(Core):
    """Patterns after an entry of FROM; `X.previous.c`, `*Y.c`."""

    _in_arguments = False

    def at_sequence(self) -> bool:
        """Whether a sequence pattern begins here."""
        if self._match(TokenType.ALIAS, advance=False):
            return self._next.token_type == TokenType.L_PAREN
        return self.at(TokenType.PARTITION_BY) or self._at_sequence_by()

    def read_sequence(self) -> SequencePattern:
        """Take a sequence pattern, from PARTITION BY to WITH TIMEOUTS."""
        first = self._curr
        args: dict[str, Any] = {}
        if self._match(TokenType.PARTITION_BY):
            args["partition_by"] = self._columns_of_pattern("partitioned", "PARTITION BY")
        if self._at_sequence_by():
            self._advance(2)
            args["sequence_by"] = self._columns_of_pattern("ordered", "SEQUENCE BY")
            self._refuse_descending()
        args["elements"] = self._parse_elements(args.get("partition_by") or [])
        self._refuse_by_after()
        pattern = self.expression(SequencePattern(**args, **self.read_within()))
        pattern.meta["span"] = (first.start, self._prev.end + 1)
        self._refuse_after_pattern()
        return pattern

    def read_within(self) -> dict[str, Any]:
        """Take `WITHIN 10 MINUTES WITH TIMEOUTS`, or nothing."""
        args: dict[str, Any] = {}
        if self._match_text_seq("WITHIN"):
            args["within"] = self.read_length("WITHIN")
        first = self._curr
        if self._match_text_seq("WITH", "TIMEOUTS"):
            args["timeouts"] = True
        elif self._match_text_seq("WITH", "TIMEOUT"):
            self.fail('unexpected "TIMEOUT"', self._prev, hint="Did you mean TIMEOUTS?")
        if "timeouts" in args and "within" not in args:
            error = MillstreamError("WITH TIMEOUTS needs a time limit", hint=TIMEOUTS)
            self.guarded(error, first, self._prev)
        return args

    def _at_sequence_by(self) -> bool:
        return self._match_text_seq("SEQUENCE", "BY", advance=False)

    def _columns_of_pattern(self, verb: str, clause: str) -> list[exp.Expr]:
        first = self._curr
        columns = self._parse_csv(self._parse_column)
        if not columns:
            self.expect(f"a column after {clause}", hint=EXAMPLE)
        if any(not isinstance(column, exp.Column) or column.is_star for column in columns):
            hint = f"Compute the value in a subquery, and write {clause} and its name."
            if isinstance(columns[-1], exp.Anonymous) and not self.at(TokenType.ALIAS):
                hint = f"AS stands before the elements: {clause} {columns[-1].name} AS (X, *Y)."
            error = MillstreamError(f"a sequence is {verb} by columns", hint=hint)
            self.guarded(error, first, self._prev)
        return columns

    def _refuse_descending(self) -> None:
        if self._match_texts(("ASC", "DESC")):
            self.fail(
                f"SEQUENCE BY takes no {self._prev.text.upper()}",
                self._prev,
                hint="A sequence is in ascending order: leave it out."
                if self._prev.text.upper() == "ASC"
                else "A sequence is in ascending order: turn the pattern around.",
            )

    def _parse_elements(self, partition: list[exp.Expr]) -> list[SequenceElement]:
        """Take `AS (X, *Y)`."""
        if self.at(TokenType.PARTITION_BY):
            self.fail("PARTITION BY stands before SEQUENCE BY", hint="Put it before SEQUENCE BY.")
        if not self._match(TokenType.ALIAS):
            names = ", ".join(column.name for column in partition)
            hint = f"Write PARTITION BY {names} AS (X, *Y) for a sequence, GROUP BY {names}, or "
            hint += f"[Partition By {names} Rows 1] after the stream."
            self.expect("AS and the elements of the sequence", hint=hint if names else EXAMPLE)
        if not self._match(TokenType.L_PAREN):
            name = self._curr.text if self._curr else "s"
            hint = f"An alias stands before PARTITION BY: FROM … AS {name} PARTITION BY …."
            self.expect('"(" and the elements of the sequence', hint=hint)
        if self.at(TokenType.R_PAREN):
            self.expect("the elements of the sequence", hint="Write for example AS (X, *Y).")
        elements = [self._parse_element()]
        while self._match(TokenType.COMMA):
            elements.append(self._parse_element())
        self._match_r_paren()
        self._refuse_twice(elements)
        return elements

    def _parse_element(self) -> SequenceElement:
        first = self._curr
        star = self._match(TokenType.STAR)
        name = self.read_name("the name of an element")
        if self.at(TokenType.STAR):
            self.fail("the star of an element stands before its name", hint=f"Write *{name.text}.")
        this = self._identifier_expression(name, name.token_type == TokenType.IDENTIFIER)
        element = self.expression(SequenceElement(this=this, star=star or None))
        element.meta["span"] = (first.start, self._prev.end + 1)
        return element

    def _refuse_twice(self, elements: list[SequenceElement]) -> None:
        seen: set[str] = set()
        for element in elements:
            if element.name.lower() in seen:
                token = self._token_at(element.this.meta["start"])
                self.fail(
                    f'element "{element.name}" stands twice in one sequence',
                    token,
                    hint="Give every element a name of its own.",
                )
            seen.add(element.name.lower())

    def _token_at(self, start: int) -> Token:
        return next(token for token in self._tokens if token.start == start)

    def _refuse_by_after(self) -> None:
        if self.at(TokenType.PARTITION_BY) or self._at_sequence_by():
            clause = "PARTITION BY" if self.at(TokenType.PARTITION_BY) else "SEQUENCE BY"
            self.fail(
                f"{clause} stands before the elements of a sequence",
                hint=f"Write {clause} … AS (X, *Y).",
            )

    def _refuse_after_pattern(self) -> None:
        if self._match(TokenType.ALIAS, advance=False):
            self.fail(
                "the alias of an entry stands before its sequence",
                hint=f"Write FROM … AS {self._next.text} … AS (X, *Y).",
            )
        if self.at(TokenType.VAR):
            self.fail(
                "the alias of an entry stands before its sequence",
                self._curr,
                hint=f"Write FROM … AS {self._curr.text} … AS (X, *Y).",
            )
        if self.at(TokenType.L_BRACKET):
            self.fail(
                "a window cannot stand after a sequence",
                hint="Put the sequence into a subquery, and the window after it.",
            )

    def _parse_column(self) -> exp.Expr | None:
        if self._at_previous(self._index + 1):
            this = self._identifier_expression(self.read_name(), self._is_name_quoted())
            return self._parse_column_ops(this)
        return super()._parse_column()

    def _is_name_quoted(self) -> bool:
        return self._prev.token_type == TokenType.IDENTIFIER

    def _parse_column_ops(self, this: exp.Expr | None) -> exp.Expr | None:
        if this is not None and self._at_previous(self._index):
            this = self._parse_previous(this)
        return super()._parse_column_ops(this)

    def _at_previous(self, index: int) -> bool:
        """Whether `.previous.` stands at a token."""
        dot, word, end = (*self._tokens[index : index + 3], None, None, None)[:3]
        return (
            dot is not None
            and word is not None
            and end is not None
            and dot.token_type == end.token_type == TokenType.DOT
            and word.token_type == TokenType.VAR
            and word.text.lower() == "previous"
        )

    def _parse_previous(self, this: exp.Expr) -> exp.Dot:
        """Take `.previous.c`, or `.previous.previous.c`, after an element or FIRST and LAST."""
        while self._at_previous(self._index):
            self._advance(2)
            this = self.expression(Previous(this=this))
        self._advance()
        name = self.read_name("the name of a column")
        column = self._identifier_expression(name, self._is_name_quoted())
        if self.at(TokenType.DOT):
            self.fail(
                "a tuple before has columns, and they have no parts",
                hint=f"Write {column.name}, with .previous before it.",
            )
        return self.expression(exp.Dot(this=this, expression=column))

    def _parse_lambda(self, alias: bool = False) -> exp.Expr | None:
        before, self._in_arguments = self._in_arguments, True
        try:
            return super()._parse_lambda(alias)
        finally:
            self._in_arguments = before

    def _parse_select_body(self) -> exp.Select:
        before, self._in_arguments = self._in_arguments, False
        try:
            return super()._parse_select_body()
        finally:
            self._in_arguments = before

    def _parse_unary(self) -> exp.Expr | None:
        starts = self.at(TokenType.STAR) and self._next.token_type in _NAMES
        if starts and self._in_arguments:
            return self._parse_star_of()
        if starts and self._prev.token_type in _BEFORE_CONDITION:
            self.fail(
                "a star stands inside of an aggregate, or of FIRST and LAST",
                self._curr,
                hint=f"Write for example LAST(*{self._next.text}), or count(*{self._next.text}).",
            )
        return super()._parse_unary()

    def _parse_star_of(self) -> StarOf:
        """Take `*Y` or `*Y.price`."""
        first = self._curr
        self._advance()
        names = [self._parse_part()]
        if self._match(TokenType.DOT):
            names.append(self._parse_part())
        if self.at(TokenType.DOT):
            self.fail("after a star stand an element and a column", hint="Write *Y or *Y.c.")
        node = self.expression(StarOf(this=names[0], column=names[1] if names[1:] else None))
        node.meta["span"] = (first.start, self._prev.end + 1)
        return node

    def _parse_part(self) -> exp.Identifier:
        name = self.read_name("a name")
        return self._identifier_expression(name, self._is_name_quoted())


_BEFORE_CONDITION = {TokenType.WHERE, TokenType.AND, TokenType.OR, TokenType.NOT}
_NAMES = {*Core.ID_VAR_TOKENS, TokenType.IDENTIFIER}
