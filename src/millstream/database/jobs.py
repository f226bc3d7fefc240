"""From contents to a job: the streams there are, their sources, and the queries with their time."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.catalog import SIDES, Stream, Table
from millstream.connect.opening import open_stream
from millstream.connect.source import Source
from millstream.database.contents import Contents
from millstream.database.registry import timed
from millstream.engine.job import Job
from millstream.errors import Notice
from millstream.operators import StaticTable


def streams_of(contents: Contents) -> dict[str, Stream]:
    """The declared streams, and the modifications of tables that change."""
    found = {}
    for entry in contents.catalog.entries.values():
        stream = entry.changes if isinstance(entry, Table) else entry
        if isinstance(stream, Stream):
            found[entry.name] = contents.tables.placed(stream)
    for one in contents.queries.by_name.values():
        found |= one.streams_of_time
    return found


def sources_of(contents: Contents, follow: bool) -> dict[str, Source]:
    """The sources of all streams that have one."""
    streams = streams_of(contents).values()
    return {s.name: open_stream(s, follow) for s in streams if s.source is not None}


def empty_streams(contents: Contents) -> list[Notice]:
    """What to say of declared streams that nothing brings rows to."""
    return [
        Notice(
            f'stream "{entry.name}" has no SOURCE, and no INSERT fills it: it stays empty',
            f"Write SOURCE 'file.csv' in its declaration, or INSERT INTO {entry.name} SELECT ….",
        )
        for entry in contents.catalog.entries.values()
        if isinstance(entry, Stream) and entry.source is None and not entry.foreign
    ]


def job_of(contents: Contents, changes: frozenset[str], begun: Mapping[str, StaticTable]) -> Job:
    """What is registered, as one job. Streams that no query reads are in it, too: late and bad rows
    of every stream are part of the answer.

    `changes` names the stored results whose changes somebody wants to see; `begun` is what tables
    of databases held when the run began, by their digests.
    """
    streams = streams_of(contents)
    queries = tuple(
        timed(one.query, begun) if begun else one.timed for one in contents.queries.by_name.values()
    )
    return Job({**streams, **_sides(contents, streams)}, queries, contents.settings, changes)


def _sides(contents: Contents, streams: Mapping[str, Stream]) -> dict[str, Stream]:
    """The streams of late and bad rows that queries read."""
    read = {name for one in contents.queries.by_name.values() for name in one.scans}
    sides = [stream.side(kind) for stream in streams.values() for kind in SIDES]
    return {side.name: side for side in sides if side.name in read}
