"""How many rows run through a plan: measured where a run has told it, guessed elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from millstream.algebra.expressions import Expression, columns_of
from millstream.algebra.node import Node, walk
from millstream.algebra.pattern import Pattern
from millstream.algebra.time import Domain
from millstream.operators import (
    AntiJoin,
    DeltaStar,
    Distinct,
    Dstream,
    Filter,
    GroupBy,
    Intersect,
    Istream,
    Join,
    LookupJoin,
    Minus,
    NonRetroactiveJoin,
    Now,
    Range,
    RangeSlide,
    Rows,
    Rstream,
    Scan,
    SemiJoin,
    SingleJoin,
    Stored,
    TableScan,
    Tagged,
    TopK,
    Unbounded,
    UnionAll,
)
from millstream.plan.names import lineage_of, name_of
from millstream.plan.statistics import RowRates, Statistics, share_key
from millstream.rules.pieces import conditions
from millstream.rules.sizes import (
    ENDLESS,
    PARTITIONS,
    PASSES,
    UNITS_PER_ROW,
    equality_share,
    is_equality,
    size_of,
)

HALF = 0.5
"""The share of rows that a Distinct, SemiJoin or AntiJoin lets pass of which nothing is known."""

BATCHES = {Domain.TIMESTAMP: 1e-6}
OTHER_BATCHES = 1e-3
"""Batches for every instant: one a second; where instants are numbers, one for a thousand."""


@dataclass
class RateEstimates:
    """The flow of every node of a plan, each computed once. `guessed` has those not measured."""

    statistics: Statistics
    steps: float
    done: dict[Node, RowRates] = field(default_factory=dict)

    @staticmethod
    def of(plan: Node, statistics: Statistics) -> RateEstimates:
        domain = next((n.domain for n in walk(plan) if isinstance(n, Scan)), Domain.INTEGER)
        told = [
            statistics.rates[n].steps for n in map(name_of, walk(plan)) if n in statistics.rates
        ]
        return RateEstimates(statistics, max(told, default=BATCHES.get(domain, OTHER_BATCHES)))

    def rates_of(self, node: Node) -> RowRates:
        if node not in self.done:
            guess = self._guess(node, [self.rates_of(child) for child in node.inputs])
            known = self.statistics.rates.get(name_of(node))
            if known is not None and known.size is None:
                known = replace(known, size=guess.size)
            self.done[node] = guess if known is None else known
        return self.done[node]

    def is_measured(self, node: Node) -> bool:
        return name_of(node) in self.statistics.rates

    def share(self, node: Node, otherwise: float) -> float:
        """The share of rows, or pairs, that a node lets pass: as it was measured anywhere."""
        return self.statistics.shares.get(share_key(node) or "", otherwise)

    def partners(self, node: Node) -> float:
        """The share of pairs of a node's inputs that are equal where its condition wants it."""
        left, right = (size(self.rates_of(child)) for child in node.inputs)
        return equality_share(left, right, _parts(node))

    def ends(self, node: Node) -> float:
        """Rows that leave at an end that is known, in an instant: those that nobody takes back."""
        rates_of = self.rates_of(node)
        return 0.0 if node.pattern is Pattern.MON else max(rates_of.rate - rates_of.back, 0.0)

    def _guess(self, node: Node, below: list[RowRates]) -> RowRates:
        match node, below:
            case Scan(domain=domain), _:
                return RowRates(1.0 / UNITS_PER_ROW.get(domain, 1.0), 0.0, 0.0)
            case TableScan(), _:
                changes = 0.0 if node.is_static or not below else below[0].rate
                return RowRates(changes, changes, size_of(node))
            case ((Join() | SingleJoin() | NonRetroactiveJoin()), [left, right]):
                return self._joined(node, left, right)
            case ((SemiJoin() | AntiJoin()), [left, right]):
                return self._matched(node, left, right)
            case ((Intersect() | Minus()), [left, right]):
                told = HALF * (left.rate + right.rate)
                return RowRates(told, told, HALF * size(left))
            case UnionAll(), [left, right]:
                return RowRates(
                    left.rate + right.rate, left.back + right.back, size(left) + size(right)
                )
            case _, [only]:
                return self._of_one(node, only)
        return RowRates(0.0, 0.0, 1.0)

    def _joined(self, node: Node, left: RowRates, right: RowRates) -> RowRates:
        tests = [part for part in _parts(node) if not is_equality(part)]
        share = self.share(node, self.partners(node) * PASSES ** len(tests))
        if isinstance(node, NonRetroactiveJoin):
            met = share * size(right)
            return RowRates(left.rate * met, left.back * met, size(left) * met)
        return RowRates(
            share * (left.rate * size(right) + right.rate * size(left)),
            share * (left.back * size(right) + right.back * size(left)),
            share * size(left) * size(right),
        )

    def _matched(self, node: SemiJoin | AntiJoin, left: RowRates, right: RowRates) -> RowRates:
        """Left rows come, and those that are there change with their partners."""
        share = min(self.share(node, HALF), 1.0)
        touched = self.partners(node) * size(left)
        comes, goes = right.rate * touched, (right.back + self.ends(node.right)) * touched
        if isinstance(node, AntiJoin):
            return RowRates(
                share * (left.rate + goes), share * (left.back + comes), share * size(left)
            )
        back = share * (left.back + right.back * touched)
        return RowRates(share * left.rate + (1 - share) * comes, back, share * size(left))

    def _of_one(self, node: Node, below: RowRates) -> RowRates:
        rate, back, events = below.rate, below.back, self._events(node)
        match node:
            case Filter(condition=condition):
                share = self.share(node, PASSES ** len(conditions(condition)))
                return RowRates(rate * share, back * share, size(below) * share)
            case Range(length=length):
                return replace(below, size=rate * (length + 1))
            case RangeSlide(length=int(length)):
                return replace(below, size=rate * (length + 1))
            case Now():
                return replace(below, size=rate)
            case Unbounded() | RangeSlide():
                return replace(below, size=ENDLESS)
            case Rows(count=count, partition_by=keys):
                most = count * (PARTITIONS if keys else 1.0)
                return RowRates(rate, rate, min(most, ENDLESS))
            case DeltaStar():
                share = self._different(node, below)
                return RowRates(rate * share, back * share, size(below) * share)
            case Distinct():
                share = self._different(node, below)
                gone = (back + self.ends(node.input)) * share
                return RowRates(rate * share, gone, size(below) * share)
            case GroupBy(keys=keys):
                groups = size(below) * PASSES if keys else 1.0
                return RowRates(events, min(events, groups * self.steps), groups)
            case TopK(limit=limit, partition_by=keys):
                most = ENDLESS if limit is None else limit * (PARTITIONS if keys else 1.0)
                share = min(1.0, most / max(size(below), 1.0))
                return RowRates(events * share, events * share, min(most, size(below)))
            case LookupJoin(left_keys=keys, table=table):
                met = 1.0 if keys else float(table.rows.num_rows)
                return RowRates(rate * met, back * met, size(below) * met)
            case Istream():
                return RowRates(rate, 0.0, 0.0)
            case Dstream():
                return RowRates(events - rate, 0.0, 0.0)
            case Rstream():
                return RowRates(size(below) * min(events, 1.0), 0.0, 0.0)
            case Tagged():
                return RowRates(events, 0.0, 0.0)
            case Stored():
                return RowRates(0.0, 0.0, size(below))
        return below

    def _different(self, node: Distinct | DeltaStar, below: RowRates) -> float:
        """The share of rows that are different; constants are one row or two."""
        if not any(columns_of(value) for value in lineage_of(node).values()):
            return min(1.0, 2.0 / max(size(below), 1.0))
        return min(self.share(node, HALF), 1.0)

    def _events(self, node: Node) -> float:
        """The rows that come, are taken back, or leave the input, in an instant."""
        below = node.inputs[0]
        rates_of = self.rates_of(below)
        return rates_of.rate + rates_of.back + self.ends(below)


def size(rates_of: RowRates) -> float:
    return 0.0 if rates_of.size is None else rates_of.size


def _parts(node: Node) -> list[Expression]:
    condition = getattr(node, "condition", None)
    return [] if condition is None else conditions(condition)
