"""Sending: which rows go to which buckets of the level above."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from millstream.algebra.changes import Changes
from millstream.algebra.node import BROADCAST, Node, home_of
from millstream.columns.keys import buckets_of
from millstream.columns.order import group_order
from millstream.engine.hot_keys import COPIED, SPREAD, STAYS, HotKeys, KeySample
from millstream.operators import Exchange
from millstream.plan.graph import Graph


@dataclass
class Sender:
    """Sends the rows of exchanges to buckets, and samples the keys of the sides of meetings."""

    graph: Graph
    buckets: int
    hot: HotKeys
    alone: frozenset[str] = frozenset()
    """The streams with whom no other shares a query: nobody else holds their heartbeat back."""
    samples: list[KeySample] = field(default_factory=list)

    def parts(
        self, exchange: Exchange, changes: Changes, turn: int
    ) -> Iterator[tuple[Node, int, Changes]]:
        """The rows for the exchange and for the skew splits above it, by bucket.

        Rows that no reader of the exchange wants in the bucket of their key are not sent there.
        """
        changes = changes.plain()
        skew_splits = self.graph.skew_splits[exchange]
        if skew_splits and self.buckets > 1 and len(changes):
            staying = np.full(len(changes), self.graph.is_read_otherwise[exchange])
            for skew_split in skew_splits:
                self.samples.append(KeySample.of(skew_split, changes, self.buckets))
                ways = self.hot.ways(skew_split, changes)
                if ways is not None:
                    for bucket, part in _away(changes, ways, self.buckets, turn):
                        yield skew_split, bucket, part
                staying |= ways is None or ways == STAYS
            changes = changes.keep(staying)
        for bucket, part in split(changes, exchange, self.buckets, turn).items():
            yield exchange, bucket, part


def _away(
    changes: Changes, ways: np.ndarray, buckets: int, turn: int
) -> Iterator[tuple[int, Changes]]:
    """Rows that are spread go to the buckets in turn, those that are copied to all of them."""
    spread, copied = np.flatnonzero(ways == SPREAD), np.flatnonzero(ways == COPIED)
    for bucket in range(buckets):
        mine = np.concatenate([copied, spread[(bucket - turn) % buckets :: buckets]])
        if len(mine):
            yield bucket, changes.take(np.sort(mine))


def split(changes: Changes, exchange: Exchange, buckets: int, turn: int) -> dict[int, Changes]:
    """The changes by bucket. `turn` picks the bucket when any will do."""
    if len(changes) == 0:
        return {}
    if buckets == 1:
        return {0: changes}
    if (home := home_of(exchange.by, buckets)) is not None:
        return {home: changes}
    if exchange.by is None:
        return {turn % buckets: changes}
    if exchange.by == BROADCAST:
        return dict.fromkeys(range(buckets), changes)
    keys = [changes.rows.column(name) for name in exchange.by]
    bucket = buckets_of(keys, len(changes), buckets)
    order, bounds = group_order(bucket, np.arange(len(bucket)), buckets)
    return {
        b: changes.take(order[bounds[b] : bounds[b + 1]])
        for b in range(buckets)
        if bounds[b] < bounds[b + 1]
    }
