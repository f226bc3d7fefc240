"""Names and types: the leaves that statements and expressions share."""

from __future__ import annotations

from typing import ClassVar

from sqlglot.tokens import Token, TokenType

from millstream.errors import MillstreamError
from millstream.lang.faults import Faults
from millstream.lang.nodes import TypeName
from millstream.lang.tokens import RESERVED, SOFT
from millstream.lang.types import SECOND_WORDS, canonical_type


class Names(Faults):
    """Which words may be names, and the types of columns."""

    ID_VAR_TOKENS: ClassVar = {TokenType.VAR, *SOFT.values()}
    ALIAS_TOKENS: ClassVar = {TokenType.VAR, TokenType.ROWS, TokenType.RANGE, TokenType.FILTER}
    TABLE_ALIAS_TOKENS: ClassVar = {TokenType.VAR, TokenType.ROWS, TokenType.RANGE}
    RESERVED_TOKENS: ClassVar = {
        *Faults.RESERVED_TOKENS,
        *RESERVED.values(),
        TokenType.NUMBER,
        TokenType.DPIPE,
        TokenType.DCOLON,
        TokenType.NEQ,
        TokenType.LTE,
        TokenType.GTE,
        TokenType.NULLSAFE_EQ,
    }
    FUNC_TOKENS: ClassVar = {
        TokenType.VAR,
        TokenType.IDENTIFIER,
        TokenType.LEFT,
        TokenType.RIGHT,
        TokenType.ALL,
        TokenType.ANY,
        TokenType.SOME,
        TokenType.EXISTS,
        *SOFT.values(),
    }

    def read_name(self, what: str = "a name") -> Token:
        """Take a name, quoted or not, that is not a reserved word."""
        if not self._match_set({*self.ID_VAR_TOKENS, TokenType.IDENTIFIER}):
            quoted = self._curr.text.upper() in RESERVED and self._curr.text.isalpha()
            hint = f'Put it in quotes to use it as a name: "{self._curr.text}".'
            self.expect(what, hint=hint if quoted else None)
        return self._prev

    def read_names(self) -> tuple[str, ...]:
        """Take names in parentheses."""
        if not self._match(TokenType.L_PAREN):
            self.expect('"("')
        names = [self.read_name().text]
        while self._match(TokenType.COMMA):
            names.append(self.read_name().text)
        if self._curr.token_type in (TokenType.VAR, TokenType.INTERVAL):
            self.expect('"," or ")"', hint="Write the names only, without types.")
        self._match_r_paren()
        return tuple(names)

    def _parse_type_name(self) -> TypeName:
        """Take a type, such as `double precision` or `decimal(10, 2)`."""
        first = self._curr
        if not self._match_set({TokenType.VAR, TokenType.INTERVAL}):
            self.expect("a type")
        name = first.text.lower()
        if self._match_texts({SECOND_WORDS.get(name, "").upper()}):
            name = f"{name} {self._prev.text.lower()}"
        sizes = self._parse_sizes() if self._match(TokenType.L_PAREN) else ()
        try:
            canonical = canonical_type(first.text if " " not in name else name, sizes)
        except MillstreamError as error:
            self.guarded(error, first, self._prev)
        node = self.expression(TypeName(this=canonical))
        node.meta["span"] = (first.start, self._prev.end + 1)
        return node

    def _parse_sizes(self) -> tuple[int, ...]:
        sizes = [self._parse_size()]
        while self._match(TokenType.COMMA):
            sizes.append(self._parse_size())
        self._match_r_paren()
        return tuple(sizes)

    def _parse_size(self) -> int:
        if self._curr.token_type != TokenType.NUMBER or not self._curr.text.isdigit():
            self.expect("a whole number")
        self._advance()
        return int(self._prev.text[:9])
