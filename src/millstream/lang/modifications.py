"""INSERT, UPDATE and DELETE, each with the time it happens at."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from millstream.errors import Place
from millstream.lang.definitions import Definitions
from millstream.lang.statements import Delete, Insert, Update


class Modifications(Definitions):
    """Statements that change tables; each starts after its first word."""

    def parse_insert(self, first: Token) -> Insert:
        if not self._match_texts({"INTO"}):
            self.expect("INTO after INSERT", hint="Write INSERT INTO table VALUES (…).")
        name, columns, columns_place = self.read_name("the name of a table"), None, None
        if self._match(TokenType.L_PAREN, advance=False):
            start = self._curr
            columns = self.read_names()
            columns_place = self.since(start)
        if self.at_query():
            self.fail(
                "INSERT takes no query",
                hint="List the rows after VALUES, or make the table a view: CREATE VIEW … AS.",
            )
        if not self._match_texts({"VALUES"}):
            self.expect("VALUES and rows", hint=f"Write INSERT INTO {name.text} VALUES (1, 'a').")
        rows, places = self._parse_value_rows()
        at = self._parse_at()
        return Insert(
            columns=columns,
            rows=rows,
            at=at,
            columns_place=columns_place,
            row_places=places,
            **self._named_parts(first, name),
        )

    def parse_update(self, first: Token) -> Update:
        name = self.read_name("the name of a table")
        if not self._match_texts({"SET"}):
            self.expect("SET", hint=f"Write UPDATE {name.text} SET column = value WHERE ….")
        values, places = [], []
        while True:
            column = self.read_name("the name of a column")
            if not self._match(TokenType.EQ):
                self.expect('"="', hint=f"Write {column.text} = value.")
            values.append((column.text, self._parse_some_value()))
            places.append(self.place_at(column))
            if not self._match(TokenType.COMMA):
                break
        where, at = self._parse_condition(), self._parse_at()
        return Update(
            values=tuple(values),
            where=where,
            at=at,
            value_places=tuple(places),
            **self._named_parts(first, name),
        )

    def parse_delete(self, first: Token) -> Delete:
        if not self._match(TokenType.FROM):
            self.expect("FROM after DELETE", hint="Write DELETE FROM table WHERE ….")
        name = self.read_name("the name of a table")
        where, at = self._parse_condition(), self._parse_at()
        return Delete(where=where, at=at, **self._named_parts(first, name))

    def _parse_value_rows(self) -> tuple[tuple[tuple[exp.Expr, ...], ...], tuple[Place, ...]]:
        rows, places = [], []
        while True:
            start = self._curr
            if not self._match(TokenType.L_PAREN):
                self.expect('"(" and values', hint="Write VALUES (1, 'a'), (2, 'b').")
            rows.append(tuple(self._parse_csv(self._parse_disjunction)))
            if not rows[-1]:
                self.expect("a value")
            self._match_r_paren()
            places.append(self.since(start))
            if not self._match(TokenType.COMMA):
                return tuple(rows), tuple(places)

    def _parse_condition(self) -> exp.Expr | None:
        return self._parse_some_value() if self._match(TokenType.WHERE) else None

    def _parse_at(self) -> exp.Expr | None:
        if not self._match_texts({"AT"}):
            return None
        return self._parse_some_value("a time after AT")

    def _parse_some_value(self, what: str = "an expression") -> exp.Expr:
        value = self._parse_disjunction()
        return value if value is not None else self.expect(what)
