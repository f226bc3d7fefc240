"""What a plan costs: nanoseconds of one core for every instant of its streams.

The formulas, with their reasons, are in docs/design/cost.md; the prices in plan/prices.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from millstream.algebra.by_operator import entry_for
from millstream.algebra.lifetime import Ends
from millstream.algebra.node import BROADCAST, Node, walk
from millstream.algebra.pattern import Pattern
from millstream.operators import (
    Active,
    AntiJoin,
    Begin,
    Coalesce,
    Copies,
    Dated,
    DeltaStar,
    Distinct,
    Dstream,
    Elements,
    Exchange,
    Feed,
    Fill,
    Filter,
    GroupBy,
    Hop,
    Instants,
    Intersect,
    Istream,
    Join,
    Lateral,
    LookupJoin,
    Match,
    Merge,
    Minus,
    Missed,
    NonRetroactiveJoin,
    Now,
    NowView,
    Over,
    Panes,
    Partial,
    PartialTopK,
    Project,
    Range,
    RangeSlide,
    Recomputed,
    Rematch,
    Retime,
    Retract,
    Rows,
    Rstream,
    Scan,
    SemiJoin,
    Session,
    SingleJoin,
    SkewSplit,
    Stamp,
    Stored,
    Sync,
    SyncAt,
    TableScan,
    Tagged,
    Tagger,
    Ticks,
    TopK,
    Unbounded,
    UnionAll,
    Within,
)
from millstream.plan.distribute import distribute
from millstream.plan.prices import (
    CALENDAR,
    COUNT,
    COVER,
    EMIT,
    GROUP,
    LOOK,
    MADE,
    NUMBER,
    PAIR,
    PROBE,
    QUEUE,
    RANK,
    READ,
    REWRITE,
    ROW,
    SEND,
    SORT,
    STAR,
    STORE,
)
from millstream.plan.row_rates import RateEstimates, size
from millstream.plan.stars import with_stars
from millstream.plan.statistics import Statistics
from millstream.rules.pieces import conditions
from millstream.rules.sizes import is_equality
from millstream.state.by_key import MUCH

NEGATIVE, DIRECT, UPDATE_PATTERN = "negative", "direct", "update_pattern"
STRATEGIES = (UPDATE_PATTERN, DIRECT, NEGATIVE)


def cost_of(plan: Node, statistics: Statistics, strategy: str = UPDATE_PATTERN) -> float:
    """What an optimized plan costs under a strategy, in nanoseconds for every instant."""
    return Costs.of(plan, statistics, strategy).total


@dataclass(frozen=True)
class Costs:
    """A plan as it is carried out, the rows that run through it, and what each node costs."""

    plan: Node
    rates: RateEstimates
    strategy: str

    @staticmethod
    def of(plan: Node, statistics: Statistics, strategy: str = UPDATE_PATTERN) -> Costs:
        placed = distribute(with_stars(plan) if strategy == UPDATE_PATTERN else plan)
        return Costs(placed, RateEstimates.of(placed, statistics), strategy)

    @cached_property
    def total(self) -> float:
        return sum(self.cost(node) for node in walk(self.plan))

    def cost(self, node: Node) -> float:
        """What one node costs, without its inputs."""
        return entry_for(node, COSTS, "COSTS of plan/cost.py")(self, node)

    def rows(self, node: Node) -> float:
        """The rows that all inputs hand over."""
        return sum(self._rows(node, child) for child in node.inputs)

    def out(self, node: Node) -> float:
        rates_of = self.rates.rates_of(node)
        return rates_of.rate + rates_of.back

    def _rows(self, node: Node, child: Node) -> float:
        """The rows that an input hands over; with negative tuples, its ends are rows as well."""
        out = self.out(child)
        return out + self.rates.ends(child) if self._gets_ends(node) else out

    def _gets_ends(self, node: Node) -> bool:
        return self.strategy == NEGATIVE and not node.stateless and not node.moves_rows

    def events(self, node: Node) -> float:
        """The rows that come, are retracted, or leave the inputs."""
        return sum(self.out(child) + self.rates.ends(child) for child in node.inputs)

    def indexes(self, node: Node) -> float:
        """Rows are put into an index, looked for in the other, and sorted again as it grows."""
        return sum(
            self._rows(node, child) * _place(size(self.rates.rates_of(child)))
            for child in node.inputs
        )

    def candidates(self, node: Join | SingleJoin | NonRetroactiveJoin) -> float:
        """The pairs with equal keys: all that come out, and those that fail the other tests."""
        left, right = node.inputs
        handed = [self._rows(node, child) for child in node.inputs]
        plain = sum(self.out(child) for child in node.inputs)
        made = self.out(node) * (sum(handed) / plain if plain else 1.0)
        if all(is_equality(part) for part in conditions(node.condition)):
            return made
        sizes = [size(self.rates.rates_of(child)) for child in (left, right)]
        met = self.rates.partners(node) * handed[0] * sizes[1]
        if not isinstance(node, NonRetroactiveJoin):
            met += self.rates.partners(node) * handed[1] * sizes[0]
        return max(made, met)

    def touched(self, node: SemiJoin | AntiJoin) -> float:
        """The pairs of left rows and partners of which one is new."""
        left, right = node.inputs
        share = self.rates.partners(node)
        return share * (
            self._rows(node, left) * size(self.rates.rates_of(right))
            + self._rows(node, right) * size(self.rates.rates_of(left))
        )

    def changed(self, node: Node, events: float) -> float:
        """The values that a batch is about are looked up once each."""
        values = size(self.rates.rates_of(node))
        return min(events, values * self.rates.steps) * _place(values)

    def kept(self, node: Node) -> float:
        """Rows wait for their ends: in a queue, a calendar or a list, as the pattern allows."""
        return sum(self._kept_of(child) for child in node.inputs)

    def _kept_of(self, child: Node) -> float:
        ends = self.rates.ends(child)
        if self.strategy == NEGATIVE:
            return (QUEUE + MADE) * ends if child.lifetime.ends is Ends.GIVEN else 0.0
        if child.pattern is Pattern.WKS:
            return QUEUE * ends
        if self.strategy == DIRECT:
            return QUEUE * ends + LOOK * size(self.rates.rates_of(child)) * self.rates.steps
        return CALENDAR * ends


def _place(rows: float) -> float:
    """What it costs to put a row into an index of so many, and to look for it in another."""
    return PROBE + SORT * math.log(max(rows, 1.0), 4)


def _nothing(costs: Costs, node: Node) -> float:
    return 0.0


def _row(costs: Costs, node: Node) -> float:
    return ROW * costs.rows(node)


def _scan(costs: Costs, node: Scan) -> float:
    return READ * costs.out(node)


def _exchange(costs: Costs, node: Exchange) -> float:
    return SEND * costs.rows(node) * (2 if node.by == BROADCAST else 1)


def _join(costs: Costs, node: Join | SingleJoin | NonRetroactiveJoin) -> float:
    return costs.indexes(node) + PAIR * costs.candidates(node)


def _match(costs: Costs, node: SemiJoin | AntiJoin) -> float:
    return costs.indexes(node) + COVER * costs.touched(node) + MADE * costs.out(node)


def _delta_star(costs: Costs, node: DeltaStar) -> float:
    rows = costs.rows(node)
    return STAR * rows + costs.changed(node, rows) + MADE * costs.out(node)


def _counted(costs: Costs, node: Distinct | Intersect | Minus) -> float:
    events = costs.events(node)
    made = MADE * costs.out(node) + costs.kept(node)
    return COUNT * events + costs.changed(node, events) + made


def _group_by(costs: Costs, node: GroupBy) -> float:
    events, groups = costs.events(node), size(costs.rates.rates_of(node))
    table = REWRITE * groups * costs.rates.steps
    written = table if groups <= MUCH else costs.changed(node, events)
    return GROUP * events + written + MADE * costs.out(node) + costs.kept(node)


def _top_k(costs: Costs, node: TopK) -> float:
    return RANK * costs.events(node) + costs.kept(node)


def _hop(costs: Costs, node: Hop) -> float:
    return ROW * costs.rows(node) + MADE * costs.out(node)


def _numbered(costs: Costs, node: Rows | Session | TableScan | Tagger | Copies | Dated) -> float:
    return NUMBER * costs.rows(node)


def _synced(costs: Costs, node: Sync | SyncAt) -> float:
    """Rows wait, and what is retracted is added up with what it retracts."""
    back = costs.rates.rates_of(node.inputs[0]).back
    return (ROW + QUEUE) * costs.rows(node) + 2 * COUNT * back


def _within(costs: Costs, node: Within) -> float:
    """The ends of every row are computed; some wait until they come in."""
    return (ROW if node.stateless else ROW + QUEUE) * costs.rows(node)


def _over(costs: Costs, node: Over) -> float:
    """Every row enters a frame, and leaves it."""
    return (GROUP + NUMBER) * costs.rows(node)


def _searched(costs: Costs, node: Match) -> float:
    return (GROUP + NUMBER) * costs.rows(node) + MADE * costs.out(node)


def _panes(costs: Costs, node: Panes) -> float:
    """Every row enters a pane."""
    return GROUP * costs.rows(node)


def _regrouped(costs: Costs, node: Recomputed | Rematch) -> float:
    """The rows of a group are fed again for every event, about a hundred of them."""
    return 100 * GROUP * costs.events(node) + MADE * costs.out(node) + costs.kept(node)


def _fed(costs: Costs, node: Feed) -> float:
    return (GROUP + MADE) * costs.rows(node) * len(node.calls)


def _emitted(costs: Costs, node: Node) -> float:
    return EMIT * costs.events(node) + costs.kept(node)


def _rstream(costs: Costs, node: Rstream) -> float:
    return EMIT * costs.rows(node) + MADE * costs.out(node)


def _stored(costs: Costs, node: Stored) -> float:
    return 0.0 if node.is_shown else STORE * costs.rows(node) + costs.kept(node)


def _lateral(costs: Costs, node: Lateral) -> float:
    return GROUP * costs.rows(node) + MADE * costs.out(node)


def _lookup_join(costs: Costs, node: LookupJoin) -> float:
    return ROW * costs.rows(node) + MADE * costs.out(node)


COSTS: dict[type[Node], Callable[[Costs, Any], float]] = {
    Scan: _scan,
    Ticks: _emitted,
    Instants: _row,
    Stamp: _row,
    Retime: _row,
    Missed: _row,
    Fill: _row,
    Merge: _row,
    Now: _row,
    Range: _row,
    Unbounded: _row,
    RangeSlide: _row,
    Rows: _numbered,
    Hop: _hop,
    Session: _numbered,
    Over: _over,
    Match: _searched,
    Panes: _panes,
    Sync: _synced,
    NowView: _emitted,
    Within: _within,
    SyncAt: _synced,
    Filter: _row,
    Project: _row,
    LookupJoin: _lookup_join,
    Lateral: _lateral,
    TableScan: _numbered,
    Tagger: _numbered,
    Copies: _numbered,
    Dated: _numbered,
    NonRetroactiveJoin: _join,
    Join: _join,
    SingleJoin: _join,
    SemiJoin: _match,
    AntiJoin: _match,
    UnionAll: _row,
    Intersect: _counted,
    Minus: _counted,
    Distinct: _counted,
    DeltaStar: _delta_star,
    Coalesce: _row,
    TopK: _top_k,
    PartialTopK: _top_k,
    Partial: _row,
    GroupBy: _group_by,
    Feed: _fed,
    Recomputed: _regrouped,
    Rematch: _regrouped,
    Istream: _emitted,
    Dstream: _emitted,
    Active: _emitted,
    Rstream: _rstream,
    Elements: _row,
    Tagged: _emitted,
    Stored: _stored,
    Exchange: _exchange,
    Retract: _row,
    SkewSplit: _nothing,
    Begin: _row,
}
"""For every operator, what it costs, in nanoseconds for every instant."""
