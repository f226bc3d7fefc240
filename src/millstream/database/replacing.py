"""CREATE OR REPLACE: what reads a name is bound again, or the error names what does not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from millstream.bind.names.script_order import defined_name, kind_made, names_used
from millstream.catalog import Catalog, Entry, Reader, kind_of
from millstream.database.contents import Contents
from millstream.engine.outputs import Query
from millstream.errors import MillstreamError
from millstream.lang import Definition, InsertQuery, place_of


@dataclass(frozen=True)
class Waiting:
    """A reader that has to be bound again, what it read, and the statement that is the reason."""

    reader: Reader
    query: Query | None
    reads: tuple[str, ...]
    reason: Definition | InsertQuery


@dataclass
class Replacing:
    """The readers of replaced names, which wait until somebody needs them or the script ends.

    So one script can replace a view and what reads it, in any order. A reader that waits is noted
    nowhere as one, and cannot be read until `bind_again` has bound it.
    """

    contents: Contents
    bind_again: Callable[[Reader], None]
    waiting: dict[str, Waiting] = field(default_factory=dict)

    def there(self, statement: Definition) -> Entry | None:
        """What the name of a definition means until now, if the definition replaces it."""
        catalog, name = self.contents.catalog, statement.name
        if not statement.replaces:
            catalog.check_free(name, kind_made(statement))
        entry = catalog.entries.get(name.lower())
        if entry is not None and kind_of(entry) != kind_made(statement):
            kind = kind_of(entry)
            raise MillstreamError(
                f'"{entry.name}" is a {kind}, not a {kind_made(statement)}',
                hint=f'Write CREATE OR REPLACE {kind.upper()}, or DROP {kind.upper()} "{name}" '
                "first.",
            )
        return entry

    @property
    def names(self) -> Catalog:
        """What can be read: everything that does not wait."""
        return self.contents.catalog.without(self.waiting)

    def names_for(self, statement: Definition | InsertQuery) -> Catalog:
        """What the query of a definition may read: not itself, and nothing that waits for it."""
        catalog, used = self.contents.catalog, names_used(statement)
        readers = catalog.all_readers_of(defined_name(statement))
        for reader in (*readers, *self._waiting_for(statement)):
            if (node := used.get(reader.key)) is not None:
                raise MillstreamError(
                    f'{kind_made(statement)} "{statement.name}" cannot read {reader}, '
                    "which reads it",
                    place_of(node, statement.place.text),
                    hint=f"Let it read what {reader} does not depend on, or give it another name.",
                )
        self.settle(used)
        return catalog.without({*self.waiting, defined_name(statement)})

    def begin(self, statement: Definition | InsertQuery) -> None:
        """A name has another meaning: what reads it is to be bound again."""
        catalog, key = self.contents.catalog, defined_name(statement)
        self.waiting.pop(key, None)
        for reader in catalog.all_readers_of(key):
            name = reader.key
            query = self.contents.queries.find(name)
            self.waiting[name] = Waiting(reader, query, catalog.reads.get(name, ()), statement)
            catalog.forget_reads(name)

    def settle(self, names: Iterable[str] | None = None) -> None:
        """Bind again what waits, all of it or these names; each after what it reads."""
        for name in self._named(names) if self.waiting else ():
            one = self.waiting.pop(name, None)
            if one is not None and self.contents.queries.find(name) is one.query:
                self.settle(one.reads)
                self._bind(one)

    def _named(self, names: Iterable[str] | None) -> Iterable[str]:
        return self._all() if names is None else names

    def _all(self) -> list[str]:
        """Routines and tagged streams, then queries in the order in which they were registered."""
        routines = [key for key, one in self.waiting.items() if one.reader.is_routine]
        names = self.contents.queries.by_name
        tagged = [key for key, one in self.waiting.items() if one.query is None]
        return [*routines, *(key for key in tagged if key not in routines), *names]

    def _bind(self, one: Waiting) -> None:
        try:
            self.bind_again(one.reader)
        except MillstreamError as error:
            reason, reader = one.reason, one.reader
            again = f'Replace {reader.kind} "{reader.name}" in the same script, or write '
            raise MillstreamError(
                f'{kind_made(reason)} "{reason.name}" cannot be replaced: {reader} reads it, and '
                "does not fit",
                reason.name_place,
                detail=f"In {reader}: {error.message}.",
                hint=f"{again if reader.kind != 'query' else 'Write '}"
                f'DROP {reader.kind.upper()} "{reader.name}" first.',
            ) from None

    def _waiting_for(self, statement: Definition | InsertQuery) -> list[Reader]:
        """The readers that wait because of an earlier replacement, and read the name as well."""
        found, below = [], [defined_name(statement)]
        while below:
            at = below.pop()
            above = [w for w in self.waiting.values() if at in w.reads and w.reader not in found]
            found += [w.reader for w in above]
            below += [w.reader.key for w in above]
        return found
