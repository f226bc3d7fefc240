"""How many rows a plan may hold at an instant: a rough guess, for choosing between plans."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from millstream.algebra.by_operator import entry_for
from millstream.algebra.expressions import Call, Column, Expression
from millstream.algebra.node import Node
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
from millstream.rules.pieces import conditions
from millstream.rules.whole import Whole

ENDLESS = 1e9
PARTITIONS = 100.0
UNITS_PER_ROW = {Domain.TIMESTAMP: 1_000.0}
"""Streams in microseconds are taken to bring a thousand rows a second; others one at an instant."""

SESSION_GAPS = 10
"""A session is taken to last so many times the gap that ends it."""

PASSES = 0.25
"""The share of rows that meet a condition of which nothing is known."""


@lru_cache(maxsize=10_000)
def size_of(node: Node) -> float:
    """The rows a plan holds at an instant, about; at least one.

    Law: it depends on the plan alone, so the same plan is chosen in every run.
    """
    if isinstance(node, Whole):
        return size_of(node.input)
    return min(max(entry_for(node, SIZES, "SIZES of rules/sizes.py")(node), 1.0), ENDLESS**2)


def joined_size(left: float, right: float, parts: Iterable[Expression]) -> float:
    """The pairs of two inputs of these sizes that meet the conditions, about."""
    size = left * right
    for part in parts:
        size *= 1.0 / max(left, right) if is_equality(part) else PASSES
    return min(max(size, 1.0), ENDLESS**2)


def equality_share(left: float, right: float, parts: Iterable[Expression]) -> float:
    """The share of the pairs of two inputs of these sizes that are equal where it is asked for.

    >>> equality_share(20.0, 100.0, [])
    1.0
    """
    share = 1.0
    for part in parts:
        share *= 1.0 / max(left, right, 1.0) if is_equality(part) else 1.0
    return share


def is_equality(part: Expression) -> bool:
    """Whether a condition wants two columns equal, or equal or both NULL."""
    match part:
        case Call(function="=", arguments=(Column(), Column())):
            return True
        case Call(
            function="not",
            arguments=(Call(function="distinct_from", arguments=(Column(), Column())),),
        ):
            return True
    return False


def _one(node: Node) -> float:
    return 1.0


def _endless(node: Node) -> float:
    return ENDLESS


def _same(node: Node) -> float:
    return size_of(node.inputs[0])


def _half(node: Node) -> float:
    return size_of(node.inputs[0]) / 2


def _range(node: Range) -> float:
    return _rows_in(node.length, node)


def _within(node: Within) -> float:
    lengths = [length for length in node.lengths if length is not None]
    return _rows_in(max(lengths), node) if lengths else size_of(node.input)


def _range_slide(node: RangeSlide) -> float:
    return ENDLESS if node.length is None else _rows_in(node.length, node)


def _rows(node: Rows) -> float:
    return min(node.count * (PARTITIONS if node.partition_by else 1.0), ENDLESS)


def _hop(node: Hop) -> float:
    return _rows_in(node.length, node)


def _session(node: Session) -> float:
    every = PARTITIONS if node.partition_by else 1.0
    return min(_rows_in(SESSION_GAPS * node.gap, node) * every, ENDLESS)


def _top_k(node: TopK) -> float:
    most = ENDLESS
    if node.limit is not None:
        most = node.limit * (PARTITIONS if node.partition_by else 1.0)
    return min(most, size_of(node.input))


def _group_by(node: GroupBy) -> float:
    return size_of(node.input) * PASSES if node.keys else 1.0


def _filter(node: Filter) -> float:
    return size_of(node.input) * PASSES ** len(conditions(node.condition))


def _join(node: Join) -> float:
    return joined_size(size_of(node.left), size_of(node.right), conditions(node.condition))


def _lookup_join(node: LookupJoin) -> float:
    return size_of(node.input) * (1.0 if node.left_keys else node.table.rows.num_rows)


def _union_all(node: UnionAll) -> float:
    return size_of(node.left) + size_of(node.right)


def _tagger(node: Tagger) -> float:
    return PARTITIONS


def _table_scan(node: TableScan) -> float:
    return float(node.table.rows.num_rows) or PARTITIONS


def _rows_in(length: int, node: Node) -> float:
    return 1 + length / UNITS_PER_ROW.get(node.time_domain or Domain.INTEGER, 1.0)


SIZES: dict[type[Node], Callable[[Any], float]] = {
    Scan: _one,
    Ticks: _one,
    Instants: _one,
    Stamp: _same,
    Retime: _one,
    Missed: _one,
    Fill: _one,
    Merge: _one,
    Now: _one,
    Range: _range,
    Unbounded: _endless,
    RangeSlide: _range_slide,
    Rows: _rows,
    Hop: _hop,
    Session: _session,
    Over: _same,
    Match: _same,
    Panes: _same,
    Sync: _same,
    NowView: _one,
    Within: _within,
    SyncAt: _same,
    Filter: _filter,
    Project: _same,
    LookupJoin: _lookup_join,
    Lateral: _same,
    TableScan: _table_scan,
    Tagger: _tagger,
    Copies: _endless,
    Dated: _same,
    NonRetroactiveJoin: _same,
    Join: _join,
    SingleJoin: _same,
    SemiJoin: _half,
    AntiJoin: _half,
    UnionAll: _union_all,
    Intersect: _half,
    Minus: _same,
    Distinct: _half,
    DeltaStar: _half,
    Coalesce: _same,
    TopK: _top_k,
    PartialTopK: _top_k,
    Partial: _same,
    GroupBy: _group_by,
    Feed: _same,
    Recomputed: _same,
    Rematch: _same,
    Istream: _same,
    Dstream: _same,
    Active: _same,
    Rstream: _same,
    Elements: _same,
    Tagged: _same,
    Stored: _same,
    Exchange: _same,
    Retract: _same,
    SkewSplit: _same,
    Begin: _same,
}
"""For every operator, the rows that its output has at an instant, about."""
