"""What a source is: positions, the slices planned from them, and the batches read from slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

ERRORS = pa.schema([("seq", pa.int64()), ("reason", pa.string()), ("row", pa.string())])
ROW_TEXT = 1_000


@dataclass(frozen=True)
class Slice:
    """What one task reads: a piece of a source.

    Every row has a position, 1 or larger, that grows along the source, or along its partition.
    `seq` is the position of the first row, or a smaller one that no row has; positions may have
    gaps. `rows` is how many rows there are, good and bad, or None where only reading shows it.
    `partition` and its `number` are those of a `PartitionedSource`.

    Law: reading a slice gives the same rows with the same positions at any time, anywhere,
    whatever the cuts.
    """

    source: str
    at: dict[str, Any]
    seq: int
    rows: int | None
    partition: str = ""
    number: int | None = None

    @property
    def length(self) -> int:
        """How many rows there are, for a source that knows it before reading."""
        assert self.rows is not None
        return self.rows

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Slice:
        """
        >>> Slice.from_json(Slice("bids", {"row": 0}, 1, 5).to_json()).rows
        5
        """
        return cls(**value)


@dataclass(frozen=True)
class ReadBatch:
    """What reading a slice gives: good rows in arrival order, and bad rows with their reasons.

    `seq` are the positions of the good rows. `beats` are the source's own heartbeats, each with the
    position after which it came.

    Law: whether a row is good depends on all declared columns, never on which were asked for.
    """

    rows: pa.RecordBatch
    seq: np.ndarray
    errors: pa.RecordBatch
    beats: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Comparison:
    """A test of a column against a value: =, <, <=, > or >=."""

    column: str
    operator: str
    value: Any

    def fails(self, least: Any, most: Any) -> bool:
        """Whether no value between the two passes. NULL never does.

        >>> Comparison("price", ">", 10).fails(3, 9), Comparison("price", "=", 5).fails(3, 9)
        (True, False)
        """
        match self.operator:
            case _ if self.value is None:
                return True
            case "=":
                return bool(self.value < least or self.value > most)
            case "<":
                return bool(least >= self.value)
            case "<=":
                return bool(least > self.value)
            case ">":
                return bool(most <= self.value)
            case ">=":
                return bool(most < self.value)
        return False


class Source(Protocol):
    """Where a stream's rows come from.

    The driver plans, anyone reads: a source is rebuilt from its arguments where it is needed and
    keeps nothing that a position or a slice does not hold. Its rows are one sequence; for several
    sequences side by side see `PartitionedSource`.
    """

    def start(self) -> dict[str, Any]:
        """The position before the first row."""

    def plan(self, position: dict[str, Any], rows: int) -> tuple[list[Slice], dict[str, Any], bool]:
        """Slices of at most `rows` rows, the position after them, and whether that is the end."""

    def read(self, slice: Slice, columns: Sequence[str]) -> ReadBatch:
        """The rows of a slice, with the asked columns in the asked order."""


@runtime_checkable
class Foreseeing(Protocol):
    """A source that knows the largest timestamp of a slice for less than reading it.

    Slices of one batch can then be read side by side. Without it, they are read one after another.
    """

    def largest(self, slice: Slice, column: str) -> int | None:
        """The largest value of a timestamp (µs) or integer column among the good rows."""


@runtime_checkable
class Informed(Protocol):
    """A source that knows something of its rows before it reads them."""

    schema: pa.Schema

    def excludes(self, slice: Slice, test: Comparison) -> bool:
        """Whether no row of the slice passes the test, as far as that is known."""


def read_wanted(
    source: Source,
    slice: Slice,
    columns: Sequence[str],
    judged: Sequence[str],
    wanted: Sequence[Sequence[Comparison]],
) -> ReadBatch:
    """The rows of a slice. `wanted` are the tests of every reader.

    Where no reader wants any of the rows, only the columns they are judged by are read, and NULL
    stands for the others: it fails the same tests. Late and bad rows are found all the same.
    """
    if not (
        isinstance(source, Informed)
        and wanted
        and all(any(source.excludes(slice, test) for test in tests) for tests in wanted)
    ):
        return source.read(slice, columns)
    read_batch = source.read(slice, judged)
    arrays = {name: read_batch.rows.column(i) for i, name in enumerate(judged)}
    fields = [source.schema.field(name) for name in columns]
    filled = [
        arrays[f.name] if f.name in arrays else pa.nulls(len(read_batch.seq), f.type)
        for f in fields
    ]
    return replace(read_batch, rows=pa.record_batch(filled, schema=pa.schema(fields)))


def error_rows(
    seq: Sequence[int] | np.ndarray, reasons: Sequence[str], rows: Sequence[str]
) -> pa.RecordBatch:
    """Bad rows as a batch, each row's text cut short."""
    texts = [row[:ROW_TEXT] for row in rows]
    arrays = [
        pa.array(seq, pa.int64()),
        pa.array(reasons, pa.string()),
        pa.array(texts, pa.string()),
    ]
    return pa.record_batch(arrays, schema=ERRORS)


def largest_of(array: pa.Array) -> int | None:
    """The largest non-null value of a timestamp or integer array, as an integer.

    >>> largest_of(pa.array([3, None, 5]))
    5
    """
    numbers = array.cast(pa.int64())
    values = numbers.drop_null().to_numpy(zero_copy_only=False)
    return int(values.max()) if len(values) else None
