"""Hot keys: keys of so many rows that one bucket should not do all their work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, astuple, dataclass, field
from typing import Any

import numpy as np

from millstream.algebra.changes import Changes
from millstream.algebra.time import DAWN, INFINITY
from millstream.columns.keys import hashes_of
from millstream.operators import SkewSplit
from millstream.operators.skew_split import LEFT, RIGHT

FEWEST = 1_000
"""A key with fewer rows in a batch is not hot."""

MOST = 256
"""The most keys of one meeting that may be hot."""

SAMPLED = 4_096
"""The number of rows that are sampled to find hot keys."""

STAYS, SPREAD, COPIED = 0, 1, 2
OTHER = {LEFT: RIGHT, RIGHT: LEFT}


@dataclass(frozen=True)
class HotKey:
    """Rows of `side` that begin at `since` or later are spread, those of the other side that end
    after it are copied to all buckets. `key` is the hash of the key."""

    key: int
    since: int
    side: str


@dataclass(frozen=True)
class KeySample:
    """What was sent on one side of a meeting: how many rows, the latest start and end, and the most
    common keys with the number of their rows, estimated from a sample."""

    meeting: str
    side: str
    rows: int
    ts: int
    exp: int
    keys: tuple[tuple[int, int], ...]

    @staticmethod
    def of(skew_split: SkewSplit, changes: Changes, buckets: int) -> KeySample:
        rows = len(changes)
        place = np.arange(rows)
        if rows > SAMPLED:
            place = np.random.default_rng(rows).integers(0, rows, SAMPLED)
        values, counts = np.unique(_hashes(skew_split, changes, place), return_counts=True)
        top = np.argsort(-counts, kind="stable")[: 2 * buckets]
        keys = [(int(values[i]), int(counts[i]) * rows // len(place)) for i in top]
        latest = int(changes.ts.max()), int(changes.exp.max())
        return KeySample(skew_split.meeting, skew_split.side, rows, *latest, tuple(keys))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> KeySample:
        return KeySample(**{**data, "keys": tuple((key, rows) for key, rows in data["keys"])})


@dataclass(frozen=True)
class HotKeys:
    """The hot keys of every meeting, and the latest start and end of the rows sent on its sides.

    Law: no row that was sent before a key became hot is one that the key's rule moves.
    """

    keys: Mapping[str, tuple[HotKey, ...]] = field(default_factory=dict)
    sent: Mapping[str, Mapping[str, tuple[int, int]]] = field(default_factory=dict)

    def ways(self, skew_split: SkewSplit, changes: Changes) -> np.ndarray | None:
        """Which way every row goes: STAYS, SPREAD or COPIED; None when all of them stay."""
        known = self.keys.get(skew_split.meeting)
        if not known or len(changes) == 0:
            return None
        keys = np.array([k.key for k in known])
        since = np.array([k.since for k in known])
        spread = np.array([k.side == skew_split.side for k in known])
        order = np.argsort(keys)
        hashes = _hashes(skew_split, changes, np.arange(len(changes)))
        place = order[np.searchsorted(keys[order], hashes).clip(max=len(keys) - 1)]
        moved = np.where(spread[place], changes.ts >= since[place], changes.exp > since[place])
        moved &= keys[place] == hashes
        return np.where(moved, np.where(spread[place], SPREAD, COPIED), STAYS)

    def after(
        self, samples: Iterable[KeySample], meetings: Mapping[str, tuple[str, ...]], buckets: int
    ) -> HotKeys:
        """The hot keys for the next batch; `meetings` are those there are, with their free sides.

        A key is hot when it has more than half of a bucket's share of the rows of a free side.
        """
        sent = {m: dict(self.sent.get(m, {})) for m in meetings}
        rows: Counter[tuple[str, str]] = Counter()
        counts: Counter[tuple[str, str, int]] = Counter()
        for sample in samples:
            ts, exp = sent[sample.meeting].get(sample.side, (DAWN, DAWN))
            sent[sample.meeting][sample.side] = max(ts, sample.ts), max(exp, sample.exp)
            rows[sample.meeting, sample.side] += sample.rows
            for key, count in sample.keys:
                counts[sample.meeting, sample.side, key] += count
        keys = {m: self.keys[m] for m in meetings if m in self.keys}
        for (meeting, side, key), count in counts.most_common():
            there = keys.get(meeting, ())
            common = count >= FEWEST and count * 2 * buckets > rows[meeting, side]
            new = len(there) < MOST and all(k.key != key for k in there)
            since = _since(sent[meeting], side)
            if side in meetings[meeting] and common and new and since < INFINITY:
                keys[meeting] = (*there, HotKey(key, since, side))
        return HotKeys(keys, sent)

    def to_json(self) -> dict[str, Any]:
        return {
            "keys": {m: [astuple(k) for k in keys] for m, keys in self.keys.items()},
            "sent": {m: dict(sides) for m, sides in self.sent.items()},
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> HotKeys:
        return HotKeys(
            {m: tuple(HotKey(*k) for k in keys) for m, keys in data.get("keys", {}).items()},
            {
                m: {side: (ts, exp) for side, (ts, exp) in sides.items()}
                for m, sides in data.get("sent", {}).items()
            },
        )


def _since(sent: Mapping[str, tuple[int, int]], side: str) -> int:
    """The first instant that suits: rows of the side begin before it, the others end by then."""
    ts, _ = sent[side]
    _, exp = sent.get(OTHER[side], (DAWN, DAWN))
    return max(ts + 1, exp)


def _hashes(skew_split: SkewSplit, changes: Changes, place: np.ndarray) -> np.ndarray:
    columns = [changes.rows.column(name).take(place) for name in skew_split.by]
    return hashes_of(columns, len(place))
