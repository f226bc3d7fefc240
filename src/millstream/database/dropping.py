"""DROP: a name that is not used is removed; of one that is used, the error names the readers."""

from __future__ import annotations

from millstream.catalog import Catalog, Entry, View, kind_of
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
    if not readers:
        return
    named = [str(reader) for reader in readers[:MOST_NAMED]]
    more = [f"{len(readers) - MOST_NAMED:,} more"] if len(readers) > MOST_NAMED else []
    steps = [f'DROP {r.kind.upper()} "{r.name}"' for r in catalog.all_readers_of(entry.name)]
    hint = f"Drop first what uses it: {', '.join(steps)}."
    raise MillstreamError(
        f'{kind_of(entry)} "{entry.name}" is used by {_listed([*named, *more])}',
        hint=hint if len(steps) <= MOST_NAMED else "Drop first what uses it.",
    )


def remove(entry: Entry, contents: Contents) -> list[Event]:
    """Take a name out that nothing reads, with its query if it is one; what it read is free."""
    contents.catalog.drop(entry.name)
    gone: list[Event] = [NameDropped(kind_of(entry), entry.name)]
    if isinstance(entry, View) and (query := contents.queries.drop(entry.name)) is not None:
        gone.append(QueryDropped(query))
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
