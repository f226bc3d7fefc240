"""Opening: queries that join a running job and begin with the content of what runs already.

A node *runs* when the job had it in the batch before. A query that joins is made of nodes that run
and of new ones above them. In its first batch, before all else, the new nodes take one step up to
the heartbeat: what runs below them gives the rows that are there, out of its state. From then on
they step like all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from millstream.algebra.changes import Changes, forever
from millstream.algebra.node import Load, Node
from millstream.algebra.time import DAWN, Span
from millstream.engine.level import Bucket, Level
from millstream.operators import (
    Distinct,
    Exchange,
    Stored,
    TableScan,
    Tagged,
)
from millstream.operators.stored import rows_at
from millstream.operators.to_stream import compact, settle
from millstream.plan.graph import Graph
from millstream.plan.levels import level_of
from millstream.state.chunks import Log, State


@dataclass(frozen=True)
class Running:
    """The nodes of a job that runs: what can be known of others from their states."""

    nodes: frozenset[Node]

    def has_content(self, node: Node) -> bool:
        """Whether the rows that are in a relation at the heartbeat can be found."""
        if isinstance(node, Exchange):
            return self.has_content(node.input)
        if node.is_stream:
            return False
        if node in self.nodes:
            return _shows(node) or Stored(node) in self.nodes or isinstance(node, TableScan)
        return node.follows_content and all(map(self.has_content, node.inputs))

    def is_ready(self, node: Node) -> bool:
        """Whether a node can join so that all it gives from now on is right."""
        if node in self.nodes:
            return True
        if isinstance(node, Exchange) and not node.is_stream:
            return self.has_content(node.input)
        if isinstance(node, Exchange):  # where rows have been read, some wait for the heartbeat
            return level_of(node) > 1 and self.is_ready(node.input)
        if node.is_stream and node.stateless and node.inputs:
            return all(self.is_ready(child) for child in node.inputs)
        return node.follows_content and all(map(self.has_content, node.inputs))

    def can_open(self, root: Node) -> bool:
        """Whether a query with this root can begin with its content: changes of a relation begin
        with the rows that are there."""
        return self.is_ready(root) and (
            not isinstance(root, Tagged) or self.has_content(root.input)
        )


@dataclass(frozen=True)
class Opening:
    """What opens in a batch: the names of queries, and the fingerprints of nodes that are new."""

    queries: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()

    @staticmethod
    def of(roots: Mapping[str, Iterable[Node]], running: Running) -> Opening:
        graph = Graph(tuple(root for mine in roots.values() for root in mine))
        new = frozenset(n.fingerprint for n in graph.nodes if n not in running.nodes)
        return Opening(frozenset(roots), new)

    def is_new(self, node: Node) -> bool:
        return node.fingerprint in self.nodes

    def feeds(self, graph: Graph, tagged: Iterable[Node]) -> list[Exchange]:
        """The exchanges through which rows go that are there already: those with new readers."""
        readers = [n for n in graph.nodes if self.is_new(n)]
        read = {child for node in (*readers, *tagged) for child in node.inputs}
        return [e for e in graph.exchanges if self.is_new(e) or e in read]


@dataclass
class OpeningLevel(Level):
    """One bucket of a level up to the heartbeat, for the nodes that open: those that run give the
    rows that are there, and take no step."""

    opening: Opening = field(kw_only=True)

    def span_of(self, node: Node) -> Span:
        span = self.spans[node]
        return Span(DAWN, span.start, span.begin)

    def given(self, node: Node) -> Changes | None:
        if (elsewhere := super().given(node)) is not None:
            return elsewhere
        if self.opening.is_new(node):
            return None
        return content_of(node, self.load, self.spans[node].start)

    def recalled(self, node: Node, span: Span) -> State:
        """Nothing: the rows that are there come from below."""
        return node.opened(span)

    def counts_rows_of(self, node: Node) -> bool:
        return False

    def first_answer(self, tagged: Tagged) -> Changes:
        """The rows that are there at the heartbeat, as the first changes of a query."""
        instant = self.spans[tagged].start
        rows = self.output(tagged.input).plain()
        rows = rows.keep(rows.exp > instant)
        rows = settle(replace(rows, ts=np.full(len(rows), instant)))
        rows = replace(rows, exp=forever(len(rows)))
        return tagged.step({}, rows, Span(instant - 1, instant, None))[1]


def open_bucket(bucket: Bucket, mail: Mapping[Node, Changes], opening: Opening) -> OpeningLevel:
    """A bucket up to the heartbeat: of its mail it takes the rows that are there by then."""
    level = OpeningLevel(
        bucket.graph,
        bucket.bucket,
        bucket.buckets,
        bucket.spans,
        bucket.load,
        bucket.hot,
        opening=opening,
    )
    for box, changes in mail.items():
        there = level.received if isinstance(box, Exchange) else level.away
        there[box] = changes.keep(changes.ts <= bucket.spans[box].start).in_time_order()
    return level


def after_opening(bucket: Bucket, mail: Mapping[Node, Changes]) -> dict[Node, Changes]:
    """What is left of the mail for the steps of the batch."""
    return {box: c.keep(c.ts > bucket.spans[box].start) for box, c in mail.items()}


def content_of(node: Node, load: Load, instant: int) -> Changes:
    """The rows that are in a relation at an instant, out of the states after it."""
    if _shows(node):
        shown = node.snapshot(load, instant)
        rows = Changes.empty(node.schema) if shown is None else shown
    elif isinstance(node, TableScan):
        rows = _rows_of(load(node.state_name), ("content",), node)
    else:
        rows = rows_at(load(Stored(node).state_name), node.schema, instant)
    return compact(rows.keep(rows.exp > instant))


def _shows(node: Node) -> bool:
    """Whether the rows of a node are in its state, or follow row by row from rows that are in the
    state of a node below."""
    if node.can_snapshot or isinstance(node, Distinct):
        return True
    return node.row_by_row and _shows(node.inputs[0])


def _rows_of(state: State, parts: Iterable[str], node: Node) -> Changes:
    logs = [state.get(name, Log()) for name in parts]
    return Changes.concat([rows for log in logs for rows in log.all()], node.schema)
