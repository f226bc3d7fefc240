"""A golden file on the local host: its steps played one by one, with what came out of each."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pyarrow as pa

from millstream.algebra.reading import from_text
from millstream.algebra.time import Domain
from millstream.catalog import Stream
from millstream.connect.partitioned import PartitionedSource
from millstream.connect.source import ERRORS, Source
from millstream.database import Database
from millstream.engine.outputs import COMPLETE, STREAM, Query, late_schema, stamp_type
from millstream.engine.read_tasks import plan_read_tasks, ticks
from millstream.local.host import LocalHost
from millstream.testing import results
from millstream.testing.fed_source import FedPartitions, FedSource
from millstream.testing.golden_file import (
    Block,
    GoldenError,
    GoldenFile,
    Row,
    Target,
    partitions_of,
    split_row,
)
from millstream.testing.results import Shape
from millstream.testing.run import KeptResults

MORNING = "2024-01-01 00:00:00"
"""What the clock of a test shows before the file moves it."""

ResultRows = dict[str, list[Row]]
"""The rows of every result, by its name."""


@dataclass(frozen=True)
class Configuration:
    """A way to run a file that must not change what comes out.

    `together` feeds everything before the first batch, `restart` takes all state through the disk
    after every step, and goes on with these `strategies` in turn.
    """

    name: str
    settings: Mapping[str, str] = field(default_factory=dict)
    restart: bool = False
    together: bool = False
    strategies: tuple[str, ...] = ()


@dataclass
class Definitions:
    """The database that the files, scripts and queries of a golden file make."""

    database: Database
    printed: list[str]
    queries: dict[str, Query]

    @staticmethod
    def of(file: GoldenFile, folder: str, settings: Mapping[str, str] | None = None) -> Definitions:
        for block in file.of("file"):
            (Path(folder) / block.words).write_text(block.text + "\n", encoding="utf-8")
        printed: list[str] = []
        database = Database(base=folder, tell=printed.append)
        for name, value in (settings or {}).items():
            database.pin(name, value)
        queries = {}
        for block in file.of("script", "query"):
            if block.kind == "script":
                database.execute(block.text)
            else:
                queries[block.words] = database.query(block.text.rstrip("; \n"), block.words)
        return Definitions(database, printed, queries)

    def shapes(self) -> dict[str, Shape]:
        """All results there can be, by name."""
        found: dict[str, Shape] = {}
        for query in self.database.queries.values():
            if query.form == COMPLETE:
                found[query.name] = Shape(results.BAG, query.plan.schema)
                found[f"{query.name}.changes"] = Shape(results.TAGGED, query.result_schema)
            else:
                kind = results.STREAM if query.form == STREAM else results.TAGGED
                found[query.name] = Shape(kind, query.result_schema)
        for stream in self.database.streams.values():
            if stream.of is not None:
                continue
            layout = late_schema(stream.schema, stream.domain)
            found[f"{stream.name}.late"] = Shape(results.BAG, layout)
            found[f"{stream.name}.errors"] = Shape(results.BAG, ERRORS)
        return found


class Stage:
    """Plays the steps of a file under one configuration, and collects the results of each."""

    def __init__(self, file: GoldenFile, configuration: Configuration) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.file, self.configuration = file, configuration
        self.definitions = Definitions.of(file, self.folder.name, configuration.settings)
        database = self.definitions.database
        self.streams = database.streams
        fed = {block.words.split()[0].lower() for block in file.of("feed") if block.words}
        self.sources: dict[str, Source] = {
            s.name: database.open(s, follow=False) if is_given(s, fed) else _fed_source(s, file)
            for s in self.streams.values()
        }
        self.kept = KeptResults()
        stored = {q.name for q in database.queries.values() if q.form == COMPLETE}
        job = database.job(frozenset(name for name in stored if f"{name}.changes" in file.names))
        self.host = LocalHost(job, self.sources, [self.kept])
        self.saved = 0
        self.now = _instant(MORNING, Domain.TIMESTAMP, file.path)

    def close(self) -> None:
        self.folder.cleanup()

    def play(self, block: Block) -> None:
        """Carry out a step; what comes out is collected until it is asked for."""
        words = block.words.split()
        match block.kind:
            case "feed" if words:
                target = Target.of(block.words)
                self._move_clock(block, target.time)
                stream = self._stream(target.name, block)
                rows = [_row(line, stream, block) for line in block.body]
                self._fed(stream, block, target.partition).feed(rows)
            case "heartbeat" if len(words) > 1:
                stream = self._stream(words[0], block)
                instant = _instant(" ".join(words[1:]), stream.domain, block.place)
                self._fed(stream, block).promise(instant)
            case "clock":
                self._move_clock(block, block.words)
                self.host.step(ticks(self.streams, self.host.positions, self.now))
            case "restart":
                self._restart()
            case "end":
                for source in self.sources.values():
                    for part in _fed_parts(source).values():
                        part.closed = True
            case _:
                raise GoldenError(f"{block.place}: {block.kind} lacks something")
        if not self.configuration.together:
            self.drain()

    def drain(self) -> None:
        """Run batches until everything that was fed has been read."""
        rows = self.host.batch_rows
        while True:
            tasks, positions = plan_read_tasks(
                self.streams, self.sources, self.host.positions, rows, self.now
            )
            if not tasks:
                return
            self.host.step(tasks, positions)
            if self.configuration.restart:
                self._restart()

    def emitted(self) -> ResultRows:
        """The rows of all results since this was last asked, and the contents of stored ones."""
        shapes = self.definitions.shapes()
        tables = self.kept.tables()
        self.kept.parts.clear()
        rows = {name: results.rows_of(shapes[name], table) for name, table in tables.items()}
        for name in self.host.job.materialized_roots:
            rows[name] = results.rows_of(shapes[name], self.host.content(name))
        return rows

    def _restart(self) -> None:
        """Once for every batch: a state file is written once and not read while it is written."""
        if self.host.batches > self.saved:
            turns = self.configuration.strategies or (None,)
            turn = turns[self.host.batches % len(turns)]
            self.host = self.host.restarted(Path(self.folder.name) / "state", turn)
            self.saved = self.host.batches

    def _fed(self, stream: Stream, block: Block, partition: str | None = None) -> FedSource:
        source = _fed_parts(self.sources[stream.name]).get(partition)
        if source is None:
            raise GoldenError(f'{block.place}: "{stream.name}" is never fed so')
        return source

    def _stream(self, name: str, block: Block) -> Stream:
        for stream in self.streams.values():
            if stream.name.lower() == name.lower():
                return stream
        raise GoldenError(f'{block.place}: stream "{name}" does not exist')

    def _move_clock(self, block: Block, time: str) -> None:
        if time:
            self.now = _instant(time, Domain.TIMESTAMP, block.place)


def _fed_source(stream: Stream, file: GoldenFile) -> Source:
    """A source that the file feeds, in partitions if it does so."""
    names = partitions_of(file, stream.name)
    make = partial(FedSource, stream.name, stream.schema, stream.is_internal)
    if not names:
        return make()
    return PartitionedSource(stream.name, FedPartitions({name: make() for name in names}))


def _fed_parts(source: Source) -> dict[str | None, FedSource]:
    """What can be fed, by partition."""
    if isinstance(source, PartitionedSource) and isinstance(source.of, FedPartitions):
        return {name: part for name, part in source.of.parts.items()}
    return {None: source} if isinstance(source, FedSource) else {}


def is_given(stream: Stream, fed: set[str]) -> bool:
    """Whether the changes of a table come from its script, and not by being fed."""
    return (stream.op is not None or stream.of is not None) and stream.name.lower() not in fed


def _row(line: str, stream: Stream, block: Block) -> Row:
    row = split_row(line, block.place)
    if len(row) != len(stream.columns):
        raise GoldenError(
            f'{block.place}: stream "{stream.name}" has {len(stream.columns)} columns, '
            f"and the row {len(row)} cells: {line}"
        )
    return row


def _instant(text: str, domain: Domain, place: str) -> int:
    read = from_text(pa.array([text]), stamp_type(domain))
    if read.bad is not None:
        raise GoldenError(f'{place}: "{text}" is not an instant of the stream')
    value = read.values.cast(pa.int64())[0].as_py()
    return int(value)
