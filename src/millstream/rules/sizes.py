"""How many rows a plan may hold at an instant: a rough guess, for choosing between plans."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from millstream.algebra.expressions import Call, Column, Expression
from millstream.algebra.node import Node, walk
from millstream.algebra.time import Domain
from millstream.operators import (
    AntiJoin,
    Distinct,
    Filter,
    GroupBy,
    Intersect,
    Join,
    LookupJoin,
    Now,
    Range,
    RangeSlide,
    Rows,
    Scan,
    SemiJoin,
    TableScan,
    TopK,
    Unbounded,
    UnionAll,
)
from millstream.rules.pieces import conditions

ENDLESS = 1e9
PARTITIONS = 100.0
UNITS_PER_ROW = {Domain.TIMESTAMP: 1_000.0}
"""Streams in microseconds are taken to bring a thousand rows a second; others one at an instant."""

PASSES = 0.25
"""The share of rows that meet a condition of which nothing is known."""


@lru_cache(maxsize=10_000)
def size_of(node: Node) -> float:
    """The rows a plan holds at an instant, about; at least one.

    Law: it depends on the plan alone, so the same plan is chosen in every run.
    """
    return min(max(_size(node), 1.0), ENDLESS**2)


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


def _size(node: Node) -> float:
    match node:
        case Range(length=length):
            return _rows_in(length, node)
        case RangeSlide(length=length):
            return ENDLESS if length is None else _rows_in(length, node)
        case Unbounded():
            return ENDLESS
        case Rows(count=count, partition_by=keys):
            return min(count * (PARTITIONS if keys else 1.0), ENDLESS)
        case TopK(limit=limit, partition_by=keys, input=source):
            most = ENDLESS if limit is None else limit * (PARTITIONS if keys else 1.0)
            return min(most, size_of(source))
        case GroupBy(keys=keys, input=source):
            return size_of(source) * PASSES if keys else 1.0
        case Filter(condition=condition, input=source):
            return size_of(source) * PASSES ** len(conditions(condition))
        case Join(condition=condition, left=left, right=right):
            return joined_size(size_of(left), size_of(right), conditions(condition))
        case LookupJoin(left_keys=keys, table=table, input=source):
            return size_of(source) * (1.0 if keys else table.rows.num_rows)
        case UnionAll(left=left, right=right):
            return size_of(left) + size_of(right)
        case SemiJoin() | AntiJoin() | Distinct() | Intersect():
            return size_of(node.inputs[0]) / 2
        case TableScan(table=table):
            return float(table.rows.num_rows) or PARTITIONS
        case Now() | Scan():
            return 1.0
    return size_of(node.inputs[0]) if node.inputs else 1.0


def _rows_in(length: int, node: Node) -> float:
    domain = next((n.domain for n in walk(node) if isinstance(n, Scan)), Domain.INTEGER)
    return 1 + length / UNITS_PER_ROW.get(domain, 1.0)
