"""The wire: messages as rows of a Spark DataFrame, from task to task and to the driver."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.engine.clock import Header
from millstream.engine.hot_keys import KeySample
from millstream.engine.messages import (
    Answer,
    Counted,
    Message,
    Refused,
    Sampled,
    Sent,
    TimeTold,
    Worked,
)
from millstream.engine.store import decode, encode, encode_to
from millstream.files import Folder, open_file

WIRE = "level int, bucket int, kind string, about string, blob binary"
WIRE_SCHEMA = pa.schema(
    [
        ("level", pa.int32()),
        ("bucket", pa.int32()),
        ("kind", pa.string()),
        ("about", pa.string()),
        ("blob", pa.binary()),
    ]
)
INLINE = 65_536
"""Rows of fewer bytes travel with the row of the wire itself."""

DRIVER = 0
"""The level of messages that are for the driver."""

Row = tuple[int, int, str, str, bytes | None]


@dataclass(frozen=True)
class Wire:
    """Writes messages: large rows go to a file in the scratch folder, if the workers share one.

    What reading has shown of the time goes to all `levels` and `buckets`, and to the driver.
    """

    levels: int
    buckets: int
    scratch: Folder | None = None

    def batch(self, messages: Iterable[Message]) -> pa.RecordBatch:
        """Messages as rows of the wire."""
        rows = [row for message in messages for row in self._rows(message)]
        columns = list(zip(*rows)) if rows else [()] * len(WIRE_SCHEMA)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, WIRE_SCHEMA)]
        return pa.RecordBatch.from_arrays(arrays, schema=WIRE_SCHEMA)

    def _rows(self, message: Message) -> Iterator[Row]:
        kind, (about, rows) = type(message).__name__, _taken_apart(message)
        text, blob = self._written(about, rows)
        if isinstance(message, Sent):
            yield message.level, message.bucket, kind, text, blob
            return
        yield DRIVER, 0, kind, text, blob
        if isinstance(message, TimeTold):
            for level in range(1, self.levels + 1):
                for bucket in range(self.buckets):
                    yield level, bucket, kind, text, blob

    def _written(
        self, about: dict[str, Any], rows: pa.RecordBatch | None
    ) -> tuple[str, bytes | None]:
        if rows is None:
            return json.dumps(about), None
        if self.scratch is None or rows.nbytes < INLINE:
            return json.dumps(about), encode(rows)
        name = uuid.uuid4().hex
        self.scratch.write(name, lambda stream: encode_to(stream, rows))
        return json.dumps({**about, "file": self.scratch.address(name)}), None


def messages_in(rows: Iterable[dict[str, Any]]) -> Iterator[Message]:
    """The messages that rows of the wire stand for."""
    for row in rows:
        about, blob = json.loads(row["about"]), row["blob"]
        if (address := about.pop("file", None)) is not None:
            folder, name = open_file(address)
            about["rows"] = decode(folder.get(name))
        elif blob is not None:
            about["rows"] = decode(pa.py_buffer(blob))
        yield KINDS[row["kind"]](about)


def _taken_apart(message: Message) -> tuple[dict[str, Any], pa.RecordBatch | None]:
    """The small fields of a message, and the rows that it carries."""
    match message:
        case TimeTold(header=header):
            return asdict(header), None
        case Sent(level=level, bucket=bucket, box=box, turn=turn, changes=changes):
            about = {"level": level, "bucket": bucket, "box": box, "turn": turn}
            return about, changes.to_batch()
        case Answer(query=query, changes=changes):
            return {"query": query}, changes.to_batch()
        case Refused(stream=stream, kind=kind, rows=rows):
            return {"stream": stream, "kind": kind}, rows
        case Sampled(sample=sample):
            return sample.to_json(), None
    return asdict(message), None


def _with_changes(made: Callable[..., Message]) -> Callable[[dict[str, Any]], Message]:
    return lambda about: made(changes=Changes.from_batch(about.pop("rows")), **about)


KINDS: dict[str, Callable[[dict[str, Any]], Message]] = {
    "TimeTold": lambda about: TimeTold(Header(**about)),
    "Sent": _with_changes(Sent),
    "Answer": _with_changes(Answer),
    "Refused": lambda about: Refused(**about),
    "Counted": lambda about: Counted(**about),
    "Sampled": lambda about: Sampled(KeySample.from_json(about)),
    "Worked": lambda about: Worked(**about),
}
"""How every kind of message is put together again."""
