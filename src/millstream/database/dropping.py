"""DROP: a name that is not used is removed; of one that is used, the error names the readers."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.catalog import (
    ROUTINES,
    Catalog,
    Entry,
    Filled,
    Reader,
    View,
    kind_of,
    routine_key,
    routine_kind,
)
from millstream.database.contents import Contents
from millstream.database.events import Event, NameDropped, QueryDropped
from millstream.engine.outputs import Query
from millstream.errors import MillstreamError, closest
from millstream.lang import Drop

MOST_NAMED = 50
"""Readers that a refusal names; the rest is counted."""


def drop(statement: Drop, contents: Contents) -> list[Event]:
    """Carry out a DROP; gives what is gone."""
    name, asked = statement.name, statement.kind
    if asked in ROUTINES:
        return _drop_routine(statement, contents)
    entry, query = contents.catalog.entries.get(name.lower()), contents.queries.find(name)
    if entry is not None:
        _check_kind(entry, asked)
        check_unused(entry, contents.catalog)
        return remove(entry, contents)
    if query is not None and asked == "query":
        return _remove_query(query, contents)
    if query is not None:
        raise _wrong_kind(query.name, "query", asked)
    if not statement.if_exists:
        raise _nothing_to_drop(asked, name, contents)
    return []


def _drop_routine(statement: Drop, contents: Contents) -> list[Event]:
    """DROP AGGREGATE takes both versions of a name, DROP WINDOW AGGREGATE the one for windows."""
    catalog, name = contents.catalog, statement.name
    kinds = {"aggregate": ("window aggregate", "aggregate")}.get(statement.kind, (statement.kind,))
    routines = [catalog.routine(routine_key(kind, name)) for kind in kinds]
    gone = [r for r in routines if r is not None and routine_kind(r) in kinds]
    if not gone and not statement.if_exists:
        near = closest(name, [versions.any.name for versions in catalog.routines.values()])
        exists = f"Leave it out, or write DROP {statement.kind.upper()} IF EXISTS."
        raise MillstreamError(
            f'{statement.kind} "{name}" does not exist',
            hint=f'Did you mean "{near}"?' if near else exists,
        )
    keys = [routine_key(routine_kind(routine), name) for routine in gone]
    for routine, key in zip(gone, keys):
        readers = [r for r in catalog.readers_of(key) if r.key not in keys]
        _check_unread(routine_kind(routine), routine.name, key, readers, catalog)
    for key in keys:
        catalog.drop_routine(key)
    return [NameDropped(routine_kind(routine), routine.name) for routine in gone]


def drop_named(name: str, contents: Contents) -> list[Event]:
    """Drop whatever has the name."""
    entry = contents.catalog.entries.get(name.lower())
    if entry is not None:
        check_unused(entry, contents.catalog)
        return remove(entry, contents)
    if (query := contents.queries.find(name)) is not None:
        return _remove_query(query, contents)
    raise _nothing_to_drop("query", name, contents)


def check_unused(entry: Entry, catalog: Catalog) -> None:
    """Law: a name is removed only when nothing reads it; an error names all its readers."""
    readers = catalog.readers_of(entry.name)
    _check_unread(kind_of(entry), entry.name, entry.name, readers, catalog)


def _check_unread(
    kind: str, name: str, key: str, readers: Sequence[Reader], catalog: Catalog
) -> None:
    if not readers:
        return
    named = [str(reader) for reader in readers[:MOST_NAMED]]
    more = [f"{len(readers) - MOST_NAMED:,} more"] if len(readers) > MOST_NAMED else []
    steps = [f'DROP {r.kind.upper()} "{r.name}"' for r in catalog.all_readers_of(key)]
    hint = f"Drop first what uses it: {', '.join(steps)}."
    raise MillstreamError(
        f'{kind} "{name}" is used by {_listed([*named, *more])}',
        hint=hint if len(steps) <= MOST_NAMED else "Drop first what uses it.",
    )


def remove(entry: Entry, contents: Contents) -> list[Event]:
    """Take a name out that nothing reads, with its query if it is one; what it read is free."""
    contents.catalog.drop(entry.name)
    gone: list[Event] = [NameDropped(kind_of(entry), entry.name)]
    if isinstance(entry, View) and (query := contents.queries.drop(entry.name)) is not None:
        gone.append(QueryDropped(query))
    if isinstance(entry, Filled) and (late := contents.queries.drop(f"{entry.name}.late")):
        gone.append(QueryDropped(late))
    return gone


def _remove_query(query: Query, contents: Contents) -> list[Event]:
    contents.queries.drop(query.name)
    contents.catalog.forget_reads(query.name)
    return [QueryDropped(query)]


def _check_kind(entry: Entry, asked: str) -> None:
    kind = kind_of(entry)
    allowed = {kind}
    if isinstance(entry, View):
        allowed |= {"query", "stream", "view"} if entry.plan.is_stream else {"query"}
    if asked not in allowed:
        raise _wrong_kind(entry.name, kind, asked)


def _wrong_kind(name: str, kind: str, asked: str) -> MillstreamError:
    return MillstreamError(
        f'"{name}" is a {kind}, not a {asked}', hint=f'Write DROP {kind.upper()} "{name}".'
    )


def _nothing_to_drop(kind: str, name: str, contents: Contents) -> MillstreamError:
    entries = [entry.name for entry in contents.catalog.entries.values()]
    near = closest(name, [*entries, *(query.name for query in contents.queries)])
    hint = (
        f'Did you mean "{near}"?'
        if near
        else f"Leave it out, or write DROP {kind.upper()} IF EXISTS."
    )
    return MillstreamError(f'{kind} "{name}" does not exist', hint=hint)


def _listed(words: list[str]) -> str:
    """
    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
