"""Network connections: `generate:connections`, one on every link in every unit of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.connect.generate.noise import Noise
from millstream.connect.generate.parameters import EVENTS, SEED, parameters
from millstream.connect.options import FRACTION, Option, whole, words

COLUMNS = ("ts", "duration", "protocol", "size", "source", "destination", "link")
LINKS = 4
WORDS = {f"link{number}": number for number in range(LINKS)}
SHARES = {"smtp": 30, "telnet": 20, "http": 22, "nntp": 18, "finger": 8, "ftp": 2}
"""Connections in a hundred; telnet is ten times as frequent as ftp."""

FLAT, STEEP = 0.57, 0.9
"""Zipf's exponents. Telnet is spread over its sources more evenly than the others are: windows of
two links have ten times as many pairs of telnet from one source as of ftp, not a hundred times."""

CIRCLE = 8
DESTINATIONS, SERVERS = 12, 4_096


PARAMETERS = parameters(
    "connections",
    replace(
        EVENTS,
        meaning="how many connections there are on all links; without it the feed has no end, and "
        "is paced by the clock",
    ),
    Option(
        "rate",
        FRACTION,
        "connections on all links per second of the clock, for a feed without end",
        "1000",
        "1000",
    ),
    SEED,
    Option("start", whole(0), "the first unit of time", "0", "0"),
    Option(
        "link",
        words(*(str(number) for number in range(LINKS))),
        f"0 to {LINKS - 1}",
        "0",
        otherwise="the digit of a stream named `link0` to `link3`; otherwise all links",
    ),
    Option("sources", whole(1, 1_000_000), "how many sources a link has", "2000", "2000"),
)


@dataclass(frozen=True)
class Connections:
    """Connections on four links, each link with one in every unit of time.

    The popularity of the `sources` of a link follows Zipf's law; a source is known
    by its rank. Half of the sources are on all links; each of the others is missing on one, where
    another source has its rank. Every source has a dozen destinations on each link. The remainder
    of a destination by 4 is its link.
    """

    noise: Noise
    rate: Fraction
    start: int
    link: int | None
    sources: int

    columns = COLUMNS
    kind = "connection"

    @staticmethod
    def open(given: Mapping[str, Any], stream: str) -> Connections:
        link = WORDS.get(stream.lower()) if given["link"] is None else int(given["link"])
        return Connections(
            Noise(given["seed"]), given["rate"], given["start"], link, given["sources"]
        )

    def known_as(self, column: str) -> str:
        return column

    def count(self, events: int) -> int:
        return events if self.link is None else (events + LINKS - 1 - self.link) // LINKS

    def values(self, column: str, low: int, high: int) -> pa.Array:
        rows = np.arange(low, high)
        numbers = rows if self.link is None else rows * LINKS + self.link
        return pa.array(getattr(self, f"_{column}")(numbers))

    def _ts(self, numbers: np.ndarray) -> np.ndarray:
        return self.start + numbers // LINKS

    def _link(self, numbers: np.ndarray) -> np.ndarray:
        return numbers % LINKS

    def _duration(self, numbers: np.ndarray) -> np.ndarray:
        """Seconds, log-normal."""
        return np.round(20 * np.exp(1.5 * self.noise.normal(numbers, "duration")), 3)

    def _size(self, numbers: np.ndarray) -> np.ndarray:
        """Bytes, log-normal."""
        return np.rint(2_000 * np.exp(1.5 * self.noise.normal(numbers, "size"))).astype(np.int64)

    def _protocol(self, numbers: np.ndarray) -> pa.Array:
        return pa.array(list(SHARES)).take(pa.array(self._protocols(numbers)))

    def _source(self, numbers: np.ndarray) -> np.ndarray:
        picks = self.noise.bits(numbers, "source", 32).astype(np.int64)
        telnet = self._protocols(numbers) == list(SHARES).index("telnet")
        rank = np.where(
            telnet,
            np.searchsorted(self._flat, picks, side="right"),
            np.searchsorted(self._steep, picks, side="right"),
        )
        link = self._link(numbers)
        missing = rank % CIRCLE == CIRCLE - LINKS + link
        return rank + np.where(missing, self.sources * (link + 1), 0)

    def _destination(self, numbers: np.ndarray) -> np.ndarray:
        pick = self.noise.bits(numbers, "where", 32).astype(np.int64) % DESTINATIONS
        server = self.noise.bits(self._source(numbers) * DESTINATIONS + pick, "server", 32)
        return server.astype(np.int64) % SERVERS * LINKS + self._link(numbers)

    def _protocols(self, numbers: np.ndarray) -> np.ndarray:
        hundredth = self.noise.bits(numbers, "protocol", 32).astype(np.int64) % 100
        return np.searchsorted(np.cumsum(list(SHARES.values())), hundredth, side="right")

    @cached_property
    def _flat(self) -> np.ndarray:
        return _zipf(FLAT, self.sources)

    @cached_property
    def _steep(self) -> np.ndarray:
        return _zipf(STEEP, self.sources)


def _zipf(exponent: float, count: int) -> np.ndarray:
    """Bounds of 32 bits below which a number picks each rank, the first of them most often."""
    weights = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    bounds = np.rint(np.cumsum(weights) / weights.sum() * 2**32).astype(np.int64)
    return bounds[:-1]
