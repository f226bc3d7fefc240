"""Answering: a plan over the rows that names hold, carried out once, at one instant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, forever, take_rows
from millstream.algebra.expressions import Call, Column, Expression, Literal, conjuncts
from millstream.algebra.node import NOTHING, Node, Wanted, walk
from millstream.algebra.time import Span
from millstream.columns.order import sorted_order
from millstream.engine.evaluation import Evaluation
from millstream.engine.outputs import in_order
from millstream.operators import Filter, Project, Scan, TableScan, TopK
from millstream.operators.to_stream import settle
from millstream.plan.strategy import chosen
from millstream.settings import Settings

INSTANT = 0
"""All happens at one instant, which has nothing to do with those of the streams."""

Rows = Callable[[TableScan, Wanted], pa.RecordBatch]
"""The rows of a leaf; those that are not wanted may be left out."""


def answered(plan: Node, rows: Rows, settings: Settings) -> pa.RecordBatch:
    """The rows of a query, in the order that it asks for, else in that of their values."""
    top, above = _top(plan)
    if top is None:
        return in_order(_present(_carried_out(plan, rows, settings)))
    first = _first_rows(top, _present(_carried_out(top.input, rows, settings)))
    if above is None:
        return first
    return above.step({}, _there(first), _SPAN)[1].rows


@dataclass
class Answering(Evaluation):
    """A plan over leaves whose rows are there at one instant."""

    rows: Rows

    def span_of(self, node: Node) -> Span:
        return _SPAN

    def given(self, node: Node) -> Changes | None:
        match node:
            case TableScan():
                return _there(self.rows(node, NOTHING))
            case Filter(input=TableScan() as leaf):
                few = _there(self.rows(leaf, wanted_by(node.condition)))
                return node.step({}, few, _SPAN)[1]
            case Scan():
                return Changes.empty(node.schema)
        return None

    def counts_rows_of(self, node: Node) -> bool:
        return False


_SPAN = Span(INSTANT - 1, INSTANT, INSTANT)
EXACT = (pa.int64(), pa.int32(), pa.string(), pa.date32(), pa.timestamp("us"), pa.bool_())
"""Types whose equal values are one value to everybody."""


def wanted_by(condition: Expression) -> Wanted:
    """The values that columns must have for a condition to hold.

    >>> from millstream.algebra.types import BOOLEAN, INTEGER
    >>> seven = Call("=", (Column("item", INTEGER), Literal(7, INTEGER)), BOOLEAN)
    >>> wanted_by(seven)
    {'item': <pyarrow.Int64Scalar: 7>}
    """
    found: dict[str, pa.Scalar] = {}
    for part in conjuncts(condition):
        match part:
            case Call(function="=", arguments=(Column() as column, Literal() as literal)):
                pass
            case Call(function="=", arguments=(Literal() as literal, Column() as column)):
                pass
            case _:
                continue
        if column.type in EXACT and column.type == literal.type and literal.value is not None:
            found[column.name] = pa.scalar(literal.value, literal.type)
    return found


def _carried_out(plan: Node, rows: Rows, settings: Settings) -> Changes:
    plan = plan if _is_plain(plan) else chosen(plan, settings)
    return Answering(rows).output(plan)


def _is_plain(plan: Node) -> bool:
    """Whether rules have nothing to gain: no two inputs, and filters stand where rows are read."""
    return all(
        len(node.inputs) < 2 and (not isinstance(node, Filter) or isinstance(node.input, TableScan))
        for node in walk(plan)
    )


def _top(plan: Node) -> tuple[TopK | None, Project | None]:
    """The ORDER BY of the outermost query, and the columns that it leaves."""
    match plan:
        case TopK(partition_by=()):
            return plan, None
        case Project(input=TopK(partition_by=()) as top):
            return top, plan
    return None, None


def _first_rows(top: TopK, rows: pa.RecordBatch) -> pa.RecordBatch:
    """What LIMIT and OFFSET leave, in the order of ORDER BY; ties by the values of all columns."""
    keys = [(rows.column(name), down, nulls) for name, down, nulls in top.order]
    named = {name for name, _, _ in top.order}
    rest = [(rows.column(n), False, True) for n in rows.schema.names if n not in named]
    order = sorted_order([*keys, *rest]) if rows.num_rows else np.zeros(0, np.int64)
    return take_rows(rows, order[top.offset : top.end])


def _present(changes: Changes) -> pa.RecordBatch:
    here = (changes.ts <= INSTANT) & (changes.exp > INSTANT)
    there = changes.plain().keep(here)
    return settle(Changes.plain(there)).rows


def _there(rows: pa.RecordBatch) -> Changes:
    """Rows that are there from the instant on, each with an identity of its own."""
    count = rows.num_rows
    ones = np.ones(count, np.int64)
    return Changes(rows, INSTANT * ones, forever(count), ones, np.arange(count))
