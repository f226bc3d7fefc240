"""What a join asks of a pair of rows: ON, USING and NATURAL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sqlglot import exp

from millstream.algebra.expressions import Call, Expression, conjuncts
from millstream.algebra.types import BOOLEAN, common_type
from millstream.bind.expressions.constants import coerce
from millstream.bind.expressions.messages import a
from millstream.bind.expressions.scalars import Expressions
from millstream.bind.names.scope import Scope
from millstream.bind.names.trees import and_parts, has_query
from millstream.bind.names.words import find_word
from millstream.bind.relations.entries import Entry
from millstream.blocks.versions import Known
from millstream.errors import MillstreamError, Notice, Place
from millstream.lang import name_place_of, place_of


@dataclass(frozen=True)
class On:
    """What a join asks of a pair: conditions, those with subqueries as they are written, and the
    names of columns that it makes one."""

    conditions: tuple[Expression, ...] = ()
    later: tuple[exp.Expr, ...] = ()
    using: tuple[str, ...] = ()


@dataclass(frozen=True)
class JoinConditions:
    """Binds the condition of a join over the names of both sides; errors point into `text`."""

    text: str
    notices: list[Notice] = field(default_factory=list)
    routines: Known = field(default_factory=Known)
    now: Callable[[], Expression] | None = None

    def between(
        self, join: exp.Join, left: Scope, right: Scope, entry: Entry, kind: str
    ) -> tuple[Scope, On]:
        """The names of both sides, and what the join asks of a pair."""
        using = join.args.get("using")
        if using and join.method == "NATURAL":
            raise MillstreamError(
                "NATURAL JOIN takes no USING: it joins by all columns of one name",
                place_of(using[0], self.text),
                hint="Leave one of the two out.",
            )
        condition = using[0] if using else join.args.get("on")
        if join.kind == "CROSS" and condition is not None:
            raise MillstreamError(
                "CROSS JOIN takes no condition: it pairs every row with every other",
                place_of(condition, self.text),
                hint="Leave CROSS out, or move the condition to WHERE.",
            )
        using = using or self._natural(join, left, right, entry)
        if using:
            same = tuple(self._same(node, left, right, entry) for node in using)
            names = tuple(node.name.lower() for node in using)
            hidden = tuple(replace(m, merged=m.merged | frozenset(names)) for m in right.members)
            rest = tuple(merged for merged in right.using if merged[0] not in names)
            merged = Scope(hidden, rest)
            return self._both(left, merged, entry), On(same, (), names)
        scope = self._both(left, right, entry)
        node = join.args.get("on")
        if node is None:
            return scope, On()
        binder = Expressions(
            scope, self.text, "ON", notices=self.notices, routines=self.routines, now=self.now
        )
        if not has_query(node):
            return scope, On(tuple(conjuncts(binder.condition(node, "ON"))))
        parts = and_parts(node)
        later = tuple(part for part in parts if has_query(part))
        if kind != "inner":
            raise MillstreamError(
                f"a subquery cannot stand in ON of {kind.upper()} JOIN",
                place_of(later[0], self.text),
                hint="Join with a subquery in FROM instead, or move the condition to WHERE.",
            )
        plain = [binder.condition(part, "ON") for part in parts if not has_query(part)]
        return scope, On(tuple(c for p in plain for c in conjuncts(p)), later)

    def _both(self, left: Scope, right: Scope, entry: Entry) -> Scope:
        try:
            return left.joined(right)
        except MillstreamError as error:
            raise error.at(place_of(entry.node, self.text)) from None

    def _natural(
        self, join: exp.Join, left: Scope, right: Scope, entry: Entry
    ) -> list[exp.Identifier]:
        """The columns that NATURAL JOIN stands for: those of one name."""
        if join.method != "NATURAL":
            return []
        if (on := join.args.get("on")) is not None:
            raise MillstreamError(
                "NATURAL JOIN takes no ON: it joins by all columns of one name",
                place_of(on, self.text),
                hint="Leave NATURAL out, or move the condition to WHERE.",
            )
        mine = {name.lower() for name, _ in left.all_columns()}
        shared = [name for name, _ in right.all_columns() if name.lower() in mine]
        if not shared:
            raise MillstreamError(
                f"NATURAL JOIN finds no column that {entry.described} shares with the "
                "entries before it",
                self.word("NATURAL", entry),
                hint="Write JOIN … ON with a condition, or CROSS JOIN.",
            )
        return [exp.to_identifier(name) for name in shared]

    def _same(self, name: exp.Expr, left: Scope, right: Scope, entry: Entry) -> Expression:
        """Equality of two columns of one name, whatever their types are."""
        try:
            mine, theirs = left.resolve(name.name), right.resolve(name.name)
        except MillstreamError as error:
            raise error.at(name_place_of(name, self.text)) from None
        kind = common_type(mine.type, theirs.type)
        if kind is None:
            where = right.members[0].alias or entry.described
            raise MillstreamError(
                f'column "{name.name}" is {a(mine.type)} here and {a(theirs.type)} in "{where}"',
                name_place_of(name, self.text) or place_of(entry.node, self.text),
                hint="Write ON with a CAST.",
            )
        return Call("=", (coerce(mine, kind), coerce(theirs, kind)), BOOLEAN)

    def word(self, word: str, entry: Entry) -> Place | None:
        """The last place of a keyword before an entry."""
        place = place_of(entry.node, self.text)
        found = find_word(word, self.text, place.start, backwards=True) if place else None
        return found or place
