"""The core of the parser: names and types, and the words in which statements are read."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from millstream.errors import MillstreamError, closest
from millstream.lang.grammar.faults import Faults
from millstream.lang.interval import Interval
from millstream.lang.nodes import (
    STREAM_OPERATORS,
    MatchPattern,
    SequencePattern,
    StreamWindow,
    ToStream,
    TypeName,
)
from millstream.lang.tokens import RESERVED, SOFT
from millstream.lang.types import ELSEWHERE, INSTANTS, SECOND_WORDS, canonical_type


class Core(Faults):
    """Which words may be names, the types of columns, and what families of statements read with.

    The methods without an underscore are for `families/`: they look at the current token, and take
    it when it is the one that is asked for. Those that are not implemented here are what the parts
    of the grammar, which lie side by side on this class, ask of each other.
    """

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

    @property
    def current(self) -> Token:
        """The token that comes next; false at the end of the statement."""
        return self._curr

    @property
    def following(self) -> Token:
        """The token after the current one."""
        return self._next

    @property
    def previous(self) -> Token:
        """The token that was taken last."""
        return self._prev

    def advance(self, count: int = 1) -> None:
        self._advance(count)

    def at(self, kind: TokenType) -> bool:
        """Whether a token of a kind comes next."""
        return self._match(kind, advance=False)

    def take(self, kind: TokenType) -> bool:
        return self._match(kind)

    def take_word(self, *words: str) -> bool:
        """Take one of a few words."""
        return self._match_texts(words)

    def take_words(self, *words: str) -> bool:
        """Take several words, one after the other, or none of them."""
        return self._match_text_seq(*words)

    def at_words(self, *words: str) -> bool:
        return self._match_text_seq(*words, advance=False)

    def kind_after_parentheses(self) -> TokenType | None:
        """The kind of the token after the parenthesis that opens here and all that is in it."""
        depth = 0
        for index in range(self._index, len(self._tokens) - 1):
            kind = self._tokens[index].token_type
            depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
            if not depth:
                return self._tokens[index + 1].token_type
        return None

    def has_ahead(self, word: str) -> bool:
        """Whether a word, without quotes, stands in the rest of the statement."""
        for token in self._tokens[self._index :]:
            if token.token_type == TokenType.SEMICOLON:
                return False
            if token.text.upper() == word and token.token_type != TokenType.IDENTIFIER:
                return token.token_type != TokenType.STRING
        return False

    def close(self) -> None:
        """Take a closing parenthesis."""
        self._match_r_paren()

    def read_list(self) -> list[exp.Expr]:
        """Take expressions with commas between them."""
        return self._parse_csv(self._parse_disjunction)

    def read_expression(self, what: str = "an expression") -> exp.Expr:
        value = self._parse_disjunction()
        return value if value is not None else self.expect(what)

    def read_one_of(self, words: tuple[str, ...], after: str) -> str:
        """Take one of a few words, in lower case."""
        if self._curr.token_type == TokenType.VAR and self._match_texts(words):
            return self._prev.text.lower()
        near = closest(self._curr.text, words) if self._curr else None
        self.expect(
            f"{', '.join(words[:-1])} or {words[-1]} after {after}",
            hint=f"Did you mean {near}?" if near else None,
        )

    def read_value(self, ends: Collection[TokenType] = ()) -> str:
        """Take the text of a value: a string, or everything up to the end."""
        first, count = self._curr, 0
        while self._curr and self._curr.token_type not in ends:
            self._advance()
            count += 1
        if not count:
            self.expect("a value")
        if count == 1 and first.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
            return first.text
        return self.sql[first.start : self._prev.end + 1]

    def named_parts(self, first: Token, name: Token) -> dict[str, Any]:
        """The fields that every statement about a name has."""
        return {
            "name": name.text,
            "name_place": self.place_at(name),
            "place": self.since(first),
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

    def read_type(self) -> TypeName:
        """Take a type, such as `double precision` or `decimal(10, 2)`."""
        first = self._curr
        if not self._match_set({TokenType.VAR, TokenType.INTERVAL}):
            self.expect("a type")
        name = first.text.lower()
        if self._match_texts({SECOND_WORDS.get(name, "").upper()}):
            name = f"{name} {self._prev.text.lower()}"
        nested = name in ELSEWHERE or self.at(TokenType.L_BRACKET)
        sizes = self._parse_sizes() if not nested and self._match(TokenType.L_PAREN) else ()
        zoned = name in INSTANTS or (name == "timestamp" and self._parse_zone())
        try:
            listed = "array" if self.at(TokenType.L_BRACKET) else first.text
            canonical = canonical_type(listed if " " not in name else name, sizes)
        except MillstreamError as error:
            self.guarded(error, first, self._prev)
        node = self.expression(TypeName(this=canonical))
        node.meta["span"] = (first.start, self._prev.end + 1)
        node.meta["zoned"] = zoned
        return node

    def _parse_zone(self) -> bool:
        """Take WITH or WITHOUT TIME ZONE after `timestamp`; whether it was WITH."""
        if self._match_text_seq("WITHOUT", "TIME", "ZONE"):
            return False
        return any(
            self._match_text_seq("WITH", *local, "TIME", "ZONE") for local in ((), ("LOCAL",))
        )

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

    def at_query(self) -> bool:
        """Whether a query begins here (`queries`, `bare`)."""
        raise NotImplementedError

    def parse_query(self) -> exp.Expr:
        """Take a whole query (`queries`, `bare`)."""
        raise NotImplementedError

    def read_length(self, word: str) -> Interval:
        """Take a length of time after a word (`windows`)."""
        raise NotImplementedError

    def read_over(self, call: exp.Expr) -> exp.Window:
        """Take the window of a call, after OVER (`overs`)."""
        raise NotImplementedError

    def at_window_clause(self) -> bool:
        """Whether the clause WINDOW begins here (`overs`)."""
        raise NotImplementedError

    def read_window_clause(self) -> list[exp.Expr]:
        """Take the clause WINDOW (`overs`)."""
        raise NotImplementedError

    def read_window_of_table(self, table: exp.Table) -> StreamWindow:
        """Take the window of a stream in FROM, after OVER (`overs`)."""
        raise NotImplementedError

    def at_sequence(self) -> bool:
        """Whether a sequence pattern begins here (`sequences`)."""
        raise NotImplementedError

    def read_sequence(self) -> SequencePattern:
        """Take a sequence pattern after an entry of FROM (`sequences`)."""
        raise NotImplementedError

    def at_recognize(self) -> bool:
        """Whether MATCH_RECOGNIZE begins here (`recognize`)."""
        raise NotImplementedError

    def read_recognize(self) -> MatchPattern:
        """Take MATCH_RECOGNIZE and its clauses (`recognize`)."""
        raise NotImplementedError

    def read_row_pattern(self) -> exp.Expr:
        """Take the pattern of MATCH_RECOGNIZE and a closing parenthesis (`row_patterns`)."""
        raise NotImplementedError

    def _parse_whole_query(self) -> exp.Expr:
        raise NotImplementedError

    def _parse_to_stream(self) -> ToStream:
        raise NotImplementedError

    def _parse_select_body(self) -> exp.Select:
        raise NotImplementedError

    def _parse_source_name(self) -> exp.Table:
        raise NotImplementedError

    def _at_relation_of(self) -> bool:
        raise NotImplementedError

    def refuse_window_clause(self, stream: str) -> None:
        raise NotImplementedError

    def _parse_stream_window(self) -> StreamWindow | None:
        raise NotImplementedError

    def _at_stream_operator(self) -> bool:
        return (
            self._curr.token_type == TokenType.VAR
            and self._next.token_type == TokenType.L_PAREN
            and self._curr.text.lower() in STREAM_OPERATORS
        )

    def _try_here(self, read: Callable[[], Any], first: Token) -> Any:
        """What is read; an error of it points at the tokens since the first one."""
        try:
            return read()
        except MillstreamError as error:
            self.guarded(error, first, self._prev)
