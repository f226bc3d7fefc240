"""A source that a test feeds: rows and heartbeats from memory, in the order of their feeding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.algebra.reading import from_text
from millstream.connect.casting import refusal
from millstream.connect.cells import as_csv
from millstream.connect.source import ReadBatch, Slice, error_rows, largest_of

Row = tuple[str | None, ...]


@dataclass
class FedSource:
    """Rows as text cells, read by the same conversions as CSV files.

    What was fed stays, so that a slice can be read again; `closed` means that no more will come.
    `whole` hands out a feed in one slice however few rows a batch may have: a stream stamped on
    arrival has no other way to say that rows arrived together.
    """

    name: str
    schema: pa.Schema
    whole: bool = False
    rows: list[Row] = field(default_factory=list)
    promises: list[tuple[int, int]] = field(default_factory=list)
    closed: bool = False

    def feed(self, rows: Sequence[Row]) -> None:
        self.rows.extend(rows)

    def promise(self, instant: int) -> None:
        """No element at or before the instant will come after those fed so far."""
        self.promises.append((len(self.rows), instant))

    def start(self) -> dict[str, Any]:
        return {"row": 0, "promises": 0}

    def plan(self, position: dict[str, Any], rows: int) -> tuple[list[Slice], dict[str, Any], bool]:
        """The next rows up to a heartbeat, with the heartbeat once they are all handed out."""
        begin, given = position["row"], position["promises"]
        stop, promise = (*self.promises, (len(self.rows), None))[given]
        end = stop if self.whole else min(stop, begin + rows)
        promise = promise if end == stop else None
        given += promise is not None
        after = {"row": end, "promises": given}
        done = self.closed and end == len(self.rows) and given == len(self.promises)
        if end == begin and promise is None:
            return [], after, done
        at = {"begin": begin, "end": end, "promise": promise}
        return [Slice(self.name, at, begin + 1, end - begin)], after, done

    def read(self, slice: Slice, columns: Sequence[str]) -> ReadBatch:
        begin, rows = slice.at["begin"], self.rows[slice.at["begin"] : slice.at["end"]]
        cells = [pa.array([row[i] for row in rows], pa.string()) for i in range(len(self.schema))]
        done = [from_text(text, kind) for text, kind in zip(cells, self.schema.types)]
        reasons: dict[int, str] = {}
        for name, text, kind, column in zip(self.schema.names, cells, self.schema.types, done):
            for i in np.flatnonzero(column.bad) if column.bad is not None else ():
                reasons.setdefault(int(i), refusal(name, text[int(i)].as_py(), kind))
        good = np.array([i for i in range(len(rows)) if i not in reasons], np.int64)
        values = {n: c.values.take(pa.array(good)) for n, c in zip(self.schema.names, done)}
        bad = sorted(reasons)
        errors = error_rows(
            [begin + 1 + i for i in bad],
            [reasons[i] for i in bad],
            [csv_line(rows[i]) for i in bad],
        )
        asked = pa.schema([self.schema.field(name) for name in columns])
        batch = pa.RecordBatch.from_arrays([values[name] for name in columns], schema=asked)
        promise = slice.at["promise"]
        beats = () if promise is None else ((begin + len(rows), promise),)
        return ReadBatch(batch, good + begin + 1, errors, beats)

    def largest(self, slice: Slice, column: str) -> int | None:
        return largest_of(self.read(slice, [column]).rows.column(0))


@dataclass
class FedPartitions:
    """Partitions that a test feeds; all of them are there from the beginning."""

    parts: dict[str, FedSource]

    def names(self) -> list[str]:
        return list(self.parts)

    def open(self, name: str) -> FedSource:
        return self.parts[name]

    @property
    def grows(self) -> bool:
        return not all(part.closed for part in self.parts.values())


def csv_line(row: Row) -> str:
    """A row as it would stand in a CSV file.

    >>> csv_line(("1", None, "", "a,b"))
    '1,,"","a,b"'
    """
    return ",".join(as_csv(pa.array(row, pa.string())).to_pylist())
