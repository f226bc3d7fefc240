"""How many rows run through a plan: measured where a run has counted them, guessed elsewhere.

Long because it has a guess for every operator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from millstream.algebra.by_operator import entry_for
from millstream.algebra.expressions import Expression, columns_of
from millstream.algebra.frame import Units
from millstream.algebra.node import Node, walk
from millstream.algebra.pattern import Pattern
from millstream.algebra.time import Domain
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

ROWS_PER_ELEMENT = 10.0
"""So many rows of a stream belong to each element of a match of which nothing is known."""

BATCHES = {Domain.TIMESTAMP: 1e-6}
OTHER_BATCHES = 1e-3
"""Batches for every instant: one a second; where instants are numbers, one for a thousand."""


@dataclass
class RateEstimates:
    """The row rates of every node of a plan, each computed once: measured, or else guessed."""

    statistics: Statistics
    steps: float
    done: dict[Node, RowRates] = field(default_factory=dict)

    @staticmethod
    def of(plan: Node, statistics: Statistics) -> RateEstimates:
        domain = plan.time_domain or Domain.INTEGER
        measured = [
            statistics.rates[n].steps for n in map(name_of, walk(plan)) if n in statistics.rates
        ]
        return RateEstimates(statistics, max(measured, default=BATCHES.get(domain, OTHER_BATCHES)))

    def rates_of(self, node: Node) -> RowRates:
        if node not in self.done:
            below = [self.rates_of(child) for child in node.inputs]
            guess = entry_for(node, GUESSES, "GUESSES of plan/row_rates.py")(self, node, *below)
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
        """Rows that leave at a known end, in an instant: those that are not retracted."""
        rates_of = self.rates_of(node)
        return 0.0 if node.pattern is Pattern.MON else max(rates_of.rate - rates_of.back, 0.0)

    def different(self, node: Distinct | DeltaStar, below: RowRates) -> float:
        """The share of rows that are different; constants are one row or two."""
        if not any(columns_of(value) for value in lineage_of(node).values()):
            return min(1.0, 2.0 / max(size(below), 1.0))
        return min(self.share(node, HALF), 1.0)

    def events(self, node: Node) -> float:
        """The rows that come, are retracted, or leave the input, in an instant."""
        below = node.inputs[0]
        rates_of = self.rates_of(below)
        return rates_of.rate + rates_of.back + self.ends(below)


def size(rates_of: RowRates) -> float:
    return 0.0 if rates_of.size is None else rates_of.size


def _parts(node: Node) -> list[Expression]:
    condition = getattr(node, "condition", None)
    return [] if condition is None else conditions(condition)


def _scan(known: RateEstimates, node: Scan) -> RowRates:
    return RowRates(1.0 / UNITS_PER_ROW.get(node.domain, 1.0), 0.0, 0.0)


def _table_scan(known: RateEstimates, node: TableScan, *below: RowRates) -> RowRates:
    changes = 0.0 if node.is_static or not below else below[0].rate
    return RowRates(changes, changes, size_of(node))


def _tagger(known: RateEstimates, node: Tagger, below: RowRates) -> RowRates:
    return RowRates(below.rate, below.rate, size_of(node))


def _same(known: RateEstimates, node: Node, below: RowRates) -> RowRates:
    return below


def _filter(known: RateEstimates, node: Filter, below: RowRates) -> RowRates:
    share = known.share(node, PASSES ** len(conditions(node.condition)))
    return RowRates(below.rate * share, below.back * share, size(below) * share)


def _now(known: RateEstimates, node: Now, below: RowRates) -> RowRates:
    return replace(below, size=below.rate)


def _unbounded(known: RateEstimates, node: Unbounded | Copies, below: RowRates) -> RowRates:
    return replace(below, size=ENDLESS)


def _range(known: RateEstimates, node: Range | RangeSlide, below: RowRates) -> RowRates:
    length = node.length
    return replace(below, size=ENDLESS if length is None else below.rate * (length + 1))


def _within(known: RateEstimates, node: Within, below: RowRates) -> RowRates:
    lengths = [length for length in node.lengths if length is not None]
    most = below.rate * max(0, *lengths, 0) if lengths else size(below)
    return replace(below, size=min(size(below), most))


def _ticks(known: RateEstimates, node: Ticks | NowView, time: RowRates) -> RowRates:
    return RowRates(1.0 / (node.points.longest_wait or ENDLESS), 0.0, 0.0)


def _synced(known: RateEstimates, node: Sync, below: RowRates) -> RowRates:
    """Between two points no more rows come or are retracted than there are."""
    most = size(below) / (node.points.longest_wait or 1)
    return replace(below, rate=min(below.rate, most), back=min(below.back, most))


def _synced_at(known: RateEstimates, node: SyncAt, below: RowRates, points: RowRates) -> RowRates:
    most = size(below) * points.rate
    gone = below.back + known.ends(node.left)
    return replace(below, rate=min(below.rate, most), back=min(gone, most))


def _rows(known: RateEstimates, node: Rows, below: RowRates) -> RowRates:
    most = node.count * (PARTITIONS if node.partition_by else 1.0)
    return RowRates(below.rate, below.rate, min(most, ENDLESS))


def _hop(known: RateEstimates, node: Hop, below: RowRates) -> RowRates:
    """A row comes in once for every slot that it is in."""
    return RowRates(below.rate * node.length / node.every, 0.0, below.rate * node.length)


def _session(known: RateEstimates, node: Session, below: RowRates) -> RowRates:
    return RowRates(below.rate, below.rate, size_of(node))


def _over(known: RateEstimates, node: Over | Panes, below: RowRates) -> RowRates:
    """A row for every row, or for every one that a slide yields; two if those that leave count."""
    slide = node.frame.slide or 1
    each = slide if node.frame.units is Units.ROWS else _per_slot(slide, node)
    return replace(below, rate=below.rate * (1 + node.frame.active) / max(each, 1.0))


def _found(known: RateEstimates, node: Match, below: RowRates) -> RowRates:
    """A match for every ten rows of each element."""
    return replace(below, rate=below.rate / (ROWS_PER_ELEMENT * node.search.length))


def _per_slot(slide: int, node: Over | Panes) -> float:
    return slide / UNITS_PER_ROW.get(node.time_domain or Domain.INTEGER, 1.0)


def _join(known: RateEstimates, node: Join | SingleJoin, *sides: RowRates) -> RowRates:
    left, right = sides
    share = _pairs(known, node)
    return RowRates(
        share * (left.rate * size(right) + right.rate * size(left)),
        share * (left.back * size(right) + right.back * size(left)),
        share * size(left) * size(right),
    )


def _met_before(known: RateEstimates, node: NonRetroactiveJoin, *sides: RowRates) -> RowRates:
    left, right = sides
    met = _pairs(known, node) * size(right)
    return RowRates(left.rate * met, left.back * met, size(left) * met)


def _pairs(known: RateEstimates, node: Node) -> float:
    """The share of pairs that meet the condition."""
    tests = [part for part in _parts(node) if not is_equality(part)]
    return known.share(node, known.partners(node) * PASSES ** len(tests))


def _semi_join(known: RateEstimates, node: SemiJoin, left: RowRates, right: RowRates) -> RowRates:
    """Left rows come, and those that are there change with their partners."""
    share = min(known.share(node, HALF), 1.0)
    touched = known.partners(node) * size(left)
    back = share * (left.back + right.back * touched)
    comes = (1 - share) * right.rate * touched
    return RowRates(share * left.rate + comes, back, share * size(left))


def _anti_join(known: RateEstimates, node: AntiJoin, left: RowRates, right: RowRates) -> RowRates:
    """Left rows come, leave with a partner, and come back when it leaves."""
    share = min(known.share(node, HALF), 1.0)
    touched = known.partners(node) * size(left)
    comes, goes = right.rate * touched, (right.back + known.ends(node.right)) * touched
    return RowRates(share * (left.rate + goes), share * (left.back + comes), share * size(left))


def _both(
    known: RateEstimates, node: UnionAll | Merge, left: RowRates, right: RowRates
) -> RowRates:
    return RowRates(left.rate + right.rate, left.back + right.back, size(left) + size(right))


def _half(known: RateEstimates, node: Node, left: RowRates, right: RowRates) -> RowRates:
    changes = HALF * (left.rate + right.rate)
    return RowRates(changes, changes, HALF * size(left))


def _delta_star(known: RateEstimates, node: DeltaStar, below: RowRates) -> RowRates:
    share = known.different(node, below)
    return RowRates(below.rate * share, below.back * share, size(below) * share)


def _distinct(known: RateEstimates, node: Distinct, below: RowRates) -> RowRates:
    share = known.different(node, below)
    gone = (below.back + known.ends(node.input)) * share
    return RowRates(below.rate * share, gone, size(below) * share)


def _group_by(known: RateEstimates, node: GroupBy, below: RowRates) -> RowRates:
    events = known.events(node)
    groups = size(below) * PASSES if node.keys else 1.0
    return RowRates(events, min(events, groups * known.steps), groups)


def _top_k(known: RateEstimates, node: TopK, below: RowRates) -> RowRates:
    each = PARTITIONS if node.partition_by else 1.0
    most = ENDLESS if node.limit is None else node.limit * each
    passed = known.events(node) * min(1.0, most / max(size(below), 1.0))
    return RowRates(passed, passed, min(most, size(below)))


def _lookup_join(known: RateEstimates, node: LookupJoin, below: RowRates) -> RowRates:
    met = 1.0 if node.left_keys else float(node.table.rows.num_rows)
    return RowRates(below.rate * met, below.back * met, size(below) * met)


def _regrouped(known: RateEstimates, node: Recomputed | Rematch, below: RowRates) -> RowRates:
    """Whatever happens in a group takes its rows back, and gives new ones."""
    moved = 2 * below.rate
    return RowRates(moved, moved, size(below))


def _istream(known: RateEstimates, node: Istream, below: RowRates) -> RowRates:
    return RowRates(below.rate, 0.0, 0.0)


def _dstream(known: RateEstimates, node: Dstream, below: RowRates) -> RowRates:
    return RowRates(known.events(node) - below.rate, 0.0, 0.0)


def _active(known: RateEstimates, node: Active, below: RowRates) -> RowRates:
    return RowRates(min(known.events(node), 1.0), 0.0, 0.0)


def _rstream(
    known: RateEstimates, node: Rstream, below: RowRates, points: RowRates | None = None
) -> RowRates:
    instants = sum(1.0 / (each.period or 1) for each in node.every)
    instants += 0.0 if points is None else points.rate
    return RowRates(size(below) * min(instants, 1.0), 0.0, 0.0)


def _tagged(known: RateEstimates, node: Tagged, below: RowRates) -> RowRates:
    return RowRates(known.events(node), 0.0, 0.0)


def _stored(known: RateEstimates, node: Stored, below: RowRates) -> RowRates:
    return RowRates(0.0, 0.0, size(below))


GUESSES: dict[type[Node], Callable[..., RowRates]] = {
    Scan: _scan,
    Ticks: _ticks,
    Instants: _same,
    Stamp: _same,
    Retime: _same,
    Missed: _same,
    Fill: _same,
    Merge: _both,
    Now: _now,
    Range: _range,
    Unbounded: _unbounded,
    RangeSlide: _range,
    Rows: _rows,
    Hop: _hop,
    Session: _session,
    Over: _over,
    Match: _found,
    Panes: _over,
    Sync: _synced,
    NowView: _ticks,
    Within: _within,
    SyncAt: _synced_at,
    Filter: _filter,
    Project: _same,
    LookupJoin: _lookup_join,
    Lateral: _same,
    TableScan: _table_scan,
    Tagger: _tagger,
    Copies: _unbounded,
    Dated: _same,
    NonRetroactiveJoin: _met_before,
    Join: _join,
    SingleJoin: _join,
    SemiJoin: _semi_join,
    AntiJoin: _anti_join,
    UnionAll: _both,
    Intersect: _half,
    Minus: _half,
    Distinct: _distinct,
    DeltaStar: _delta_star,
    Coalesce: _same,
    TopK: _top_k,
    PartialTopK: _top_k,
    Partial: _same,
    GroupBy: _group_by,
    Feed: _same,
    Recomputed: _regrouped,
    Rematch: _regrouped,
    Istream: _istream,
    Dstream: _dstream,
    Active: _active,
    Rstream: _rstream,
    Elements: _same,
    Tagged: _tagged,
    Stored: _stored,
    Exchange: _same,
    Retract: _same,
    SkewSplit: _same,
    Begin: _same,
}
"""For every operator, the rows it gives when those of its inputs are known, about."""
