"""Syntax errors: where the parser stopped, what it wanted, and what was probably meant."""

from __future__ import annotations

from typing import ClassVar, NoReturn

from sqlglot.errors import ParseError
from sqlglot.parser import Parser
from sqlglot.tokens import Token, TokenType

from millstream.errors import MillstreamError, Place, closest
from millstream.lang.grammar.elsewhere import Words, clause_at
from millstream.lang.interval import unit_named

CLAUSES = [
    "FROM",
    "WHERE",
    "HAVING",
    "LIMIT",
    "OFFSET",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "JOIN",
    "LEFT",
    "RIGHT",
    "FULL",
    "INNER",
    "CROSS",
    "USING",
    "LIKE",
    "BETWEEN",
    "SELECT",
]
CLAUSE_PAIRS = {"GROUP": "GROUP BY", "ORDER": "ORDER BY", "PARTITION": "PARTITION BY"}
_OPERANDS = (
    TokenType.VAR,
    TokenType.IDENTIFIER,
    TokenType.NUMBER,
    TokenType.STRING,
    TokenType.R_PAREN,
    TokenType.R_BRACKET,
    TokenType.STAR,
)
FIELD = 'Declare a field as a column of its own, such as "item.price" double.'
_WINDOWS = ("RANGE", "ROWS", "TUMBLE", "HOP", "SESSION")
_VALUES = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING)


class SyntaxFault(ParseError):
    """A MillstreamError on its way through sqlglot, which knows only its own errors."""

    def __init__(self, error: MillstreamError) -> None:
        super().__init__(error.message)
        self.error = error


