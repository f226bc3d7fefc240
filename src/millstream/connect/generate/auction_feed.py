"""The auction feed: `generate:auction`, the rows of one kind of event or of all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.connect.generate.auction import COLUMNS, Auction, count_of, kinds_of, numbers_of
from millstream.connect.generate.parameters import EVENTS, SEED, parameters
from millstream.connect.options import FRACTION, TIMESTAMP, Option, words

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


PARAMETERS = parameters(
    "auction",
    Option("rate", FRACTION, "events of all kinds per second of event time", "1000", "1000"),
    replace(
        EVENTS,
        meaning="how many events of all kinds there are; without it the feed has no end, and is "
        "paced by the clock",
    ),
    SEED,
    Option("start", TIMESTAMP, "the first timestamp", "2024-01-01T00:00:00", "2024-01-01T00:00:00"),
    Option(
        "life",
        FRACTION,
        "seconds from an auction's `ts` to its `expires`, on average",
        "60",
        otherwise="until the next thousand auctions have come",
    ),
    Option(
        "kind",
        words(*KINDS, *COLUMNS),
        "`persons`, `auctions` or `bids`",
        "bids",
        otherwise="the stream's name, if it is one of them; otherwise all",
    ),
)


@dataclass(frozen=True)
class AuctionFeed:
    """The events of an auction that are of one kind, or all of them with a column `event`."""

    auction: Auction
    kind: str

    @staticmethod
    def open(given: Mapping[str, Any], stream: str) -> AuctionFeed:
        word = given["kind"] or stream.lower()
        kind = KINDS.get(word) or (word if word in COLUMNS else ALL)
        auction = Auction(given["seed"], given["rate"], given["start"], given["life"])
        return AuctionFeed(auction, kind)

    @property
    def rate(self) -> Fraction:
        return self.auction.rate

    @property
    def columns(self) -> tuple[str, ...]:
        if self.kind != ALL:
            return COLUMNS[self.kind]
        return ("event", *dict.fromkeys(name for names in COLUMNS.values() for name in names))

    def known_as(self, column: str) -> str:
        return ALIASES.get((self.kind, column), column)

    def count(self, events: int) -> int:
        return events if self.kind == ALL else count_of(self.kind, events)

    def values(self, column: str, low: int, high: int) -> pa.Array:
        if self.kind != ALL:
            return self.auction.column(self.kind, column, numbers_of(self.kind, low, high))
        events = np.arange(low, high)
        kinds = kinds_of(events)
        if column == "event":
            return pa.array(list(COLUMNS)).take(pa.array(kinds))
        parts, place, made = [], np.full(len(events), -1), 0
        for number, kind in enumerate(COLUMNS):
            if column in COLUMNS[kind]:
                mine = np.flatnonzero(kinds == number)
                parts.append(self.auction.column(kind, column, events[mine]))
                place[mine] = made + np.arange(len(mine))
                made += len(mine)
        return pa.concat_arrays(parts).take(pa.array(place, mask=place < 0))
