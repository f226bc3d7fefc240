"""MATCH_RECOGNIZE: its clauses, in the order of the standard, and RUNNING and FINAL in them."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.tokens import TokenType

from millstream.errors import MillstreamError
from millstream.lang.grammar.core import Core
from millstream.lang.nodes import MatchPattern, SubsetOf, Tense

CLAUSES = (
    ("PARTITION BY",),
    ("ORDER BY",),
    ("MEASURES",),
    ("ONE ROW PER MATCH", "ALL ROWS PER MATCH"),
    ("AFTER MATCH",),
    ("PATTERN",),
    ("WITHIN",),
    ("SUBSET",),
    ("DEFINE",),
)
"""The clauses in their order."""
SKIPS = "Write PAST LAST ROW, TO NEXT ROW, TO FIRST v, TO LAST v or TO v."
EXAMPLE = "Write for example PATTERN (A B+ C?)."
NOT_EMPTY = "Write SHOW EMPTY MATCHES, OMIT EMPTY MATCHES or WITH UNMATCHED ROWS."


class Recognize(Core):
    """`MATCH_RECOGNIZE (…)` behind an entry of FROM."""

    _in_recognize = False

    def at_recognize(self) -> bool:
        """Whether MATCH_RECOGNIZE and a parenthesis come next."""
        return (
            self._curr.token_type == TokenType.VAR
            and self._curr.text.upper() == "MATCH_RECOGNIZE"
            and self._next is not None
            and self._next.token_type == TokenType.L_PAREN
        )

    def read_recognize(self) -> MatchPattern:
        """Take MATCH_RECOGNIZE and its clauses."""
        first = self._curr
        self._advance(2)
        args: dict[str, Any] = {}
        before, self._in_recognize = self._in_recognize, True
        if self._match(TokenType.PARTITION_BY):
            args["partition_by"] = self._parse_csv(lambda: self._row_column("PARTITION BY"))
        if self._match(TokenType.ORDER_BY):
            args["order_by"] = self._parse_csv(self._parse_row_order)
        if self._match_text_seq("MEASURES"):
            args["measures"] = self._parse_csv(self._parse_measure)
        args["rows"] = self._parse_shown_rows()
        args |= self._parse_skip()
        args["pattern"] = self._parse_row_pattern()
        if self._match_text_seq("WITHIN"):
            args["within"] = self.read_length("WITHIN")
            self._refuse_timeouts()
        if self._match_text_seq("SUBSET"):
            args["subsets"] = self._parse_csv(self._parse_subset)
        if self._match_text_seq("DEFINE"):
            args["defines"] = self._parse_csv(self._parse_define)
        self._in_recognize = before
        if not self.at(TokenType.R_PAREN):
            self._refuse_clause_before("DEFINE")
        self._match_r_paren()
        pattern = self.expression(MatchPattern(**args))
        pattern.meta["span"] = (first.start, self._prev.end + 1)
        return pattern

    def _row_column(self, clause: str) -> exp.Column:
        first, column = self._curr, self._parse_disjunction()
        if column is None:
            self.expect(f"a column after {clause}")
        if not isinstance(column, exp.Column) or column.is_star:
            error = MillstreamError(
                f"{clause} takes the names of columns",
                hint="Compute the value in a subquery, and write its name here.",
            )
            self.guarded(error, first, self._prev)
        return column

    def _parse_row_order(self) -> exp.Ordered:
        column = self._row_column("ORDER BY")
        down = self._match(TokenType.DESC)
        if not down:
            self._match(TokenType.ASC)
        if self._match_text_seq("NULLS"):
            self.fail(
                "NULLS cannot stand in MATCH_RECOGNIZE",
                self._prev,
                hint="Leave it out: NULL is before every other value.",
            )
        return self.expression(exp.Ordered(this=column, desc=down or None, nulls_first=not down))

    def _parse_measure(self) -> exp.Alias:
        value = self.read_expression("a measure")
        if not self._match(TokenType.ALIAS):
            self.expect("AS and a name after a measure", hint="Write MEASURES A.x AS name.")
        name = self.read_name("the name of a measure")
        alias = self._identifier_expression(name, name.token_type == TokenType.IDENTIFIER)
        return self.expression(exp.Alias(this=value, alias=alias))

    def _parse_shown_rows(self) -> str:
        if self._match_text_seq("ONE", "ROW", "PER", "MATCH"):
            return "one"
        if not self._match(TokenType.ALL):
            return "one"
        if not (self._match(TokenType.ROWS) and self._match_text_seq("PER", "MATCH")):
            self.expect("ROWS PER MATCH", hint="Write ALL ROWS PER MATCH.")
        if self._match_text_seq("SHOW", "EMPTY", "MATCHES"):
            return "all"
        if self._match_text_seq("OMIT", "EMPTY", "MATCHES"):
            return "all omit empty"
        if self._match(TokenType.WITH):
            if not (self._match_text_seq("UNMATCHED") and self._match(TokenType.ROWS)):
                self.expect("UNMATCHED ROWS after WITH", hint=NOT_EMPTY)
            return "all with unmatched"
        if self._match_texts(("SHOW", "OMIT")):
            self.expect("EMPTY MATCHES", hint=NOT_EMPTY)
        return "all"

    def _parse_skip(self) -> dict[str, Any]:
        if not self._match_text_seq("AFTER"):
            return {"skip": "past last"}
        if not self._match_text_seq("MATCH", "SKIP"):
            self.expect("MATCH SKIP after AFTER", hint="Write AFTER MATCH SKIP PAST LAST ROW.")
        if self._match_text_seq("PAST", "LAST", "ROW"):
            return {"skip": "past last"}
        if not self._match_text_seq("TO"):
            self.expect("PAST LAST ROW or TO", hint=SKIPS)
        if self._match_text_seq("NEXT", "ROW"):
            return {"skip": "next"}
        end = "last"
        beyond = self._next.text.upper() if self._next else ""
        if self._curr.text.upper() in ("FIRST", "LAST") and beyond != "PATTERN":
            end = self._curr.text.lower()
            self._advance()
        return {"skip": end, "skip_to": self._variable_name()}

    def _variable_name(self) -> exp.Identifier:
        name = self.read_name("a pattern variable")
        return self._identifier_expression(name, name.token_type == TokenType.IDENTIFIER)

    def _parse_row_pattern(self) -> exp.Expr:
        if not self._match_text_seq("PATTERN"):
            self._refuse_clause_before("PATTERN")
            self.expect("PATTERN", hint=EXAMPLE)
        if not self._match(TokenType.L_PAREN):
            self.expect('"(" after PATTERN', hint=EXAMPLE)
        return self.read_row_pattern()

    def _parse_subset(self) -> SubsetOf:
        first, name = self._curr, self._variable_name()
        if not self._match(TokenType.EQ):
            self.expect('"=" after the name of a subset', hint="Write SUBSET U = (A, B).")
        if not self._match(TokenType.L_PAREN):
            self.expect('"("', hint="Write SUBSET U = (A, B).")
        variables = self._parse_csv(self._variable_name)
        self._match_r_paren()
        node = self.expression(SubsetOf(this=name, expressions=variables))
        node.meta["span"] = (first.start, self._prev.end + 1)
        return node

    def _parse_define(self) -> exp.Alias:
        name = self._variable_name()
        if not self._match(TokenType.ALIAS):
            self.expect("AS after a pattern variable", hint="Write DEFINE A AS A.x > 3.")
        condition = self.read_expression("a condition")
        return self.expression(exp.Alias(this=condition, alias=name))

    def _refuse_timeouts(self) -> None:
        if self._match_text_seq("WITH"):
            self.fail(
                "MATCH_RECOGNIZE reports no timeouts",
                self._prev,
                hint="Leave it out, or write a sequence: AS (X, *Y) WITHIN … WITH TIMEOUTS.",
            )

    def _refuse_clause_before(self, clause: str) -> None:
        """Stop at a clause that stands behind one that it has to stand before."""
        for words in (words for group in CLAUSES for words in group):
            if words == clause:
                return
            first, *rest = words.split()
            text = self._curr.text.upper() if self._curr else ""
            if text == words or (text == first and rest[:1] == [self._next.text.upper()]):
                self.fail(f"{words} cannot stand here", hint=f"Write it before {clause}.")

    def _parse_unary(self) -> exp.Expr | None:
        word = self._curr.text.upper() if self._curr else ""
        called = (
            self._next.token_type in (TokenType.VAR, *self.FUNC_TOKENS) if self._next else False
        )
        if not self._in_recognize or word not in ("RUNNING", "FINAL") or not called:
            return super()._parse_unary()
        first = self._curr
        self._advance()
        node = self.expression(Tense(this=super()._parse_unary(), final=word == "FINAL"))
        node.meta["span"] = (first.start, self._prev.end + 1)
        return node

    def _parse_select_body(self) -> exp.Select:
        before, self._in_recognize = self._in_recognize, False
        try:
            return super()._parse_select_body()
        finally:
            self._in_recognize = before