class Faults(Parser):
    """A parser that says what is wrong in the house's words."""

    BEGINNINGS: ClassVar[tuple[str, ...]] = ("SELECT", "WITH")
    """The words that a statement can begin with."""

    def fail(
        self,
        message: str,
        token: Token | None = None,
        hint: str | None = None,
        detail: str | None = None,
    ) -> NoReturn:
        """Stop with a message at a token, or where the parser stands."""
        raise SyntaxFault(MillstreamError(message, self.place_at(token), detail, hint))

    def expect(self, what: str, hint: str | None = None) -> NoReturn:
        """Stop because something else should stand here."""
        self.fail(f"expected {what} but {self.found()}", hint=hint)

    def unexpected(self) -> NoReturn:
        """Stop because nothing may begin with the token that stands here."""
        if not self._curr:
            self.fail("the statement ends too early")
        if self._index:
            self._refuse_at(self._index - 1)
        if self._is_stray_alias(self._prev) and (hint := self._guess(self._prev)):
            self.fail(f'unexpected "{self._prev.text}"', self._prev, hint)
        self.refuse_clause_not_yet()
        hint = self._of_others() or self._guess(self._curr)
        if hint is None and self._curr.token_type in _VALUES and self._prev.token_type in _VALUES:
            hint = "Put a comma before it, or remove it."
        self.fail(f"unexpected {self.written(self._curr)}", hint=hint)

    def refuse_clause_not_yet(self) -> None:
        """Stop at a clause that the language does not have, before it is taken for a name."""
        self._refuse_at(self._index)

    def _refuse_at(self, index: int) -> None:
        around = Words(self._tokens, index, self.sql)
        if self._curr and (clause := clause_at(around)) is not None:
            last = self._tokens[index + len(clause.words.split()) - 1]
            error = MillstreamError(clause.message, hint=clause.advice(around))
            self.guarded(error, self._tokens[index], last)

    def raise_error(self, message: str, token: Token | None = None) -> None:
        """Put sqlglot's own complaints into our words."""
        if message == "Expecting )":
            hint = self._of_others() or self._guess(self._curr) or self._open_parenthesis()
            self.expect('")"', hint=hint)
        if message.startswith("Expecting "):
            self.expect(f'"{message.removeprefix("Expecting ")}"')
        if message.startswith("Required keyword"):
            is_query = message.endswith(("Union'>", "Except'>", "Intersect'>"))
            bare = self._curr.token_type == TokenType.SELECT
            hint = "Put the subquery in parentheses." if bare else self._of_others()
            self.expect("a query" if is_query else "an expression", hint=hint)
        if message.startswith("Found multiple"):
            clause = message.split("'")[1]
            self.fail(f"{clause} stands twice in one query", token, hint="Remove one of them.")
        self.unexpected()

    def guarded(self, error: MillstreamError, first: Token, last: Token) -> NoReturn:
        """Stop with an error that does not know its place yet."""
        raise SyntaxFault(error.at(Place(self.sql, first.start, last.end + 1)))

    def place_at(self, token: Token | None = None) -> Place:
        """The place of a token; just after the last one when the statement has ended."""
        token = token or self._curr
        if token:
            return Place(self.sql, token.start, token.end + 1)
        return Place(self.sql, self._prev.end + 1, self._prev.end + 2)

    def since(self, first: Token) -> Place:
        """The place from a token to the last one read."""
        return Place(self.sql, first.start, max(first.end, self._prev.end) + 1)

    def found(self) -> str:
        return f"found {self.written(self._curr)}" if self._curr else "the statement ends"

    def written(self, token: Token) -> str:
        """A token as the author wrote it, in quotes."""
        text = self.sql[token.start : token.end + 1]
        text = text if len(text) <= 40 else f"{text[:37]}…"
        return text if text[:1] in "\"'`" else f'"{text}"'

    def _of_others(self) -> str | None:
        """A hint for what other systems write here."""
        before, after = self._prev.text, self._next.text if self._next else ""
        if self._curr.text == "~":
            return f"Write {before} RLIKE '{after}'."
        if self._curr.token_type == TokenType.PARTITION_BY:
            return f"Write GROUP BY {after}, or [Partition By {after} Rows 1] after the stream."
        if before.upper() in _WINDOWS and self._curr.token_type == TokenType.NUMBER:
            window = f"{before} {self._curr.text} {after}".strip().title()
            return f"Write the window in brackets: [{window}]."
        if self._prev.token_type == TokenType.ARROW:
            return FIELD
        if before.upper() == "INTO" and self._curr.token_type == TokenType.VAR:
            return f"Write CREATE VIEW {self._curr.text} AS SELECT …"
        return None

    def _is_stray_alias(self, token: Token) -> bool:
        """Whether a word was taken for an alias, as FORM is in SELECT price FORM bids."""
        if token.token_type != TokenType.VAR or self._index < 2:
            return False
        return self._tokens[self._index - 2].token_type in _OPERANDS

    def _guess(self, token: Token) -> str | None:
        """A hint for a misspelt keyword, a length of time, or a forgotten semicolon."""
        word = token.text.upper()
        if word in self.BEGINNINGS and token.token_type in (TokenType.VAR, TokenType.SELECT):
            return "End the statement before it with a semicolon."
        if token.token_type != TokenType.VAR or len(word) < 4:
            return None
        if self._prev.token_type == TokenType.NUMBER and unit_named(word):
            return f"Write INTERVAL '{self._prev.text}' {word}."
        if word in CLAUSE_PAIRS:
            return f"Write {CLAUSE_PAIRS[word]}."
        near = closest(word, (*CLAUSES, *CLAUSE_PAIRS))
        return f"Did you mean {CLAUSE_PAIRS.get(near, near)}?" if near else None

    def _open_parenthesis(self) -> str | None:
        """Which parenthesis is still open where the parser stands."""
        depth = 0
        before = self._tokens[: self._index]
        for token, after in zip(reversed(before), reversed([*before[1:], None])):
            depth += (token.token_type == TokenType.R_PAREN) - (
                token.token_type == TokenType.L_PAREN
            )
            if depth < 0:
                return f'Close the parenthesis before "{after.text}".' if after else None
        return None
