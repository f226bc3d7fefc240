"""The pattern of MATCH_RECOGNIZE: `PATTERN (^ A (B | C)+? {- D{2,5} -} PERMUTE(E, F) $)`."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from millstream.lang.grammar.core import Core
from millstream.lang.nodes import (
    PatternAnchor,
    PatternChoice,
    PatternExclude,
    PatternPermute,
    PatternRepeat,
    PatternSequence,
    PatternVariable,
)

QUANTIFIERS = (
    "Quantifiers are *, +, ?, {2}, {2,}, {,5} and {2,5}, each with ? behind it or without."
)
_PARTS = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.L_PAREN, TokenType.CARET)
_SIGNS = {TokenType.STAR: (0, None), TokenType.PLUS: (1, None), TokenType.PLACEHOLDER: (0, 1)}


class RowPatterns(Core):
    """Regular expressions over variables, each of which stands for one row."""

    def read_row_pattern(self) -> exp.Expr:
        """Take a pattern and the parenthesis that closes it."""
        pattern = self._pattern_choice()
        self._pattern_close()
        return pattern

    def _pattern_choice(self) -> exp.Expr:
        first = self._curr
        parts = [self._pattern_sequence()]
        while self._match(TokenType.PIPE):
            parts.append(self._pattern_sequence())
        if self.at(TokenType.DPIPE):
            self.fail('"||" cannot stand in a pattern', hint="Write | for one or the other.")
        if len(parts) == 1:
            return parts[0]
        return self._spanned(PatternChoice(expressions=parts), first)

    def _pattern_sequence(self) -> exp.Expr:
        first, parts = self._curr, []
        while self._curr and (self._curr.token_type in _PARTS or self._at_exclusion()):
            parts += self._pattern_repeated()
        if len(parts) == 1:
            return parts[0]
        return self._spanned(PatternSequence(expressions=parts), first)

    def _pattern_repeated(self) -> list[exp.Expr]:
        """A part with its quantifiers; a `$` that touches a name is a part of its own."""
        first, parts = self._curr, self._pattern_single()
        while (bounds := self._pattern_bounds()) is not None:
            low, high = bounds
            reluctant = self._match(TokenType.PLACEHOLDER) or None
            repeat = PatternRepeat(this=parts[-1], low=low, high=high, reluctant=reluctant)
            parts[-1] = self._spanned(repeat, first)
        return parts

    def _pattern_bounds(self) -> tuple[int, int | None] | None:
        if self._curr and (known := _SIGNS.get(self._curr.token_type)):
            self._advance()
            return known
        if not self.at(TokenType.L_BRACE) or self._at_exclusion():
            return None
        first = self._curr
        self._advance()
        low = self._pattern_count()
        ranged = self._match(TokenType.COMMA)
        high = self._pattern_count() if ranged else low
        if low is None and high is None:
            self.expect("a number of rows", hint=QUANTIFIERS)
        if not self._match(TokenType.R_BRACE):
            self.expect('"}"', hint=QUANTIFIERS)
        if high is not None and (high < (low or 0) or high == 0):
            wrong = "has 0 as its most" if high == 0 else f"wants at least {low} and at most {high}"
            self.fail(f"a quantifier {wrong}", first, hint=QUANTIFIERS)
        return low or 0, high

    def _pattern_count(self) -> int | None:
        if not self._match(TokenType.NUMBER):
            return None
        if not self._prev.text.isdigit() or len(self._prev.text) > 9:
            self.fail("a quantifier takes whole numbers", self._prev, hint=QUANTIFIERS)
        return int(self._prev.text)

    def _pattern_single(self) -> list[exp.Expr]:
        first = self._curr
        if self._match(TokenType.CARET):
            return [self._spanned(PatternAnchor(start=True), first)]
        if self._match(TokenType.L_PAREN):
            inside = self._pattern_choice()
            self._pattern_close()
            return [inside]
        if self._at_exclusion():
            self._advance(2)
            inside = self._pattern_choice()
            if not (self.at(TokenType.DASH) and self._next.token_type == TokenType.R_BRACE):
                self.expect('"-}"', hint="Write {- and -} around the rows that are left out.")
            self._advance(2)
            return [self._spanned(PatternExclude(this=inside), first)]
        if first.text.upper() == "PERMUTE" and self._next.token_type == TokenType.L_PAREN:
            self._advance(2)
            parts = [self._pattern_choice()]
            while self._match(TokenType.COMMA):
                parts.append(self._pattern_choice())
            self._pattern_close()
            return [self._spanned(PatternPermute(expressions=parts), first)]
        return self._pattern_variable(self.read_name("a pattern variable"))

    def _pattern_variable(self, token: Token) -> list[exp.Expr]:
        quoted = token.token_type == TokenType.IDENTIFIER
        name = token.text if quoted else token.text.removesuffix("$")
        found: list[exp.Expr] = []
        if name:
            this = self._identifier_expression(token, quoted)
            this.set("this", name)
            found.append(self._spanned(PatternVariable(this=this), token))
        if not quoted and token.text.endswith("$"):
            found.append(self._spanned(PatternAnchor(start=False), token))
        return found

    def _pattern_close(self) -> None:
        if self._curr and self._curr.token_type in _SIGNS:
            self.fail(f"there is nothing before {self.written(self._curr)}", hint=QUANTIFIERS)
        self._match_r_paren()

    def _at_exclusion(self) -> bool:
        return self.at(TokenType.L_BRACE) and self._next.token_type == TokenType.DASH

    def _spanned(self, node: exp.Expr, first: Token) -> exp.Expr:
        node = self.expression(node)
        node.meta["span"] = (first.start, self._prev.end + 1)
        return node
