"""Scalar expressions inside blocks: what stands there beside the columns of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.algebra.expressions import Column, Expression
from millstream.bind.blocks.body import Body, Signature
from millstream.bind.expressions.messages import misplaced_call
from millstream.bind.expressions.quoted import is_double_quoted, lone_word
from millstream.bind.expressions.scalars import Expressions
from millstream.bind.names.scope import is_known
from millstream.blocks.leaves import Oldest, SqlCode
from millstream.errors import MillstreamError, Place
from millstream.lang import name_place_of, place_of

if TYPE_CHECKING:
    from millstream.bind.blocks.calls import Collector

SQLCODE, OLDEST = "sqlcode", "oldest"
CALLS = (exp.Anonymous, exp.Filter)


@dataclass
class Scalars(Expressions):
    """Binds scalars of one SELECT, or of one statement, of a block.

    `fields` gives the value of every plan name of the scope. `collector` takes calls of aggregates
    where they may stand.
    """

    body: Body = field(kw_only=True)
    fields: Mapping[str, Expression] = field(kw_only=True, default_factory=dict)
    collector: Collector | None = None

    def field_of(self, column: Expression) -> Expression:
        """A column of the scope as the field of a source."""
        return self.fields.get(column.name, column) if isinstance(column, Column) else column

    def find(self, node: exp.Expr) -> Expression | None:
        """A column of this query or one around it, None if it is neither."""
        if isinstance(node, exp.Column) and is_known(self.scope, node):
            return self.field_of(super()._column(node))
        return None if self.outer is None else self.outer(node)

    def _bind(self, node: exp.Expr) -> Expression:
        if isinstance(node, exp.Dot):
            return self._member(node)
        if isinstance(node, exp.Window):
            raise MillstreamError(
                "OVER cannot stand in a block",
                hint="Blocks read tables: write GROUP BY, or a correlated subquery.",
            )
        return super()._bind(node)

    def _column(self, node: exp.Column) -> Expression:
        if isinstance(node.this, exp.Identifier) and not node.table:
            if (found := self.body.argument(node.name)) is not None:
                self._tell_of_hidden(node)
                return found
            if not self._is_column(node) and (word := self._word_of_blocks(node)) is not None:
                return word
        return self.field_of(super()._column(node))

    def _tell_of_hidden(self, node: exp.Column) -> None:
        """The author is told when an argument hides a column."""
        owners = [
            m.alias
            for m in self.scope.members
            if any(name.lower() == node.name.lower() for name, *_ in m.columns)
        ]
        place = name_place_of(node, self.text)
        line = f" in line {place.line}" if place is not None else ""
        if not owners and node.name.lower() in self.aliases:
            self.body.shared.tell(
                f'"{node.name}"{line} is the argument of {self.body}, not the name in the select '
                "list",
                "Give it another name there.",
            )
        if owners:
            self.body.shared.tell(
                f'"{node.name}"{line} is the argument of {self.body}, not the column of '
                f'"{owners[0]}"',
                f"Write {owners[0]}.{node.name} for the column.",
            )

    def _is_column(self, node: exp.Column) -> bool:
        if is_known(self.scope, node) or self._is_alias(node):
            return True
        return self.outer is not None and self.outer(node) is not None

    def _word_of_blocks(self, node: exp.Column) -> Expression | None:
        if node.name.lower() == SQLCODE and not is_double_quoted(node):
            return SqlCode()
        return self.body.argument_around(node.name)

    def _has_meaning(self, node: exp.Expr) -> bool:
        word = lone_word(node)
        if word is not None and self.body.argument(word.name) is not None:
            return True
        if super()._has_meaning(node):
            return True
        assert word is not None
        return self._word_of_blocks(word) is not None

    def _named(self, node: exp.Anonymous) -> Expression:
        name = node.name.lower()
        if (found := self.body.routine(name)) is not None:
            return self._one_column(node, found)
        if name == OLDEST:
            return self._oldest(node, None)
        return super()._named(node)

    def _filtered(self, node: exp.Filter) -> Expression:
        if isinstance(node.this, exp.Anonymous) and self.body.routine(str(node.this.this)):
            return self.bind(node.this)
        return super()._filtered(node)

    def _one_column(self, node: exp.Anonymous, called: Signature) -> Expression:
        """A call whose result is a value."""
        results = self.results(node, called)
        if len(results) > 1:
            names = [name for name, _ in called.returns]
            raise MillstreamError(
                f'aggregate "{called.name}" gives {len(names)} columns where one value must stand',
                name_place_of(node, self.text),
                hint=f"Name one of them: {called.name}(…).{names[0]}.",
            )
        return results[0]

    def results(self, node: exp.Anonymous, called: Signature) -> Sequence[Expression]:
        """The columns of what a call of an aggregate gives."""
        place = name_place_of(node, self.text)
        if called.is_function:
            raise MillstreamError(
                f'function "{called.name}" gives rows, not a value',
                place,
                hint=f"Write FROM TABLE({called.name}(…)) AS t.",
            )
        if self.collector is None:
            raise misplaced_call(called.name, self.clause).at(place)
        return self.collector.own(node, called, self)

    def _member(self, node: exp.Dot) -> Expression:
        """`f(x).column`, `oldest().column`."""
        call = node.this.this if isinstance(node.this, exp.Filter) else node.this
        named = call.name if isinstance(call, exp.Anonymous) else ""
        if (found := self.body.routine(named)) is not None:
            results = self.results(call, found)
            names = [name for name, _ in found.returns]
            at = self._column_of(node, names, f'the result of aggregate "{found.name}"')
            return results[at]
        if named.lower() == OLDEST:
            return self._oldest(call, node)
        raise MillstreamError(
            f'"{named or "this"}" gives one value, which has no columns',
            place_of(node.expression, self.text),
            hint="Leave the name behind the point out.",
        )

    def _oldest(self, call: exp.Anonymous, member: exp.Dot | None) -> Expression:
        """A column of the oldest tuple in the window."""
        place = name_place_of(call, self.text)
        if not self.body.is_window:
            raise MillstreamError(
                f"oldest() is for window aggregates, and {self.body} is none",
                place,
                hint=f"Write WINDOW AGGREGATE {self.body.name}, with TABLE inwindow(…).",
            )
        columns = self.body.inwindow
        if columns is None:
            raise MillstreamError(
                "oldest() needs the table inwindow, which is not declared",
                place,
                hint=f"Write TABLE inwindow({', '.join(n for n, _ in self.body.arguments)}).",
            )
        if call.expressions:
            raise MillstreamError("oldest() takes no arguments", place, hint="Write oldest().")
        names = [name for name, _ in columns]
        if member is None and len(columns) != 1:
            raise MillstreamError(
                f"oldest() has {len(columns)} columns where one value must stand",
                place,
                hint=f"Name one of them: oldest().{names[0]}." if names else None,
            )
        at = 0 if member is None else self._column_of(member, names, "inwindow")
        return Oldest(*columns[at])

    def _column_of(self, node: exp.Dot, names: list[str], owner: str) -> int:
        wanted = node.expression.name.lower()
        for at, name in enumerate(names):
            if name.lower() == wanted:
                return at
        raise MillstreamError(
            f'column "{node.expression.name}" does not exist in {owner}',
            self._place_of_member(node),
            hint=f"Write one of {', '.join(names)}.",
        )

    def _place_of_member(self, node: exp.Dot) -> Place | None:
        return place_of(node.expression, self.text) or place_of(node, self.text)
