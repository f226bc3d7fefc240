"""The order of a script: definitions before the statements that use them, wherever they stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from sqlglot import exp

from millstream.catalog import ROUTINES, routine_key
from millstream.errors import MillstreamError
from millstream.lang import (
    CreateForeignAggregate,
    CreateRoutine,
    CreateStreamOver,
    CreateTable,
    CreateView,
    Definition,
    Describe,
    Explain,
    ExplainRoutine,
    InsertQuery,
    Modification,
    Statement,
    place_of,
)
from millstream.lang.statements import Named

AGGREGATE, _, WINDOW_AGGREGATE = ROUTINES


def script_order(statements: tuple[Statement, ...], known: Callable[[str], bool]) -> list[int]:
    """The numbers of the statements in the order in which they can be carried out.

    A definition moves up to the first statement that uses its name, if nothing before has that
    name, or if it replaces what has it; the modifications of a table come right after it. All else
    stays as it is written. `known` tells of names, in lower case, whether they exist already.
    Routines have keys for names (`catalog.routine_key`).
    """
    return _Order(statements, known).sorted()


@dataclass
class _Order:
    statements: tuple[Statement, ...]
    known: Callable[[str], bool]
    done: dict[int, None] = field(default_factory=dict)
    under_way: dict[int, exp.Expr | None] = field(default_factory=dict)

    def sorted(self) -> list[int]:
        for at in range(len(self.statements)):
            self._place(at, None)
        return list(self.done)

    def _place(self, at: int, used: exp.Expr | None) -> None:
        """Put a statement after those it needs. `used` is where it was asked for."""
        if at in self.done:
            return
        if at in self.under_way:
            raise self._circle(at)
        self.under_way[at] = used
        for name, node in names_used(self.statements[at]).items():
            if (needed := self._definition(name, at)) is not None:
                self._place(needed, node)
            for fill in self._fills.get(name, ()):
                if self._owner(fill) == self._meant(name, at):
                    self._place(fill, node)
        if (owner := self._owner(at)) is not None:
            self._place(owner, None)
        del self.under_way[at]
        self.done |= dict.fromkeys([at, *self._modifications.get(at, ())])

    def _definition(self, name: str, at: int) -> int | None:
        """The definition of a name that is still to be carried out."""
        nearest = self._meant(name, at)
        return None if nearest in self.done else nearest

    def _meant(self, name: str, at: int) -> int | None:
        """The definition of a name in this script: the nearest before, or the first after."""
        places = self._defined.get(name, [])
        if self.known(name):
            places = [place for place in places if self._replaces(place)]
        before = [place for place in places if place < at]
        if not places:
            return None
        return before[-1] if before else places[0]

    def _replaces(self, at: int) -> bool:
        statement = self.statements[at]
        return isinstance(statement, Definition) and statement.replaces

    def _owner(self, at: int) -> int | None:
        """The definition of the table that a statement modifies, or of the stream it fills."""
        statement = self.statements[at]
        if not isinstance(statement, Modification | InsertQuery):
            return None
        name = statement.name.lower()
        places = self._defined.get(name, ())
        before = [place for place in places if place < at]
        if before:
            return before[-1]
        return places[0] if places and not self.known(name) else None

    @cached_property
    def _defined(self) -> dict[str, list[int]]:
        """Where every name is defined."""
        found: dict[str, list[int]] = {}
        for at, statement in enumerate(self.statements):
            if isinstance(statement, Definition):
                found.setdefault(defined_name(statement), []).append(at)
        return found

    @cached_property
    def _modifications(self) -> dict[int, list[int]]:
        """The modifications of every table, by the place of its definition."""
        found: dict[int, list[int]] = {}
        for at in range(len(self.statements)):
            if isinstance(self.statements[at], InsertQuery):
                continue
            if (owner := self._owner(at)) is not None:
                found.setdefault(owner, []).append(at)
        return found

    @cached_property
    def _fills(self) -> dict[str, list[int]]:
        """The queries that fill every stream: whoever reads it comes after all of them."""
        found: dict[str, list[int]] = {}
        for at, statement in enumerate(self.statements):
            if isinstance(statement, InsertQuery):
                found.setdefault(statement.name.lower(), []).append(at)
        return found

    def _circle(self, at: int) -> MillstreamError:
        """Definitions that use each other, none of which can be first."""
        way = list(self.under_way)
        circle = [self.statements[other] for other in way[way.index(at) :]]
        names = [f'{kind_made(s)} "{s.name}"' for s in circle if isinstance(s, Named)]
        following = way[way.index(at) + 1 :] or [at]
        node = names_used(circle[0]).get(self._name_of(following[0]))
        message, detail = f"{names[0]} is defined by itself", None
        if len(names) > 1:
            message = f"{', '.join(names[:-1])} and {names[-1]} are defined by each other"
            users = [
                f"{name} (line {s.place.line}) uses {names[(i + 1) % len(names)]}"
                for i, (name, s) in enumerate(zip(names, circle))
            ]
            detail = ", ".join(users) + "."
            detail = detail[0].upper() + detail[1:]
        return MillstreamError(
            message,
            place_of(node, circle[0].place.text) if node is not None else None,
            detail=detail,
            hint="Let it use what comes before it only, or give it another name.",
        )

    def _name_of(self, at: int) -> str:
        statement = self.statements[at]
        return defined_name(statement) if isinstance(statement, Definition | InsertQuery) else ""


def kind_made(statement: Statement) -> str:
    """What a definition makes."""
    if isinstance(statement, CreateTable):
        return "table"
    if isinstance(statement, CreateRoutine | CreateForeignAggregate):
        return "window aggregate" if statement.is_window else getattr(statement, "kind", AGGREGATE)
    return "view" if isinstance(statement, CreateView) else "stream"


def defined_name(statement: Definition | InsertQuery) -> str:
    """The name that a definition gives a meaning, in lower case; of a routine its key."""
    kind = kind_made(statement)
    return routine_key(kind, statement.name) if kind in ROUTINES else statement.name.lower()


def names_used(statement: Statement) -> dict[str, exp.Expr]:
    """The names in lower case that the query of a statement reads, with a place of each."""
    if isinstance(statement, CreateRoutine):
        return _used_by_routine(statement)
    if isinstance(statement, CreateStreamOver):
        name = exp.to_identifier(statement.over)
        name.meta["span"] = statement.over_place.start, statement.over_place.end
        return {statement.over.lower(): name}
    if isinstance(statement, ExplainRoutine):
        name = exp.to_identifier(statement.name)
        return {routine_key(kind, statement.name): name for kind in (AGGREGATE, WINDOW_AGGREGATE)}
    query = getattr(statement, "query", None)
    if query is None:
        asked = isinstance(statement, (Describe, Explain)) and statement.name
        return {asked.lower(): exp.to_identifier(asked)} if asked else {}
    return _used_by_query(query)


def _used_by_query(query: exp.Expr) -> dict[str, exp.Expr]:
    own = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    found: dict[str, exp.Expr] = {}
    for table in query.find_all(exp.Table):
        name = (table.db or table.name).lower()
        if name not in own:
            found.setdefault(name, table)
    for call in query.find_all(exp.Anonymous):
        for kind in (AGGREGATE, WINDOW_AGGREGATE):
            found.setdefault(routine_key(kind, call.name), call)
    return found


def _used_by_routine(statement: CreateRoutine) -> dict[str, exp.Expr]:
    """What is read around a definition: neither what is in it, nor a base version by itself."""
    found: dict[str, exp.Expr] = {}
    for tree in statement.trees:
        found = {**_used_by_query(tree), **found}
    own = {defined_name(statement)}
    parts = [statement]
    while parts:
        part = parts.pop()
        own |= {table.name.lower() for table in part.tables}
        own |= {defined_name(inner) for inner in part.inner}
        parts += part.inner
    calls = {name: node for name, node in found.items() if not name.endswith(" over")}
    return {name: node for name, node in calls.items() if name not in own}
