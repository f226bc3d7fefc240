"""SHOW and DESCRIBE: what there is, as text."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from millstream.algebra.types import type_name
from millstream.bind.relations.clock_column import shown_columns
from millstream.bind.relations.times import domain_of
from millstream.catalog import (
    STATEMENTS,
    Catalog,
    Entry,
    Fields,
    Filled,
    Stream,
    Table,
    TaggedStream,
    View,
    kind_of,
    routine_kind,
)
from millstream.database.contents import Contents
from millstream.database.reference import is_like, lines_of, listed, looked_up, usage_of

FUNCTIONS = {"functions": None, "aggregates": "aggregate"}
"""The lists that are of the language: for each the kind of its entries, None for all."""


def shown(what: str | None, like: str | None, contents: Contents) -> str:
    """What statements have made, or the entries of one list, whose names are like a pattern."""
    if what in FUNCTIONS:
        own = _routines(what, contents.catalog)
        found = [line for name, line in own if like is None or is_like([name], like)]
        both = [*found, *lines_of(FUNCTIONS[what], like)]
        return "\n".join(both) or listed(FUNCTIONS[what], like)
    made = [pair for pair in _made(what, contents) if like is None or is_like([pair[0]], like)]
    return "\n".join(line for _, line in made) or "nothing yet"


def _made(what: str | None, contents: Contents) -> Iterator[tuple[str, str]]:
    """The names of streams, tables, views, queries and settings, each with a line about it."""
    for kind in ("streams", "tables", "views"):
        if what in (None, kind):
            for entry in contents.catalog.entries.values():
                if kind_of(entry) + "s" == kind:
                    yield entry.name, f"{kind_of(entry)} {entry.name}"
    if what is None:
        yield from _routines("functions", contents.catalog)
    if what in (None, "queries"):
        for query in contents.queries:
            yield query.name, f"query {query.name} ({query.form}): {query.text}"
    if what in (None, "settings"):
        for name, value in contents.settings.shown().items():
            yield name, f"setting {name} = {value}"


def _routines(what: str, catalog: Catalog) -> Iterator[tuple[str, str]]:
    """The names of aggregates and table functions that scripts have defined, each with a line."""
    for versions in catalog.routines.values():
        for routine in (versions.base, versions.window, versions.function):
            if routine is not None and (what == "functions" or not routine.is_function):
                yield routine.name, f"{routine_kind(routine)} {usage_of(routine)}"


def described_name(name: str, catalog: Catalog) -> str:
    """What is known of a stream, table or view, or else of the routine of a name."""
    if name.lower() not in catalog.entries and catalog.versions(name) is not None:
        return _described_routine(name, catalog)
    return described(catalog.find(name))


def described_function(name: str, catalog: Catalog) -> str:
    """What is told of a function: one that a script has defined hides a built-in one."""
    own = name.lower() in catalog.routines
    return _described_routine(name, catalog) if own else looked_up(name)


def _described_routine(name: str, catalog: Catalog) -> str:
    versions = catalog.versions(name)
    assert versions is not None
    lines = []
    for routine in (versions.base, versions.window, versions.function):
        if routine is not None:
            blocking = "blocking" if routine.is_blocking else "not blocking"
            about = [] if routine.is_window or routine.is_function else [f"  {blocking}"]
            about += ["  algebraic"] if routine.is_algebraic else []
            lines += [f"{routine_kind(routine)} {usage_of(routine)}", *about, f"  {routine.text}"]
    return "\n".join(lines)


def _columns(entry: Stream | Table) -> Fields:
    return shown_columns(entry) if isinstance(entry, Stream) else entry.columns


def described(entry: Entry) -> str:
    """The columns of a stream, table or view, and what is known of its time."""
    schema = entry.plan.schema if isinstance(entry, View) else pa.schema(list(_columns(entry)))
    width = max((len(f.name) for f in schema), default=0)
    lines = [f"{kind_of(entry)} {entry.name}"]
    lines += [f"  {f.name:<{width}}  {type_name(f.type)}" for f in schema]
    match entry:
        case Stream():
            lines.append(f"  ordered by {_order(entry)}; counts {entry.domain.words}")
            lines += [f"  slack {entry.slack}"] if entry.slack else []
            lines += [f"  source {entry.source}"] if entry.source else []
            lines += [f"  {entry.raw_op} says what each element does"] if entry.raw_op else []
        case Table():
            lines += [f"  {line}" for line in _about_table(entry)]
        case Filled():
            domain = domain_of(entry.plan)
            timed = entry.declared.order_by in schema.names
            order = _order(entry.declared) if timed else "the time of the rows put in"
            lines.append(f"  ordered by {order}; counts {domain.words}")
            lines += [f"  {put.text}" for put in entry.puts]
        case TaggedStream():
            key = "none" if entry.keys is None else ", ".join(entry.keys)
            lines += [f"  tagged; key: {key}", f"  {entry.text}"]
        case View():
            key = "none" if entry.plan.key is None else ", ".join(entry.plan.key) or "one row"
            lines += [f"  {entry.kind}; key: {key}", f"  {entry.text}"]
    if isinstance(entry, (Stream, Table)) and entry.inferred is not None:
        lines.append(f"  inferred: {entry.inferred}")
    return "\n".join(lines)


def _order(stream: Stream) -> str:
    order = "arrival" if stream.order_by is None else stream.order_by
    return order + (f" in {stream.unit}s" if stream.unit else "")


def _about_table(table: Table) -> list[str]:
    """What is known of a table, but never how to get into its database."""
    stream, rows = table.changes, table.content.rows.num_rows
    lines = [f"key: {', '.join(table.key)}"] if table.key else []
    if stream is None:
        return [*lines, f"{rows} rows"]
    lines += ["non retroactive"] if table.non_retroactive else []
    lines += [f"{rows} rows at the beginning"] if rows else []
    if table.every is not None:
        return [*lines, f"read again every {table.every / 1_000_000:g} seconds"]
    by = "statements" if stream.source == STATEMENTS else f"source {stream.source}"
    lines.append(f"changed by {by}; counts {stream.domain.words}")
    return [*lines, f"slack {stream.slack}"] if stream.slack else lines
