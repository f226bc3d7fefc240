"""Reading again: what a query that joins needs of rows that the job has read before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from millstream.algebra.time import DAWN
from millstream.catalog import Stream
from millstream.connect.partitioned import PartitionedSource
from millstream.connect.source import Slice, Source
from millstream.engine.beginning import Beginning
from millstream.engine.read_tasks import ReadTask, tasks_of
from millstream.engine.trail import Mark, Trail, mark_before
from millstream.errors import MillstreamError

AT_ONCE = 1_000_000
"""The most rows of a slice that is planned again."""


@dataclass(frozen=True)
class Rereading:
    """What is read once more in the batch in which queries open, for these queries alone.

    `tasks` are read tasks, each with the mark from which its slices were planned; `floors` says for
    every query and stream after which instant rows count, if not all of them do.
    """

    tasks: tuple[tuple[ReadTask, Mark], ...] = ()
    floors: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


class NotThere(Exception):
    """The past of a source is not what it was: files have gone, or hold something else."""

    def __init__(self, stream: str = "") -> None:
        super().__init__(stream)
        self.stream = stream


def reread(
    beginnings: Mapping[str, Beginning],
    streams: Mapping[str, Stream],
    sources: Mapping[str, Source],
    trail: Trail,
) -> Rereading:
    """What has to be read again for queries that begin so. NotThere if it cannot be."""
    since: dict[str, int] = {}
    for beginning in beginnings.values():
        for name, instant in beginning.since.items():
            since[name] = min(since.get(name, instant), instant)
    tasks: list[tuple[ReadTask, Mark]] = []
    for name, instant in since.items():
        if name not in sources:
            raise NotThere(name)
        tasks += _tasks(streams[name], sources[name], trail.get(name, ()), instant)
    return Rereading(tuple(tasks), {name: one.floors for name, one in beginnings.items()})


def _tasks(
    stream: Stream, source: Source, marks: tuple[Mark, ...], since: int
) -> list[tuple[ReadTask, Mark]]:
    """Read tasks for all rows of a stream that have been read so far, from one with an instant
    `since` on at the latest."""
    mark = mark_before(marks, since) if since > DAWN else next(iter(marks), None)
    if mark is None:
        raise NotThere(stream.name)
    try:
        slices = list(_slices(source, mark, marks[-1]))
    except (OSError, MillstreamError, NotThere) as error:
        raise NotThere(stream.name) from error
    return [(task, mark) for task in tasks_of(stream, source, slices, False, 0)]


def _slices(source: Source, mark: Mark, now: Mark) -> Iterator[Slice]:
    if not isinstance(source, PartitionedSource):
        yield from _between(source, mark.at, now.at, _rows(mark, now, ""))
        return
    known = mark.at["partitions"]
    for name, part in now.at["partitions"].items():
        one = source.source(name)
        start = known[name]["at"] if name in known else one.start()
        for slice_ in _between(one, start, part["at"], _rows(mark, now, name)):
            yield replace(slice_, partition=name, number=part["number"])


def _rows(mark: Mark, now: Mark, partition: str) -> int:
    return now.rows.get(partition, 0) - mark.rows.get(partition, 0)


def _between(source: Source, position: Any, now: Any, rows: int) -> Iterator[Slice]:
    """Slices of so many rows from a position on.

    What comes after them must be what comes after the position `now`: otherwise rows have gone.
    """
    while rows > 0:
        slices, position, _ = source.plan(position, min(rows, AT_ONCE))
        planned = sum(slice_.length for slice_ in slices)
        if not slices or planned > rows:
            raise NotThere
        rows -= planned
        yield from slices
    if source.plan(position, 1)[0] != source.plan(now, 1)[0]:
        raise NotThere
