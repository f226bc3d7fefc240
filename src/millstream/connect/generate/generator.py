"""A source that makes its rows: `generate:auction?…`, `generate:connections?…`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from millstream.connect.casting import from_values, type_name
from millstream.connect.source import ReadBatch, Slice, error_rows, largest_of
from millstream.errors import MillstreamError, closest

MOST_ROWS = 256 * 1024


class Feed(Protocol):
    """What a generator makes: numbered rows, the timestamps in a column `ts` that never falls.

    Law: row k depends on nothing but its number and the parameters.
    """

    @property
    def kind(self) -> str:
        """What the rows are, for messages."""

    @property
    def rate(self) -> Fraction:
        """Events per second, of the clock too when the feed has no end."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns there are."""

    def known_as(self, column: str) -> str:
        """The feed's own name for a column, where that has several."""

    def count(self, events: int) -> int:
        """How many rows the first events are."""

    def values(self, column: str, low: int, high: int) -> pa.Array:
        """A column of the rows from low to high."""


@dataclass(frozen=True)
class Generator:
    """The rows of a feed: `events` of them (of all kinds), or no end, paced by the wall clock.

    Position: the next row, and when the stream began. Law: any cut gives the same rows.
    """

    name: str
    schema: pa.Schema
    feed: Feed
    events: int | None
    follow: bool
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        """Refuse a column or a type that the feed does not have, by making a few rows."""
        self._batch(0, 64, self.schema.names)

    def start(self) -> dict[str, Any]:
        return {"row": 0, "began": self.clock() if self.events is None else None}

    def plan(self, position: dict[str, Any], rows: int) -> tuple[list[Slice], dict[str, Any], bool]:
        row, began = position["row"], position["began"]
        stop = max(row, min(row + rows, self._there(began)))
        slices = [
            Slice(self.name, {"row": low}, low + 1, min(MOST_ROWS, stop - low))
            for low in range(row, stop, MOST_ROWS)
        ]
        ended = self.events is not None and stop == self._there(began) and not self.follow
        return slices, {"row": stop, "began": began}, ended

    def read(self, slice: Slice, columns: Sequence[str]) -> ReadBatch:
        low = slice.at["row"]
        rows = self._batch(low, low + slice.length, columns)
        seq = np.arange(slice.seq, slice.seq + slice.length)
        return ReadBatch(rows, seq, error_rows([], [], []))

    def largest(self, slice: Slice, column: str) -> int | None:
        low, high = slice.at["row"], slice.at["row"] + slice.length
        low = high - 1 if self._native(column) == "ts" else low
        return largest_of(self._batch(low, high, [column]).column(0))

    def _there(self, began: float | None) -> int:
        """How many rows there are, as yet."""
        events = self.events
        if events is None:
            events = max(0, int((self.clock() - (began or 0.0)) * self.feed.rate))
        return self.feed.count(events)

    def _batch(self, low: int, high: int, columns: Sequence[str]) -> pa.RecordBatch:
        fields = [self.schema.field(name) for name in columns]
        arrays = [
            self._convert(self.feed.values(self._native(field.name), low, high), field)
            for field in fields
        ]
        return pa.record_batch(arrays, schema=pa.schema(fields))

    def _native(self, column: str) -> str:
        """The feed's name for a declared column."""
        known = self.feed.columns
        name = self.feed.known_as(column.lower())
        if name in known:
            return name
        meant = closest(column, known)
        guess = f"Did you mean {meant}? " if meant else ""
        raise MillstreamError(
            f'column "{column}" does not exist in the {self.feed.kind} feed',
            hint=f"{guess}It has {', '.join(known)}.",
        )

    def _convert(self, values: pa.Array, field: pa.Field) -> pa.Array:
        try:
            done = from_values(values, field.type)
        except pa.ArrowException:
            done = None
        if done is None or done.bad is not None:
            raise MillstreamError(
                f'column "{field.name}" of the {self.feed.kind} feed cannot be read as '
                f"{type_name(field.type)}",
                hint=f"Declare it as {type_name(values.type)}.",
            )
        return done.values
