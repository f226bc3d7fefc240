"""What a plan costs: nanoseconds of one core for every instant of its streams.

The formulas, with their reasons, are in docs/design/cost.md; the prices in plan/prices.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from millstream.algebra.node import BROADCAST, Node, walk
from millstream.algebra.pattern import Pattern
from millstream.operators import (
    AntiJoin,
    DeltaStar,
    Distinct,
    Dstream,
    Exchange,
    GroupBy,
    Intersect,
    Istream,
    Join,
    LookupJoin,
    Minus,
    NonRetroactiveJoin,
    Rows,
    Rstream,
    Scan,
    SemiJoin,
    SingleJoin,
    SkewSplit,
    Stored,
    TableScan,
    Tagged,
    TopK,
)
from millstream.plan.distribute import distribute
from millstream.plan.prices import (
    CALENDAR,
    COUNT,
    COVER,
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
    TELL,
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
        out, rows = self._out(node), sum(self._rows(node, child) for child in node.inputs)
        match node:
            case Scan():
                return READ * out
            case SkewSplit():
                return 0.0
            case Exchange(by=by):
                return SEND * rows * (2 if by == BROADCAST else 1)
            case Join() | SingleJoin() | NonRetroactiveJoin():
                return self._indexes(node) + PAIR * self._candidates(node)
            case SemiJoin() | AntiJoin():
                return self._indexes(node) + COVER * self._touched(node) + MADE * out
            case DeltaStar():
                return STAR * rows + self._changed(node, rows) + MADE * out
            case Distinct() | Intersect() | Minus():
                events = self._events(node)
                return COUNT * events + self._changed(node, events) + MADE * out + self._kept(node)
            case GroupBy():
                events, groups = self._events(node), size(self.rates.rates_of(node))
                table = REWRITE * groups * self.rates.steps
                written = table if groups <= MUCH else self._changed(node, events)
                return GROUP * events + written + MADE * out + self._kept(node)
            case TopK():
                return RANK * self._events(node) + self._kept(node)
            case Rows() | TableScan():
                return NUMBER * rows
            case Istream() | Dstream() | Tagged():
                return TELL * self._events(node) + self._kept(node)
            case Rstream():
                return TELL * self._events(node) + MADE * out + self._kept(node)
            case Stored(is_shown=True):
                return 0.0
            case Stored():
                return STORE * rows + self._kept(node)
            case LookupJoin():
                return ROW * rows + MADE * out
        return ROW * rows

    def _out(self, node: Node) -> float:
        rates_of = self.rates.rates_of(node)
        return rates_of.rate + rates_of.back

    def _rows(self, node: Node, child: Node) -> float:
        """The rows that an input hands over; with negative tuples, its ends are rows as well."""
        out = self._out(child)
        return out + self.rates.ends(child) if self._is_told_ends(node) else out

    def _is_told_ends(self, node: Node) -> bool:
        return self.strategy == NEGATIVE and not node.stateless and not isinstance(node, Exchange)

    def _events(self, node: Node) -> float:
        """The rows that come, are taken back, or leave the inputs."""
        return sum(self._out(child) + self.rates.ends(child) for child in node.inputs)

    def _indexes(self, node: Node) -> float:
        """Rows are put into an index, looked for in the other, and sorted again as it grows."""
        return sum(
            self._rows(node, child) * _place(size(self.rates.rates_of(child)))
            for child in node.inputs
        )

    def _candidates(self, node: Join | SingleJoin | NonRetroactiveJoin) -> float:
        """The pairs with equal keys: all that come out, and those that fail the other tests."""
        left, right = node.inputs
        told = [self._rows(node, child) for child in node.inputs]
        plain = sum(self._out(child) for child in node.inputs)
        made = self._out(node) * (sum(told) / plain if plain else 1.0)
        if all(is_equality(part) for part in conditions(node.condition)):
            return made
        sizes = [size(self.rates.rates_of(child)) for child in (left, right)]
        met = self.rates.partners(node) * told[0] * sizes[1]
        if not isinstance(node, NonRetroactiveJoin):
            met += self.rates.partners(node) * told[1] * sizes[0]
        return max(made, met)

    def _touched(self, node: SemiJoin | AntiJoin) -> float:
        """The pairs of left rows and partners of which one is new."""
        left, right = node.inputs
        share = self.rates.partners(node)
        return share * (
            self._rows(node, left) * size(self.rates.rates_of(right))
            + self._rows(node, right) * size(self.rates.rates_of(left))
        )

    def _changed(self, node: Node, events: float) -> float:
        """The values that a batch is about are looked up once each."""
        values = size(self.rates.rates_of(node))
        return min(events, values * self.rates.steps) * _place(values)

    def _kept(self, node: Node) -> float:
        """Rows wait for their ends: in a queue, a calendar or a list, as the pattern allows."""
        return sum(self._kept_of(child) for child in node.inputs)

    def _kept_of(self, child: Node) -> float:
        ends = self.rates.ends(child)
        if self.strategy == NEGATIVE:
            return (QUEUE + MADE) * ends if _knows_ends(child) else 0.0
        if child.pattern is Pattern.WKS:
            return QUEUE * ends
        if self.strategy == DIRECT:
            return QUEUE * ends + LOOK * size(self.rates.rates_of(child)) * self.rates.steps
        return CALENDAR * ends


def _place(rows: float) -> float:
    """What it costs to put a row into an index of so many, and to look for it in another."""
    return PROBE + SORT * math.log(max(rows, 1.0), 4)


def _knows_ends(node: Node) -> bool:
    """True where no operator with state has been yet: there ends become negative rows."""
    return all(part.stateless or isinstance(part, Exchange) for part in walk(node))
