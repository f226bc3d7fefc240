"""One bucket of one level: all operators of the graph that run there, over the whole batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.evaluate import computed_once
from millstream.algebra.facts import Probe
from millstream.algebra.node import BROADCAST, Load, Node, home_of
from millstream.algebra.time import INFINITY, Span
from millstream.engine.evaluation import Evaluation
from millstream.engine.hot_keys import STAYS, HotKeys
from millstream.engine.in_parts import InParts
from millstream.engine.index_over_constants import Choosing
from millstream.engine.measures import Counts, add_all
from millstream.operators import Exchange, SkewSplit
from millstream.plan.graph import Graph
from millstream.state.chunks import Log, State
from millstream.state.pending import released

STEP_ROWS = 131_072
"""A batch is worked through in steps of about this many rows, so that columns stay in the cache."""

SEARCHING = 8
"""Where rows are tested against an index, and do not become more, steps are so many times as long:
looking through the chunks of a wide window then costs less for every row. So they are where a step
costs what it touches: of many partitions, a short one brings few rows each."""


@dataclass
class Level(Evaluation):
    """The operators of one level in one bucket, over the instants of one step.

    `received` are the rows of exchanges, `away` those that came by skew splits. The `last` one of a
    batch is for what is asked for when all steps are done.
    """

    graph: Graph
    bucket: int
    buckets: int
    spans: Mapping[Node, Span]
    saved: Load
    hot: HotKeys
    away: dict[Node, Changes] = field(default_factory=dict)
    last: bool = False
    choosing: Choosing | None = None
    """Answers that many queries find together, in the last step."""

    def gives(self, top: Node) -> bool:
        """Whether a node of this level is to be asked for in this step."""
        number = self.graph.level[top]
        return (top in self.graph.late.get(number, ())) == self.last

    def span_of(self, node: Node) -> Span:
        return self.spans[node]

    def load(self, name: str) -> State:
        return self.saved(name)

    def given(self, node: Node) -> Changes | None:
        """Nothing of what lies in another bucket; the rows that are left to a skew split."""
        home = home_of(self.graph.distributions[node], self.buckets)
        if home is not None and home != self.bucket:
            return Changes.empty(node.schema)
        if self.choosing is not None and not self.load(node.state_name):
            return self.choosing.answer(node)
        return self._with_skew_splits(node) if isinstance(node, SkewSplit) else None

    def counts_rows_of(self, node: Node) -> bool:
        """Rows that lie in every bucket are counted in the first."""
        return self.bucket == 0 or self.graph.distributions[node] != BROADCAST

    def _with_skew_splits(self, skew_split: SkewSplit) -> Changes:
        """The rows of the exchange that stay, and those that came by the skew split."""
        here = self.output(skew_split.input)
        ways = self.hot.ways(skew_split, here)
        if ways is not None:
            here = here.keep(ways == STAYS)
        return Changes.concat([here, self.away[skew_split]], skew_split.schema).in_time_order()


@dataclass
class Bucket:
    """One bucket of one level through a whole batch: what waits, the steps, and the states after.

    Law: the number of steps does not matter, since operators take every instant whole and once.
    Every component has steps of its own: many small queries do not step at the pace of their sum.
    """

    graph: Graph
    number: int
    bucket: int
    buckets: int
    spans: Mapping[Node, Span]
    saved: Mapping[str, State]
    hot: HotKeys
    states: dict[str, State] = field(default_factory=dict)
    counts: Counts = field(default_factory=dict)
    failed: list[tuple[str, pa.RecordBatch]] = field(default_factory=list)

    @property
    def boxes(self) -> list[Node]:
        """The exchanges and skew splits whose rows are wanted here."""
        return [b for b in self.graph.boxes if self.number in self.graph.landings[b]]

    def steps(self, mail: Mapping[Node, Sequence[Changes]]) -> Iterator[Level]:
        """Work through the batch. The caller asks each level for the outputs that it gives."""
        due = {box: self._release(box, mail[box]) for box in self.boxes}
        components = self.graph.components[self.number]
        cuts = [self._cuts(component, due) for component in components]
        synced: dict[Node, list[Changes]] = {s: [] for s in self.graph.late[self.number].values()}
        for i in range(max(map(len, cuts), default=1)):
            spans = dict(self.spans)
            level = Level(self.graph, self.bucket, self.buckets, spans, self.load, self.hot)
            for component, ends in zip(components, cuts):
                if i < len(ends):
                    spans.update((node, _part(self.spans[node], ends, i)) for node in component)
                    for box, changes in _arriving(component, due, spans):
                        there = level.received if isinstance(box, Exchange) else level.away
                        there[box] = changes
                else:
                    level.received.update((node, Changes.empty(node.schema)) for node in component)
            yield level
            for sync, parts in synced.items():
                parts.append(level.output(sync))
            self._keep(level)
        if synced:
            level = Level(self.graph, self.bucket, self.buckets, self.spans, self.load, self.hot)
            level.last = True
            level.choosing = Choosing(
                self.graph.choices[self.number], self.graph.late[self.number], level.output
            )
            for sync, parts in synced.items():
                level.received[sync] = _whole(sync, parts, self.spans[sync])
            with computed_once():
                yield level
            self._keep(level)

    def _keep(self, level: Level) -> None:
        """Take over what a step has left."""
        self.states.update(level.states)
        add_all(self.counts, [level.counts])
        self.failed += level.failed

    def load(self, name: str) -> State:
        return self.states[name] if name in self.states else self.saved.get(name, {})

    def _release(self, box: Node, parts: Sequence[Changes]) -> InParts:
        """What has come and is final by now, in the order of time; rows of open instants wait."""
        if self.graph.level[box] > 1:
            return InParts.of(parts, box.schema)
        log = self.saved.get(box.state_name, {}).get("waiting", Log())
        assert isinstance(log, Log)
        waiting, due = released(log, parts, self.spans[box], box.schema)
        self.states[box.state_name] = {"waiting": waiting} if waiting.chunks else {}
        return InParts.of(due, box.schema)

    def _cuts(self, component: tuple[Node, ...], due: Mapping[Node, InParts]) -> list[int]:
        """The last instants of the steps of a component, from the rows that come to it."""
        parts = [due[node].ts for node in component if node in due]
        end = self.spans[component[0]].end
        long = _only_tests(component) or any(node.long_steps for node in component)
        most = STEP_ROWS * (SEARCHING if long else 1)
        made = {cut for node in component for cut in node.cuts(self.spans[node], most)}
        if sum(map(len, parts)) <= most:
            return [*sorted(made), end]
        stamps = parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts), kind="stable")
        inner = made | {int(t) for t in stamps[most::most] if t < end}
        return [*sorted(inner), end]


def _whole(sync: Node, parts: Sequence[Changes], span: Span) -> Changes:
    """What a sync has handed on in a batch. Rows of a relation with a key know those before them,
    where all that happens to them happens in this batch or is told of later."""
    whole = Changes.concat(parts, sync.schema)
    open_ones = whole.exp == INFINITY
    if sync.key is None or not (open_ones | ((whole.weight > 0) & (whole.exp <= span.end))).all():
        return whole
    return whole.chained(sync.key)


def _only_tests(component: tuple[Node, ...]) -> bool:
    """True when rows of a component are tested for partners, but none are paired with them."""
    probes = {node.probe for node in component}
    return Probe.TESTS in probes and Probe.PAIRS not in probes


def _part(span: Span, ends: list[int], step: int) -> Span:
    """The instants of a step."""
    return Span(ends[step - 1] if step else span.start, ends[step], span.begin)


def _arriving(
    component: tuple[Node, ...], due: Mapping[Node, InParts], spans: Mapping[Node, Span]
) -> Iterator[tuple[Node, Changes]]:
    """The rows that come to the exchanges and skew splits of a component in a step."""
    for node in component:
        if node in due:
            yield node, due[node].within(spans[node])
