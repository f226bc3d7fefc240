"""Columns of streams and tables, as CREATE lists them."""

from __future__ import annotations

from sqlglot.tokens import Token, TokenType

from millstream.errors import MillstreamError
from millstream.lang.sources import Sources
from millstream.lang.statements import ColumnDef
from millstream.lang.types import CANONICAL


class Columns(Sources):
    """Names with types, and the key among them."""

    def _parse_columns(self) -> tuple[tuple[ColumnDef, ...], tuple[str, ...], Token | None]:
        if not self._match(TokenType.L_PAREN):
            self.expect('"(" and columns', hint="Write for example (item bigint, price double).")
        columns: list[ColumnDef] = []
        key: tuple[str, ...] = ()
        key_token: Token | None = None
        while True:
            if self._match_text_seq("PRIMARY", "KEY"):
                found, token = self.read_names, self._prev
                key, key_token = self._one_key(key, token) or found(), token
            else:
                columns.append(self.read_column())
                if self._match_text_seq("PRIMARY", "KEY"):
                    token = self._prev
                    key, key_token = self._one_key(key, token) or (columns[-1].name,), token
            if not self._match(TokenType.COMMA):
                break
        self._check_column_end()
        self._match_r_paren()
        return tuple(columns), key, key_token

    def _one_key(self, key: tuple[str, ...], token: Token) -> tuple[str, ...]:
        if key:
            self.fail(
                "the table has two keys", token, hint="Write PRIMARY KEY (a, b) for a key of two."
            )
        return ()

    def read_column(self) -> ColumnDef:
        name = self.read_name("the name of a column")
        if self._curr.token_type in (TokenType.COMMA, TokenType.R_PAREN):
            self.expect(
                f'a type after column "{name.text}"', hint="Write for example price double."
            )
        swapped = name.text.lower() in CANONICAL and self._curr.text.lower() not in CANONICAL
        if swapped and self._curr.token_type == TokenType.VAR:
            self.guarded(
                MillstreamError(
                    f'type "{self._curr.text}" does not exist',
                    hint=f"The name comes first: {self._curr.text} {name.text}.",
                ),
                self._curr,
                self._curr,
            )
        type_name = self._parse_type_name().name
        return ColumnDef(name=name.text, type=type_name, place=self.since(name))

    def _check_column_end(self) -> None:
        if self._match(TokenType.NOT, advance=False) or self._match(TokenType.NULL, advance=False):
            self.fail(
                "NULL and NOT NULL are not part of the language",
                hint="Remove it: every column may hold NULL.",
            )
        words = ("DEFAULT", "UNIQUE", "CHECK", "REFERENCES", "CONSTRAINT", "COMMENT")
        if self._curr.text.upper() in words:
            self.fail(
                f"{self._curr.text.upper()} is not part of the language",
                hint="A column has a name and a type.",
            )
