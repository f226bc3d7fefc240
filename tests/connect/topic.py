"""A connector as a topic of a message broker would be one: partitions, offsets with gaps.

`TOPICS` holds what was published. An offset is taken by a marker, too, which is no row, so nobody
knows how many rows there are between two offsets before they are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.catalog import Stream
from millstream.connect import Connector, Option, Options, PartitionedSource, ReadBatch, Slice
from millstream.connect.options import whole
from millstream.connect.source import error_rows

Log = list[tuple[int, tuple | None]]
"""Offsets, with a row or a marker."""

TOPICS: dict[str, dict[str, Log]] = {}
OPTIONS = Options(
    "a topic",
    (Option("first", whole(0), "the offset to begin with", "100", "0"),),
)


@dataclass(frozen=True)
class TopicPartition:
    """One partition: a slice is a range of offsets."""

    stream: Stream
    log: Log
    first: int
    follow: bool

    def start(self) -> dict[str, Any]:
        return {"offset": self.first}

    def plan(self, position: dict[str, Any], rows: int) -> tuple[list[Slice], dict[str, Any], bool]:
        low, end = position["offset"], max((offset for offset, _ in self.log), default=-1) + 1
        if low >= end:
            return [], position, not self.follow
        high = min(low + rows, end)
        piece = Slice(self.stream.name, {"low": low, "high": high}, low + 1, None)
        return [piece], {"offset": high}, high == end and not self.follow

    def read(self, slice: Slice, columns: Sequence[str]) -> ReadBatch:
        here = [(o, row) for o, row in self.log if slice.at["low"] <= o < slice.at["high"]]
        rows = [(offset, row) for offset, row in here if row is not None]
        names = self.stream.schema.names
        arrays = [
            pa.array([row[names.index(c)] for _, row in rows], self.stream.schema.field(c).type)
            for c in columns
        ]
        schema = pa.schema([self.stream.schema.field(c) for c in columns])
        positions = np.array([offset + 1 for offset, _ in rows], np.int64)
        return ReadBatch(pa.record_batch(arrays, schema=schema), positions, error_rows([], [], []))


@dataclass(frozen=True)
class TopicPartitions:
    stream: Stream
    topic: str
    first: int
    follow: bool

    def names(self) -> Sequence[str]:
        return list(TOPICS[self.topic])

    def open(self, name: str) -> TopicPartition:
        return TopicPartition(self.stream, TOPICS[self.topic][name], self.first, self.follow)

    @property
    def grows(self) -> bool:
        return self.follow


def open_topic(stream: Stream, follow: bool) -> PartitionedSource:
    assert stream.source is not None
    first = OPTIONS.read(dict(stream.options))["first"]
    topic = stream.source.removeprefix("topic:")
    return PartitionedSource(stream.name, TopicPartitions(stream, topic, first, follow))


TOPIC = Connector("topic", ("topic",), "topic:name", (OPTIONS,), open_topic)
