"""The names a query can use: the columns of the entries of its FROM clause."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NoReturn

import pyarrow as pa
from sqlglot import exp

from millstream.algebra.expressions import Column
from millstream.bind.names.elements import Elements
from millstream.errors import MillstreamError, closest


@dataclass(frozen=True)
class Member:
    """One entry of FROM under its alias: (column, its name in the plan, type), in order."""

    alias: str
    columns: tuple[tuple[str, str, pa.DataType], ...]
    merged: frozenset[str] = frozenset()
    """Columns that USING made one with those of an earlier entry: found by alias only."""
    called: str = ""
    """The name behind the alias."""
    order: str = ""
    """The column that a stream is ordered by."""
    hidden: frozenset[str] = frozenset()
    """Columns, by names in lower case, that * leaves out; those of other entries hide them."""
    elements: Elements | None = None
    """Of a sequence: its elements. What is read of their tuples are columns by canonical names."""

    def shown(self, name: str) -> bool:
        return name.lower() not in self.merged


@dataclass(frozen=True)
class Scope:
    """The entries of one FROM clause. Names are found in any case."""

    members: tuple[Member, ...]
    using: tuple[tuple[str, Column], ...] = ()
    """Names in lower case that an outer join with USING made one, with the column that has the
    value of either side."""

    @property
    def plan_names(self) -> set[str]:
        return {plan for member in self.members for _, plan, _ in member.columns}

    def with_member(self, member: Member) -> Scope:
        if member.alias and any(m.alias.lower() == member.alias.lower() for m in self.members):
            raise MillstreamError(
                f'the name "{member.alias}" stands twice in FROM',
                hint="Give one of them another alias.",
            )
        return replace(self, members=(*self.members, member))

    def joined(self, other: Scope) -> Scope:
        """The names of both."""
        both = self
        for member in other.members:
            both = both.with_member(member)
        mine = {name for name, _ in self.using}
        return replace(both, using=(*self.using, *(u for u in other.using if u[0] not in mine)))

    def merging(self, columns: dict[str, Column]) -> Scope:
        """The scope in which these names, written alone, mean these columns."""
        kept = tuple(u for u in self.using if u[0] not in columns)
        return replace(self, using=(*kept, *columns.items()))

    def find(self, name: str, table: str | None = None) -> Column | None:
        """The column of that name, None if there is none; an error if there are several."""
        if not table and (merged := dict(self.using).get(name.lower())) is not None:
            return merged
        members = [self._member(table)] if table else list(self.members)
        there = [
            (member, Column(plan, kind))
            for member in members
            for column, plan, kind in member.columns
            if column.lower() == name.lower() and (table or member.shown(column))
        ]
        plain = [one for one in there if name.lower() not in one[0].hidden]
        found = [(member.alias, column) for member, column in plain or there]
        if len(found) > 1:
            raise _ambiguous(name, [alias for alias, _ in found])
        return found[0][1] if found else None

    def reference(self, node: exp.Expr) -> Column | None:
        """The column for what a node says of the tuples of a sequence; None if it is about
        something else."""
        for member in self.members:
            found = None if member.elements is None else member.elements.reference(node)
            if found is not None:
                there = {name: plan for name, plan, _ in member.columns}
                return Column(there.get(found.name, found.name), found.type)
        return None

    def is_about_elements(self, call: exp.Anonymous) -> bool:
        """Whether an argument of a call is about the tuples of a sequence."""
        found = (m.elements for m in self.members if m.elements is not None)
        return any(e.names_element(part) for e in found for part in call.walk())

    def too_many_parts(self, name: str) -> MillstreamError:
        """What to say about a name with more than one point in it."""
        hint = "Write alias.column."
        if any(m.elements is not None for m in self.members):
            hint = f"The tuple before one is called previous: write X.previous.{name}."
        return MillstreamError("a column has at most two parts", hint=hint)

    def resolve(self, name: str, table: str | None = None) -> Column:
        """The column of that name, or an error with the nearest name there is."""
        column = self.find(name, table)
        return column if column is not None else self._missing(name, table)

    def _missing(self, name: str, table: str | None) -> NoReturn:
        members = [self._member(table)] if table else list(self.members)
        for elements in (m.elements for m in members if m.elements is not None):
            if (error := elements.no_column(name)) is not None:
                raise error
        owners = " or ".join(f'"{m.alias}"' for m in members if m.alias)
        shown = (c for m in members for c, _, _ in m.columns if c.lower() not in m.hidden)
        names = list(dict.fromkeys(shown))
        other = next(
            (m.alias for m in self.members if name.lower() in (c.lower() for c, _, _ in m.columns)),
            None,
        )
        near = closest(name, names)
        if other is not None:
            hint = f'It is in "{other}": write {other}.{name}.'
        else:
            hint = f'Did you mean "{near}"?' if near else f"Write one of {_listed(names)}."
        raise MillstreamError(
            f'column "{name}" does not exist' + (f" in {owners}" if owners else ""), hint=hint
        )

    @property
    def ordered_by(self) -> tuple[str, pa.DataType] | None:
        """The column that the first stream is ordered by, or else the first column of time."""
        columns = [(m, name, kind) for m in self.members for name, _, kind in m.columns]
        ordered = [(n, kind) for m, n, kind in columns if m.order and n.lower() == m.order.lower()]
        times = [(n, kind) for _, n, kind in columns if pa.types.is_timestamp(kind)]
        return next(iter((*ordered, *times)), None)

    @property
    def names(self) -> list[str]:
        """All columns, as they are written."""
        return [c for m in self.members for c, _, _ in m.columns]

    def all_columns(self, table: str | None = None) -> list[tuple[str, Column]]:
        """The columns that * or alias.* stands for."""
        if table and self.member(table) is None and (found := self._all_of_element(table)):
            return found
        members = [self._member(table)] if table else list(self.members)
        merged = {} if table else dict(self.using)
        return [
            (c, merged.get(c.lower(), Column(plan, kind)))
            for m in members
            for c, plan, kind in m.columns
            if c.lower() not in m.hidden and (table or m.shown(c))
        ]

    def _all_of_element(self, name: str) -> list[tuple[str, Column]]:
        """The columns of an element of a sequence, for `X.*`."""
        every = (m.elements.all_of(name) for m in self.members if m.elements is not None)
        return [(column, Column(r.name, r.type)) for found in every for column, r in found]

    def member(self, alias: str) -> Member | None:
        """The entry of that alias."""
        return next((m for m in self.members if m.alias.lower() == alias.lower()), None)

    def no_member(self, alias: str, column: str) -> MillstreamError:
        """What to say about a name before a point that is not in FROM."""
        names = [m.alias for m in self.members if m.alias]
        for member in self.members:
            if member.called.lower() == alias.lower() and member.alias:
                hint = f'It is called "{member.alias}" here: write {member.alias}.{column}.'
                return MillstreamError(f'the name "{alias}" is not in FROM', hint=hint)
        whole = f"{alias}.{column}".lower()
        for path in (c for m in self.members for c, *_ in m.columns if c.lower() == whole):
            hint = f'Write "{path}": the column is called so, in double quotes.'
            return MillstreamError(f'the name "{alias}" is not in FROM', hint=hint)
        if any(c.lower() == alias.lower() for m in self.members for c, *_ in m.columns):
            hint = f'"{alias}" is a column: declare its field as "{whole}", in double quotes.'
            return MillstreamError(f'the name "{alias}" is not in FROM', hint=hint)
        names += [n for m in self.members if m.elements is not None for n in m.elements.names]
        near = closest(alias, names)
        known = f"Write one of {_listed(names)}." if names else f"Write {column} alone."
        return MillstreamError(
            f'the name "{alias}" is not in FROM', hint=f'Did you mean "{near}"?' if near else known
        )

    def _member(self, alias: str) -> Member:
        member = self.member(alias)
        if member is None:
            raise self.no_member(alias, "*")
        return member


def _ambiguous(name: str, owners: list[str]) -> MillstreamError:
    shown = " and in ".join(f'"{alias}"' if alias else "a subquery" for alias in owners)
    alias = next(filter(None, owners), None)
    hint = f"Say which one: {alias}.{name}." if alias else "Give the subqueries an alias."
    return MillstreamError(f'column "{name}" is in {shown}', hint=hint)


def is_known(scope: Scope, node: exp.Column) -> bool:
    """True when a name is a matter of the scope, also when it is a mistake there."""
    if any(m.elements is not None and m.elements.is_about(node) for m in scope.members):
        return True
    if node.table:
        return scope.member(node.table) is not None
    try:
        return scope.find(node.name) is not None
    except MillstreamError:
        return True


def not_found_in(scope: Scope, node: exp.Column) -> None:
    """Note where a name of a subquery was searched and not found, for messages."""
    node.meta["around"] = (*node.meta.get("around", ()), *scope.members)


def with_names_around(scope: Scope, node: exp.Column) -> Scope:
    """The names of a query, and those of the queries around it that do not have this one."""
    return replace(scope, members=(*scope.members, *node.meta.get("around", ())))


def _listed(names: list[str]) -> str:
    shown = ", ".join(f'"{n}"' for n in names[:8])
    return f"{shown} and {len(names) - 8} more" if len(names) > 8 else shown
