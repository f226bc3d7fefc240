"""The auction feed: `generate:auction`, the rows of one kind of event or of all."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from millstream.connect.auction import COLUMNS, Auction, count_of, kinds_of, numbers_of
from millstream.connect.parameters import Parameters

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


@dataclass(frozen=True)
class AuctionFeed:
    """The events of an auction that are of one kind, or all of them with a column `event`.

    `rate` is events of all kinds per second of event time (default 1000), `seed` (default 1),
    `start` the first timestamp (default 2024-01-01T00:00:00), `life` the mean life of an auction in
    seconds (default: until the next thousand have come), `kind` persons, auctions or bids (default:
    what the stream's name says, otherwise all).
    """

    auction: Auction
    kind: str

    @staticmethod
    def open(given: Parameters, stream: str) -> AuctionFeed:
        rate = given.fraction("rate", Fraction(1000), 1000)
        life = given.fraction("life", None, 60)
        start = given.timestamp("start", "2024-01-01T00:00:00")
        word = given.one_of("kind", [*KINDS, *COLUMNS]) or stream.lower()
        kind = KINDS.get(word) or (word if word in COLUMNS else ALL)
        return AuctionFeed(Auction(given.whole("seed", 1, 1), rate, start, life), kind)

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
