"""What names mean in the blocks of one routine: arguments, tables, and other routines."""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.algebra.expressions import Expression
from millstream.algebra.types import type_name
from millstream.blocks.leaves import Argument
from millstream.blocks.queries import Columns, Local
from millstream.blocks.routine import INWINDOW, RETURN, Routine
from millstream.catalog import Catalog
from millstream.connect.table import TableFiles
from millstream.errors import MillstreamError, Notice, closest


@dataclass(frozen=True)
class Signature:
    """A routine as those see it who call it; `key` is its name in `Routine.calls`."""

    key: str
    name: str
    arguments: Columns
    returns: Columns
    is_function: bool = False

    @property
    def kind(self) -> str:
        return "function" if self.is_function else "aggregate"

    @property
    def usage(self) -> str:
        """How it is called.

        >>> Signature("f", "f", (("x", __import__("pyarrow").int64()),), ()).usage
        'f(x bigint)'
        """
        return f"{self.name}({', '.join(f'{n} {type_name(k)}' for n, k in self.arguments)})"


@dataclass
class Shared:
    """What a routine and those inside it have in common while they are bound.

    `called` are the routines of the catalog that were called, by their keys; `own` the keys of
    routines of this definition that were called.
    """

    catalog: Catalog
    text: str
    files: TableFiles | None = None
    notices: list[Notice] = field(default_factory=list)
    called: dict[str, Routine] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)
    reads: dict[str, None] = field(default_factory=dict)
    """Names of the system that were read, in lower case."""

    def tell(self, message: str, hint: str | None = None) -> None:
        notice = Notice(message, hint)
        if notice not in self.notices:
            self.notices.append(notice)


@dataclass
class Body:
    """A routine while its blocks are bound; `tables` grows with the declarations.

    `me` is None for a window version, whose name means the base version inside it.
    """

    shared: Shared
    kind: str
    name: str
    key: str
    arguments: Columns
    returns: Columns
    is_window: bool = False
    me: Signature | None = None
    tables: dict[str, tuple[str, Columns]] = field(default_factory=dict)
    inner: dict[str, Signature] = field(default_factory=dict)
    outside: Body | None = None

    def __str__(self) -> str:
        return f'{self.kind} "{self.name}"'

    @property
    def inwindow(self) -> Columns | None:
        found = self.tables.get(INWINDOW)
        return None if found is None else found[1]

    def argument(self, name: str, depth: int = 0) -> Expression | None:
        """The argument of that name, of this routine."""
        for called, kind in self.arguments:
            if called.lower() == name.lower():
                return Argument(called, kind, depth)
        return None

    def argument_around(self, name: str) -> Expression | None:
        """The argument of that name of a routine around this one."""
        body, depth = self.outside, 1
        while body is not None:
            if (found := body.argument(name, depth)) is not None:
                return found
            body, depth = body.outside, depth + 1
        return None

    def table(self, name: str) -> tuple[Local, Columns] | None:
        """The local table of that name, here or around."""
        body: Body | None = self
        depth = 0
        while body is not None:
            if (found := body.tables.get(name.lower())) is not None:
                return Local(found[0], depth), found[1]
            body, depth = body.outside, depth + 1
        return None

    @property
    def table_names(self) -> list[str]:
        around = self.outside.table_names if self.outside is not None else []
        return [name for name, _ in self.tables.values()] + around

    def no_table(self, name: str) -> MillstreamError:
        """What to say about a name that no local table has."""
        near = closest(name, [*self.table_names, "RETURN"])
        listed = ", ".join(self.table_names)
        known = (
            f"Local tables are {listed}." if listed else f"Declare TABLE {name}(column type, …)."
        )
        return MillstreamError(
            f'{self} has no local table "{name}"', hint=f'Did you mean "{near}"?' if near else known
        )

    def no_window(self) -> MillstreamError:
        """What to say about `inwindow` where there is none."""
        named = f"TABLE inwindow({', '.join(name for name, _ in self.arguments)})"
        if self.is_window:
            return MillstreamError("the table inwindow is not declared", hint=f"Write {named}.")
        return MillstreamError(
            f"inwindow is for window aggregates, and {self} is none",
            hint=f"Write WINDOW AGGREGATE {self.name}, with {named}.",
        )

    def routine(self, name: str) -> Signature | None:
        """The routine that a name means here; None if it means none of one's own."""
        body: Body | None = self
        while body is not None:
            for found in (body.inner.get(name.lower()), body.me):
                if found is not None and found.name.lower() == name.lower():
                    self.shared.own.add(found.key)
                    return found
            body = body.outside
        versions = self.shared.catalog.versions(name)
        made = None if versions is None else versions.base or versions.function
        if made is None:
            return None
        key = made.name.lower()
        self.shared.called |= {**made.calls, key: made}
        self.shared.reads.setdefault(f"{key}()")
        return Signature(key, made.name, made.arguments, made.returns, made.is_function)


def is_return_name(name: str) -> bool:
    return name.lower() == RETURN
