"""One bucket of one level: all operators of the graph that run there, over the whole batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from millstream.algebra.changes import Changes
from millstream.algebra.node import Node
from millstream.algebra.state import Log, State
from millstream.algebra.time import Span
from millstream.columns.keys import buckets_of
from millstream.columns.order import group_order
from millstream.operators import Exchange, Scan
from millstream.operators.pending import release
from millstream.plan.graph import Graph

Load = Callable[[str], State]


@dataclass
class Level:
    """The operators of one level in one bucket, from received changes to sent ones and results.

    Equal parts of different queries are computed once. `states` collects every operator's new state.
    """

    graph: Graph
    level: int
    bucket: int
    spans: Mapping[Node, Span]
    load: Load
    states: dict[str, State] = field(default_factory=dict)
    _done: dict[Node, Changes] = field(default_factory=dict)

    def receive(self, exchange: Exchange, changes: Changes) -> None:
        """Take what was sent to this bucket; rows whose instant is not final yet wait."""
        span = self.spans[exchange]
        if self.graph.level[exchange.input] > 0:
            self._done[exchange] = changes
            return
        state = self.load(exchange.fingerprint)
        waiting, due = release(state.get("waiting", Log()), changes, span)
        self.states[exchange.fingerprint] = {"waiting": waiting} if waiting.chunks else {}
        self._done[exchange] = due.in_time_order()

    def output(self, node: Node) -> Changes:
        """The changes that the node gives in this batch and bucket."""
        if node in self._done:
            return self._done[node]
        if isinstance(node, Exchange):
            raise KeyError(f"nothing received for {node.text.splitlines()[0]}")
        if self.graph.home[node] and self.bucket != 0:
            result = Changes.empty(node.schema)
        else:
            changes = self.output(node.inputs[0])
            changes = changes if node.accepts_previous else changes.plain()
            state = {} if node.stateless else self.load(node.fingerprint)
            state, result = node.step(state, changes, self.spans[node])
            if not node.stateless:
                self.states[node.fingerprint] = state
        self._done[node] = result
        return result


def read_scan(scan: Scan, elements: Changes) -> Changes:
    """The elements of a stream in the columns of a scan."""
    return elements.with_rows(elements.rows.select([name for name, _ in scan.columns]))


def run_stateless(node: Node, elements: Mapping[str, Changes], span: Span) -> Changes:
    """A plan of operators without state over what was just read."""
    if isinstance(node, Scan):
        return read_scan(node, elements[node.stream])
    return node.step({}, run_stateless(node.inputs[0], elements, span), span)[1]


def split(changes: Changes, exchange: Exchange, buckets: int, turn: int) -> dict[int, Changes]:
    """The changes by bucket. `turn` picks the bucket when any will do."""
    changes = changes.plain()
    if len(changes) == 0:
        return {}
    if buckets == 1 or exchange.by == ():
        return {0: changes}
    if exchange.by is None:
        return {turn % buckets: changes}
    keys = [changes.rows.column(name) for name in exchange.by]
    bucket = buckets_of(keys, len(changes), buckets)
    order, bounds = group_order(bucket, np.arange(len(bucket)), buckets)
    return {
        b: changes.take(order[bounds[b] : bounds[b + 1]])
        for b in range(buckets)
        if bounds[b] < bounds[b + 1]
    }
