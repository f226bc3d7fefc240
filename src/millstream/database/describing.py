"""SHOW and DESCRIBE: what there is, as text."""

from __future__ import annotations

import pyarrow as pa

from millstream.algebra.types import type_name
from millstream.catalog import STATEMENTS, Entry, Stream, Table, View, kind_of
from millstream.database.contents import Contents


def shown(what: str | None, contents: Contents) -> str:
    """The streams, tables, views, queries and settings, or those of one kind."""
    lines = []
    for kind in ("streams", "tables", "views"):
        if what in (None, kind):
            lines += [
                f"{kind_of(entry)} {entry.name}"
                for entry in contents.catalog.entries.values()
                if kind_of(entry) + "s" == kind
            ]
    if what in (None, "queries"):
        lines += [f"query {q.name} ({q.form}): {q.text}" for q in contents.queries]
    if what in (None, "settings"):
        lines += [f"setting {k} = {v}" for k, v in vars(contents.settings).items()]
    return "\n".join(lines) or "nothing yet"


def described(entry: Entry) -> str:
    """The columns of a stream, table or view, and what is known of its time."""
    schema = entry.plan.schema if isinstance(entry, View) else pa.schema(list(entry.columns))
    width = max((len(f.name) for f in schema), default=0)
    lines = [f"{kind_of(entry)} {entry.name}"]
    lines += [f"  {f.name:<{width}}  {type_name(f.type)}" for f in schema]
    match entry:
        case Stream():
            order = "arrival" if entry.order_by is None else entry.order_by
            order += f" in {entry.unit}s" if entry.unit else ""
            lines.append(f"  ordered by {order}; counts {entry.domain.words}")
            lines += [f"  slack {entry.slack}"] if entry.slack else []
            lines += [f"  source {entry.source}"] if entry.source else []
        case Table():
            lines += [f"  {line}" for line in _about_table(entry)]
        case View():
            key = "none" if entry.plan.key is None else ", ".join(entry.plan.key) or "one row"
            lines += [f"  {entry.kind}; key: {key}", f"  {entry.text}"]
    if isinstance(entry, (Stream, Table)) and entry.inferred is not None:
        lines.append(f"  inferred: {entry.inferred}")
    return "\n".join(lines)


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
