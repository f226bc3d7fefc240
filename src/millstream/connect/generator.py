"""A source that makes its rows: `generate:auction?rate=…&events=…&seed=…`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pyarrow as pa

from millstream.connect.auction import COLUMNS, Auction, count_of, kinds_of, numbers_of
from millstream.connect.casting import from_text, from_values, type_name
from millstream.connect.source import Slab, Slice, error_rows, largest_of
from millstream.errors import MillstreamError, closest

FEEDS = ("auction",)
PARAMETERS = ("rate", "events", "seed", "kind", "start", "life")
KINDS = {"persons": "person", "auctions": "auction", "bids": "bid"}
ALL = "event"
ALIASES = {
    ("person", "person_id"): "id",
    ("auction", "auction_id"): "id",
    ("auction", "auction"): "id",
    ("auction", "item"): "id",
    ("bid", "auction_id"): "auction",
    ("bid", "item"): "auction",
}
MOST_ROWS = 256 * 1024
SMALL = Fraction(1, 1_000_000)
EXAMPLES = {"events": 100_000, "life": 60}


@dataclass(frozen=True)
class Generator:
    """An online-auction feed: the rows of one kind, or all of them with a column `event`.

    `rate` is events of all kinds per second of event time (default 1000), `events` how many there
    are of all kinds (default no end), `seed` (default 1), `start` the first timestamp (default
    2024-01-01T00:00:00), `life` the mean life of an auction in seconds (default: until the next
    thousand have come), `kind` persons, auctions or bids (default: what the stream's name says,
    otherwise all). A feed without end is paced by the wall clock from when the stream began.

    Position: the next row, and when the stream began. Law: row k depends on nothing but its number
    and the parameters, so any cut gives the same rows and streams of the three kinds fit together.
    """

    name: str
    schema: pa.Schema
    feed: Auction
    kind: str
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

    def read(self, slice: Slice, columns: Sequence[str]) -> Slab:
        low = slice.at["row"]
        rows = self._batch(low, low + slice.rows, columns)
        seq = np.arange(slice.seq, slice.seq + slice.rows)
        return Slab(rows, seq, error_rows([], [], []))

    def largest(self, slice: Slice, column: str) -> int | None:
        low, high = slice.at["row"], slice.at["row"] + slice.rows
        low = high - 1 if self._native(column) == "ts" else low
        return largest_of(self._batch(low, high, [column]).column(0))

    def _there(self, began: float | None) -> int:
        """How many rows there are, as yet."""
        events = self.events
        if events is None:
            events = max(0, int((self.clock() - (began or 0.0)) * self.feed.rate))
        return events if self.kind == ALL else count_of(self.kind, events)

    def _batch(self, low: int, high: int, columns: Sequence[str]) -> pa.RecordBatch:
        fields = [self.schema.field(name) for name in columns]
        events = np.arange(low, high) if self.kind == ALL else numbers_of(self.kind, low, high)
        arrays = [self._convert(self._values(field.name, events), field) for field in fields]
        return pa.record_batch(arrays, schema=pa.schema(fields))

    def _values(self, column: str, events: np.ndarray) -> pa.Array:
        name = self._native(column)
        if self.kind != ALL:
            return self.feed.column(self.kind, name, events)
        kinds = kinds_of(events)
        if name == "event":
            return pa.array(list(COLUMNS)).take(pa.array(kinds))
        parts, place, made = [], np.full(len(events), -1), 0
        for number, kind in enumerate(COLUMNS):
            if name in COLUMNS[kind]:
                mine = np.flatnonzero(kinds == number)
                parts.append(self.feed.column(kind, name, events[mine]))
                place[mine] = made + np.arange(len(mine))
                made += len(mine)
        return pa.concat_arrays(parts).take(pa.array(place, mask=place < 0))

    def _native(self, column: str) -> str:
        """The feed's name for a declared column."""
        known = ("event", *dict.fromkeys(n for names in COLUMNS.values() for n in names))
        known = known if self.kind == ALL else COLUMNS[self.kind]
        name = ALIASES.get((self.kind, column.lower()), column.lower())
        if name in known:
            return name
        meant = closest(column, known)
        guess = f"Did you mean {meant}? " if meant else ""
        raise MillstreamError(
            f'column "{column}" does not exist in the {self.kind} feed',
            hint=f"{guess}It has {', '.join(known)}.",
        )

    def _convert(self, values: pa.Array, field: pa.Field) -> pa.Array:
        try:
            done = from_values(values, field.type)
        except pa.ArrowException:
            done = None
        if done is None or done.bad is not None:
            raise MillstreamError(
                f'column "{field.name}" of the {self.kind} feed cannot be read as '
                f"{type_name(field.type)}",
                hint=f"Declare it as {type_name(values.type)}.",
            )
        return done.values


def open_generator(url: str, name: str, schema: pa.Schema, follow: bool) -> Generator:
    """The generator that a URL describes."""
    feed, _, query = url.removeprefix("generate:").partition("?")
    if feed not in FEEDS:
        meant = closest(feed, FEEDS)
        raise MillstreamError(
            f'generator "{feed}" does not exist',
            hint=f"Did you mean {meant}?" if meant else "Use generate:auction.",
        )
    given = dict(parse_qsl(query, keep_blank_values=True))
    for parameter in given:
        if parameter not in PARAMETERS:
            meant = closest(parameter, PARAMETERS)
            raise MillstreamError(
                f'parameter "{parameter}" of generate:auction does not exist',
                hint=f"Did you mean {meant}?" if meant else f"It has {', '.join(PARAMETERS)}.",
            )
    events = _number(given, "events", None, int)
    rate = _number(given, "rate", Fraction(1000), _fraction)
    life = _number(given, "life", None, _fraction)
    auction = Auction(_number(given, "seed", 1, int), rate, _start(given), life)
    return Generator(name, schema, auction, _kind(given, name), events, follow)


def _number(given: dict[str, str], parameter: str, default: Any, read: Callable[[str], Any]) -> Any:
    if parameter not in given:
        return default
    try:
        number = read(given[parameter])
    except (ValueError, ZeroDivisionError):
        number = None
    least = {"rate": SMALL, "life": SMALL, "events": 0}.get(parameter)
    if number is None or (least is not None and not least <= number <= 10**12):
        what = "a number above 0" if least == SMALL else "a whole number"
        raise MillstreamError(
            f'parameter "{parameter}" of generate:auction is "{given[parameter]}", not {what}',
            hint=f"Write {parameter}={default or EXAMPLES[parameter]}.",
        )
    return number


def _fraction(text: str) -> Fraction:
    return Fraction(text).limit_denominator(1_000_000)


def _start(given: dict[str, str]) -> int:
    text = given.get("start", "2024-01-01T00:00:00")
    found = from_text(pa.array([text]), pa.timestamp("us"))
    if found.bad is not None or found.values.null_count:
        raise MillstreamError(
            f'parameter "start" of generate:auction is "{text}", not a timestamp',
            hint="Write start=2024-01-01T00:00:00.",
        )
    return found.values.cast(pa.int64())[0].as_py()


def _kind(given: dict[str, str], name: str) -> str:
    if "kind" not in given:
        word = name.lower()
        return KINDS.get(word) or (word if word in COLUMNS else ALL)
    word = given["kind"].lower()
    kind = KINDS.get(word) or (word if word in COLUMNS else None)
    if kind is None:
        meant = closest(word, list(KINDS))
        raise MillstreamError(
            f'parameter "kind" of generate:auction is "{given["kind"]}", which does not exist',
            hint=f"Did you mean {meant}?" if meant else f"Use {', '.join(KINDS)}.",
        )
    return kind
