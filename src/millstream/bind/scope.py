"""The names a query can use: the columns of what stands in its FROM clause."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from millstream.algebra.expressions import Column
from millstream.errors import MillstreamError, closest


@dataclass(frozen=True)
class Member:
    """One entry of FROM under its alias: (column, its name in the plan, type), in order."""

    alias: str
    columns: tuple[tuple[str, str, pa.DataType], ...]


@dataclass(frozen=True)
class Scope:
    """The entries of one FROM clause. Names are found in any case."""

    members: tuple[Member, ...]

    @property
    def plan_names(self) -> set[str]:
        return {plan for member in self.members for _, plan, _ in member.columns}

    def with_member(self, member: Member) -> Scope:
        if any(m.alias.lower() == member.alias.lower() for m in self.members):
            raise MillstreamError(
                f'the name "{member.alias}" stands twice in FROM',
                hint="Give one of them another alias.",
            )
        return Scope((*self.members, member))

    def find(self, name: str, table: str | None = None) -> Column | None:
        """The column of that name, None if there is none; an error if there are several."""
        members = [self._member(table)] if table else list(self.members)
        found = [
            (member.alias, Column(plan, kind))
            for member in members
            for column, plan, kind in member.columns
            if column.lower() == name.lower()
        ]
        if len(found) > 1:
            owners = " and ".join(f'"{alias}"' for alias, _ in found)
            raise MillstreamError(
                f'column "{name}" is in {owners}',
                hint=f"Say which one: {found[0][0]}.{name}.",
            )
        return found[0][1] if found else None

    def resolve(self, name: str, table: str | None = None) -> Column:
        """The column of that name, or an error with the nearest name there is."""
        column = self.find(name, table)
        if column is None:
            where = f' in "{table}"' if table else ""
            names = [c for m in self.members if not table or m.alias.lower() == table.lower()
                     for c, _, _ in m.columns]
            near = closest(name, names)
            hint = f'Did you mean "{near}"?' if near else f"There are {_listed(names)}."
            raise MillstreamError(f'column "{name}" does not exist{where}', hint=hint)
        return column

    def all_columns(self, table: str | None = None) -> list[tuple[str, Column]]:
        """The columns that * or alias.* stands for."""
        members = [self._member(table)] if table else list(self.members)
        return [(c, Column(plan, kind)) for m in members for c, plan, kind in m.columns]

    def _member(self, alias: str) -> Member:
        for member in self.members:
            if member.alias.lower() == alias.lower():
                return member
        near = closest(alias, [m.alias for m in self.members])
        names = _listed([m.alias for m in self.members])
        raise MillstreamError(
            f'"{alias}" is not in FROM',
            hint=f'Did you mean "{near}"?' if near else f"FROM has {names}.",
        )


def _listed(names: list[str]) -> str:
    shown = ", ".join(f'"{n}"' for n in names[:8])
    return f"{shown} and {len(names) - 8} more" if len(names) > 8 else shown
