"""The events of an online auction: each value a pure function of seed and event number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.connect.generate.noise import Noise

ROUND = 50
FIRST = {"person": 0, "auction": 1, "bid": 4}
SHARE = {"person": 1, "auction": 3, "bid": 46}
LIVE = 1_000
HOT_BLOCK, HOT = 100, 4

COLUMNS = {
    "person": ("id", "name", "email", "city", "state", "ts"),
    "auction": ("id", "item_name", "seller", "category", "start_price", "expires", "ts"),
    "bid": ("auction", "bidder", "price", "ts"),
}


def numbers_of(kind: str, low: int, high: int) -> np.ndarray:
    """The event numbers of the low-th to high-th event of a kind.

    >>> numbers_of("auction", 0, 5).tolist()
    [1, 2, 3, 51, 52]
    """
    k = np.arange(low, high)
    return k // SHARE[kind] * ROUND + FIRST[kind] + k % SHARE[kind]


def count_of(kind: str, events: int) -> int:
    """How many of the first events are of a kind.

    >>> count_of("bid", 100), count_of("bid", 5)
    (92, 1)
    """
    rounds, rest = divmod(events, ROUND)
    return rounds * SHARE[kind] + min(max(rest - FIRST[kind], 0), SHARE[kind])


def kinds_of(events: np.ndarray) -> np.ndarray:
    """The kind of each event: 0 a person, 1 an auction, 2 a bid."""
    place = events % ROUND
    return (place >= FIRST["auction"]).astype(np.int8) + (place >= FIRST["bid"])


@dataclass(frozen=True)
class Auction:
    """A feed of 1 person, 3 auctions and 46 bids in every 50 events.

    Half of the bids go to the first 4 of the latest hundred auctions, half of the auctions are of
    the first 4 of the latest hundred persons; the rest spreads over the latest thousand. Nobody
    bids on, or sells in, what is not there yet. Prices are log-normal, in cents.

    `life` is the mean life of an auction in seconds; without it an auction lives about as long as
    it takes for the next thousand to come.
    """

    seed: int
    rate: Fraction
    start: int
    life: Fraction | None = None

    def column(self, kind: str, name: str, events: np.ndarray) -> pa.Array:
        return pa.array(_VALUES[kind, name](self, events))

    def timestamps(self, events: np.ndarray) -> np.ndarray:
        micros = events * (1_000_000 * self.rate.denominator) // self.rate.numerator
        return (micros + self.start).astype("datetime64[us]")

    def expiry(self, events: np.ndarray) -> np.ndarray:
        """Between half and one and a half times the mean life after the opening."""
        life = self.life or LIVE * ROUND // SHARE["auction"] / self.rate
        micros = life * 1_000_000 // 1
        parts = self.noise.bits(events, "expires", 10).astype(np.int64) + 512
        return self.timestamps(events) + (micros // 1024 * parts).astype("timedelta64[us]")

    def recent(self, events: np.ndarray, salt: str, there: np.ndarray) -> np.ndarray:
        """One of the `there` things that exist, numbered from 1; half of the time a hot one."""
        hashes = self.noise.hash(events, salt)
        pick = ((hashes >> np.uint64(8)) & np.uint64(0xFFFFFFFF)).astype(np.int64)
        block = (there - 1) // HOT_BLOCK * HOT_BLOCK
        hot = block + pick % np.minimum(HOT, there - block)
        cold = there - 1 - pick % np.minimum(LIVE, there)
        return np.where(hashes & np.uint64(1), hot, cold) + 1

    def price(self, events: np.ndarray, salt: str, median: float) -> np.ndarray:
        """Log-normal, in cents."""
        spread = self.noise.normal(events, salt)
        return np.maximum(np.round(median * np.exp(spread) * 100), 1) / 100

    @property
    def noise(self) -> Noise:
        return Noise(self.seed)


def _words(salt: str, words: pa.Array) -> Callable[[Auction, np.ndarray], pa.Array]:
    bits = len(words).bit_length() - 1
    return lambda feed, events: words.take(pa.array(feed.noise.bits(events, salt, bits)))


def _email(feed: Auction, events: np.ndarray) -> pa.Array:
    name = pc.replace_substring(pc.utf8_lower(_NAME(feed, events)), " ", ".")
    number = pa.array(events // ROUND + 1).cast(pa.string())
    return pc.binary_join_element_wise(name, number, "@example.com", "")


def _pairs(first: str, second: str) -> pa.Array:
    return pa.array([f"{a} {b}" for a in first.split() for b in second.split()])


_PLACES = [
    ("Phoenix", "AZ"), ("Palo Alto", "CA"), ("San Francisco", "CA"), ("Boise", "ID"),
    ("Portland", "OR"), ("Bend", "OR"), ("Seattle", "WA"), ("Kent", "WA"),
    ("Cheyenne", "WY"), ("Denver", "CO"), ("Austin", "TX"), ("Reno", "NV"),
    ("Salt Lake City", "UT"), ("Santa Fe", "NM"), ("Helena", "MT"), ("Omaha", "NE"),
]  # fmt: skip
_NAME = _words(
    "name", _pairs("Ada Ben Cleo Dan Eve Finn Gus Hana", "Abel Brandt Cole Diaz Ek Fox Gray Hill")
)
_ITEM = _words(
    "item",
    _pairs("red old tiny rare blue oak brass silk", "clock lamp chair vase coin map radio kite"),
)

_VALUES: dict[tuple[str, str], Callable[[Auction, np.ndarray], object]] = {
    ("person", "id"): lambda feed, i: i // ROUND + 1,
    ("person", "name"): _NAME,
    ("person", "email"): _email,
    ("person", "city"): _words("place", pa.array([city for city, _ in _PLACES])),
    ("person", "state"): _words("place", pa.array([state for _, state in _PLACES])),
    ("person", "ts"): Auction.timestamps,
    ("auction", "id"): lambda feed, i: i // ROUND * 3 + i % ROUND,
    ("auction", "item_name"): _ITEM,
    ("auction", "seller"): lambda feed, i: feed.recent(i, "seller", i // ROUND + 1),
    ("auction", "category"): lambda feed, i: (
        feed.noise.bits(i, "category", 32) % np.uint64(10) + 1
    ).astype(np.int64),
    ("auction", "start_price"): lambda feed, i: feed.price(i, "start", 10.0),
    ("auction", "expires"): Auction.expiry,
    ("auction", "ts"): Auction.timestamps,
    ("bid", "auction"): lambda feed, i: feed.recent(i, "auction", i // ROUND * 3 + 3),
    ("bid", "bidder"): lambda feed, i: feed.recent(i, "bidder", i // ROUND + 1),
    ("bid", "price"): lambda feed, i: feed.price(i, "price", 50.0),
    ("bid", "ts"): Auction.timestamps,
}
