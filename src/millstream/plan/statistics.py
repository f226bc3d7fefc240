"""What is known of the rows of plans from runs: rates, sizes, and shares of rows that pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.algebra.by_operator import entry_for
from millstream.algebra.node import Node
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
from millstream.plan.names import condition_text, lineage_of, name_of


@dataclass(frozen=True)
class RowRates:
    """The rows of a node: how many come and are retracted in an instant, and how many are there.

    `size` is None where it was not counted; `steps` is how many batches there were for an instant.
    """

    rate: float
    back: float
    size: float | None
    steps: float = 0.0


@dataclass(frozen=True)
class Statistics:
    """Row rates by the names of what is computed, and shares of rows by the condition they pass."""

    rates: Mapping[str, RowRates] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def of(nodes: Iterable[Node], rates: Mapping[str, RowRates]) -> Statistics:
        """The measured rates, and the shares of conditions that follow from them at these nodes."""
        shares: dict[str, float] = {}
        for node in nodes:
            key, share = share_key(node), _share(node, rates)
            if key is not None and share is not None:
                shares[key] = share
        return Statistics(rates, shares)


NOTHING = Statistics()


@dataclass(frozen=True)
class Share:
    """The share of rows that an operator lets pass: under which name it is known, and how it
    follows from the rates of the operator and of its inputs."""

    key: Callable[[Any], str]
    ratio: Callable[[RowRates, list[RowRates]], float | None]


def share_key(node: Node) -> str | None:
    """The name under which the share of rows that a node lets pass is known."""
    share = entry_for(node, SHARES, "SHARES of plan/statistics.py")
    return None if share is None else share.key(node)


def _share(node: Node, rates: Mapping[str, RowRates]) -> float | None:
    share = entry_for(node, SHARES, "SHARES of plan/statistics.py")
    out = rates.get(name_of(node))
    found = [rates.get(name_of(child)) for child in node.inputs]
    below = [rates for rates in found if rates is not None]
    if share is None or out is None or len(below) < len(found):
        return None
    return share.ratio(out, below)


def _filter_key(node: Filter) -> str:
    return f"filter {condition_text(node.condition, lineage_of(node.input))}"


def _join_key(node: Join) -> str:
    return f"join {condition_text(node.condition, lineage_of(node))}"


def _match_key(node: SemiJoin | AntiJoin) -> str:
    known = {**lineage_of(node.left), **lineage_of(node.right)}
    return f"{type(node).__name__} {condition_text(node.condition, known)}"


def _distinct_key(node: Distinct | DeltaStar) -> str:
    return f"distinct {sorted(str(e) for e in lineage_of(node).values())}"


def _rows_for_rows(out: RowRates, below: list[RowRates]) -> float | None:
    return _ratio(out.rate, below[0].rate)


def _rows_for_pairs(out: RowRates, below: list[RowRates]) -> float | None:
    left, right = below
    if left.size is None or right.size is None:
        return None
    return _ratio(out.rate, left.rate * right.size + right.rate * left.size)


def _size_for_size(out: RowRates, below: list[RowRates]) -> float | None:
    if out.size is None or below[0].size is None:
        return None
    return _ratio(out.size, below[0].size)


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None


_MATCHED = Share(_match_key, _size_for_size)
_DIFFERENT = Share(_distinct_key, _size_for_size)

SHARES: dict[type[Node], Share | None] = {
    Scan: None,
    Ticks: None,
    Instants: None,
    Stamp: None,
    Retime: None,
    Missed: None,
    Fill: None,
    Merge: None,
    Now: None,
    Range: None,
    Unbounded: None,
    RangeSlide: None,
    Rows: None,
    Hop: None,
    Session: None,
    Over: None,
    Match: None,
    Panes: None,
    Sync: None,
    NowView: None,
    Within: None,
    SyncAt: None,
    Filter: Share(_filter_key, _rows_for_rows),
    Project: None,
    LookupJoin: None,
    Lateral: None,
    TableScan: None,
    Tagger: None,
    Copies: None,
    Dated: None,
    NonRetroactiveJoin: None,
    Join: Share(_join_key, _rows_for_pairs),
    SingleJoin: None,
    SemiJoin: _MATCHED,
    AntiJoin: _MATCHED,
    UnionAll: None,
    Intersect: None,
    Minus: None,
    Distinct: _DIFFERENT,
    DeltaStar: _DIFFERENT,
    Coalesce: None,
    TopK: None,
    PartialTopK: None,
    Partial: None,
    GroupBy: None,
    Feed: None,
    Recomputed: None,
    Rematch: None,
    Istream: None,
    Dstream: None,
    Active: None,
    Rstream: None,
    Elements: None,
    Tagged: None,
    Stored: None,
    Exchange: None,
    Retract: None,
    SkewSplit: None,
    Begin: None,
}
"""For every operator, the share of rows it lets pass; None for one that lets all rows pass, or
makes other rows of them."""
