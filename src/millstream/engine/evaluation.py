"""Evaluation: the nodes of a plan over the instants of one step, wherever that is done."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.node import Node
from millstream.algebra.time import Span
from millstream.engine.measures import Counts, count
from millstream.operators import Scan
from millstream.operators.failures import FAILED, stream_of
from millstream.state.chunks import State


@dataclass(kw_only=True)
class Evaluation:
    """What the nodes of a plan give in one step. Equal parts are computed once.

    `received` are outputs that are there already: rows that came from elsewhere, and those that
    have been computed. `states` collects the new states of the operators, `counts` their rows,
    and `failed` tuples that could not be taken, by the stream that they came from.
    """

    received: dict[Node, Changes] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)
    counts: Counts = field(default_factory=dict)
    failed: list[tuple[str, pa.RecordBatch]] = field(default_factory=list)

    @abstractmethod
    def span_of(self, node: Node) -> Span:
        """The instants of the step, for a node."""

    def load(self, name: str) -> State:
        """The state of a name, as it was left by the step before."""
        return {}

    def recalled(self, node: Node, span: Span) -> State:
        """The state with which a node goes into the step."""
        return node.recalled(self.load, span)

    def given(self, node: Node) -> Changes | None:
        """What a node gives that is not carried out here; None for one that is."""
        return None

    def counts_rows_of(self, node: Node) -> bool:
        """Whether the rows of a node are to be counted here."""
        return True

    def output(self, node: Node) -> Changes:
        """The changes that a node gives in this step."""
        if node not in self.received:
            given = self.given(node)
            self.received[node] = self._computed(node) if given is None else given
        return self.received[node]

    def _computed(self, node: Node) -> Changes:
        changes = [self.output(child) for child in node.inputs]
        if not node.accepts_previous:
            changes = [given.plain() for given in changes]
        span = self.span_of(node)
        state, result = node.step(self.recalled(node, span), *changes, span)
        if FAILED in state:
            self.failed.append((stream_of(node), state[FAILED]))
            state = {name: part for name, part in state.items() if name != FAILED}
        if not node.stateless:
            self.states[node.state_name] = state
        if self.counts_rows_of(node):
            rows = [len(g) if self.counts_rows_of(c) else 0 for c, g in zip(node.inputs, changes)]
            count(self.counts, node, rows, result)
        return result


@dataclass
class Reading(Evaluation):
    """Plans of operators without state over what was just read."""

    elements: Mapping[str, Changes]
    span: Span

    def span_of(self, node: Node) -> Span:
        return self.span

    def given(self, node: Node) -> Changes | None:
        """The elements of a scan; none for a stream of which nothing was read."""
        if not isinstance(node, Scan):
            return None
        there = self.elements.get(node.stream)
        result = Changes.empty(node.schema) if there is None else read_scan(node, there)
        count(self.counts, node, [], result)
        return result


def read_scan(scan: Scan, elements: Changes) -> Changes:
    """The elements of a stream in the columns of a scan."""
    return elements.with_rows(elements.rows.select([name for name, _ in scan.columns]))
