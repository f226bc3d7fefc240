"""Built-in aggregates over the rows of a group, in the order in which they are fed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.aggregates.aggregate import Aggregate, Placing
from millstream.aggregates.builtin import BUILTINS
from millstream.aggregates.entries import Entries
from millstream.aggregates.running import Running
from millstream.algebra.evaluate import cast
from millstream.algebra.types import DOUBLE, INTEGER
from millstream.blocks.general.values import (
    GREATEST,
    LEAST,
    Row,
    from_arrow,
    to_arrow,
)
from millstream.columns.trace import Trace, follow

FEW = 500
"""So many doubles are added up faster than they become a column."""

Over = Callable[[Sequence[Row]], Any]
"""The result for the rows of arguments of a group."""


def over(
    function: Aggregate,
    types: Sequence[pa.DataType],
    parameter: float | str | None,
    kinds: Sequence[pa.DataType],
) -> Over:
    """The aggregate as a function of rows: in plain Python where that is easy."""
    quick = _QUICK.get(function.name) if function in BUILTINS else None
    if quick is not None and not types:
        return len
    slow = _by_columns(function, types, parameter, kinds[0])
    return slow if quick is None else quick(types[0], slow) or slow


def _by_columns(
    function: Aggregate,
    types: Sequence[pa.DataType],
    parameter: float | str | None,
    kind: pa.DataType,
) -> Over:
    """The aggregate itself, over columns of one group; it goes by the order of feeding where it
    goes by time."""

    def run(rows: Sequence[Row]) -> Any:
        if not rows:
            return function.of_nothing
        columns = [to_arrow(values, t) for values, t in zip(zip(*rows), types)]
        if function.argument is not None:
            columns[0] = cast(columns[0], function.argument)
        if function.goes_by_time and len(columns) == 1:
            columns += [pa.array(np.arange(len(rows)))] * 2
        result = _result(function, columns, parameter, kind)
        return from_arrow(result if result.type == kind else cast(result, kind))[-1]

    return run


def _result(
    function: Aggregate, columns: list[pa.Array], parameter: float | str | None, kind: pa.DataType
) -> pa.Array:
    groups, weights, trace = _group(len(columns[0]))
    values, way = columns[0], function.way
    assert not isinstance(way, Placing), "only OVER has places"
    if isinstance(way, Running):
        results = []
        for total in way.totals(values.type):
            kept: list[np.ndarray] = [np.zeros(1, column) for column in total.columns]
            results.append(total.run(trace, weights, values, kept))
        finishing = results[-1] if len(results) > 1 else ()
        return way.finish(results[0][0], finishing, values.type, kind)
    by = (*columns[1:], values) if way.by_rest else tuple(columns)
    nothing = Entries(
        np.zeros(0, np.int64),
        values.slice(0, 0),
        tuple(column.slice(0, 0) for column in by),
        np.zeros(0, np.int64),
    )
    return way.run(trace, weights, groups, values, by, nothing, 1, parameter)[0]


def _group(size: int) -> tuple[np.ndarray, np.ndarray, Trace]:
    """One group that so many rows enter at one instant."""
    nought, one = np.zeros(size, np.int64), np.ones(size, np.int64)
    counts, shown = np.zeros(1, np.int64), np.zeros(1, np.bool_)
    return nought, one, follow(nought, nought, one, size, counts, shown)


def _known(rows: Sequence[Row]) -> list[Any]:
    return [row[0] for row in rows if row[0] is not None]


def _count(kind: pa.DataType, slow: Over) -> Over:
    return lambda rows: len(_known(rows))


def _sum(kind: pa.DataType, slow: Over) -> Over | None:
    if kind == DOUBLE:
        return _of_few(slow, _in_pairs)
    if kind != INTEGER:
        return None

    def run(rows: Sequence[Row]) -> int | None:
        values = _known(rows)
        total = sum(values)
        return total if values and LEAST <= total <= GREATEST else None

    return run


def _avg(kind: pa.DataType, slow: Over) -> Over | None:
    if kind == DOUBLE:
        return _of_few(slow, lambda values: _in_pairs(values) / len(values))
    if kind != INTEGER:
        return None

    def run(rows: Sequence[Row]) -> float | None:
        values = _known(rows)
        return _as_double(sum(values)) / len(values) if values else None

    return run


def _of_few(slow: Over, compute: Callable[[list[float]], float]) -> Over:
    """A sum of a few doubles, all of them finite; other sums are left to the columns."""

    def run(rows: Sequence[Row]) -> float | None:
        values = _known(rows) if len(rows) <= FEW else []
        return compute(values) if values and all(map(isfinite, values)) else slow(rows)

    return run


def _in_pairs(values: list[float]) -> float:
    """The sum of doubles, in a pair of them as `running_floats` does it."""
    high = low = 0.0
    for x in values:
        total = high + x
        part = total - high
        low += (high - (total - part)) + (x - part)
        high = total + low
        low -= high - total
    return high + low + 0.0


def _as_double(total: int) -> float:
    """What the sum of two words is as a double: the upper one is rounded by itself."""
    if LEAST <= total <= GREATEST:
        return float(total)
    return float(total >> 64) * 2.0**64 + float(total & (2**64 - 1))


def _extreme(choose: Callable[[list[Any]], Any]) -> Callable[[pa.DataType, Over], Over | None]:
    def of(kind: pa.DataType, slow: Over) -> Over | None:
        if kind == DOUBLE or pa.types.is_list(kind):
            return None

        def run(rows: Sequence[Row]) -> Any:
            values = _known(rows)
            return choose(values) if values else None

        return run

    return of


_QUICK: dict[str, Callable[[pa.DataType, Over], Over | None]] = {
    "count": _count,
    "sum": _sum,
    "avg": _avg,
    "min": _extreme(min),
    "max": _extreme(max),
}
