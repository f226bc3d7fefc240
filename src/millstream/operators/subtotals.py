"""Subtotals: rows of a group put into a few before they are sent, where nobody tells them apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from millstream.aggregates.aggregate import Keeps
from millstream.aggregates.call import AggregateCall
from millstream.aggregates.running import Running
from millstream.aggregates.totals import REAL
from millstream.algebra.changes import Changes, forever
from millstream.algebra.time import INFINITY
from millstream.columns.keys import as_floats, as_words, factorize, from_words, validity
from millstream.columns.subtotals import ends_by_group, real_sums, whole_sums

LARGEST = 2**62
"""Sums of integers stay below this, or rows are sent as they are."""

WORTH = 6
"""Rows are put together when there are at least so many of a group, on average."""

COUNTED, WHOLES, REALS, EXTREMES = "count", "sum", "sum of doubles", "ends"
KEPT = {Keeps.COUNT: COUNTED, Keeps.SUM: WHOLES, Keeps.ENDS: EXTREMES}

Three = tuple[pa.Array, pa.Array, pa.Array]
Groups = tuple[np.ndarray, np.ndarray]
"""The group of every row, and the first row of every group."""


@dataclass(frozen=True)
class Subtotals:
    """Rows of one group that have come and are final by the end of the batch, made a few rows.

    Three rows stand for all: the first has the sum (of doubles, the upper half of it), the second
    the lower half, the third nothing, as often as rows are left. Least and greatest values are in
    the first two. `schema` are the columns of the rows, `calls` all that is asked of the groups.
    Law: at the end of the batch every group comes to the same counts, sums, averages, least and
    greatest values. At instants before it need not: so it is for groups of which nobody asks for
    these (see `read_lazily`). Rows that are not final by `end`, that have a known end, a NULL, or
    no finite number stay as they are. Cost: the batch.
    """

    keys: tuple[str, ...]
    calls: tuple[AggregateCall, ...]
    schema: pa.Schema

    def of(self, changes: Changes, end: int) -> Changes:
        """The same in few rows; as they are, where that is not worth the while."""
        mine = self._taken(changes, end)
        count = np.count_nonzero(mine)
        if count * 2 < len(changes) or count < max(WORTH, 1):
            return changes
        some, rest = _parted(changes, mine, int(count))
        few = self._few(some)
        return changes if few is None else Changes.concat([few, rest], self.schema)

    def _taken(self, changes: Changes, end: int) -> np.ndarray:
        """The rows that may be put together."""
        mine = (changes.exp == INFINITY) & (changes.ts <= end) & (changes.weight >= 1)
        for name, kept in self._kept.items():
            column = changes.rows.column(name)
            if (valid := validity(column)) is not None:
                mine &= valid
            if kept == REALS:
                mine &= np.isfinite(as_floats(column)) & (changes.weight == 1)
        return mine

    @cached_property
    def _kept(self) -> dict[str, str]:
        return kept_by(self.calls, self.schema) or {}

    def _few(self, rows: Changes) -> Changes | None:
        """The rows that stand for all; None when they would not be much fewer, or a sum too
        large."""
        groups = factorize([rows.rows.column(name) for name in self.keys], len(rows))
        if len(groups[1]) * WORTH > len(rows):
            return None
        columns = list[Three]()
        for name in self.schema.names:
            kept = self._kept.get(name, COUNTED)
            three = _three(rows.rows.column(name), kept, rows.weight, groups)
            if three is None:
                return None
            columns.append(three)
        weights = whole_sums(groups[0], rows.weight, np.ones_like(rows.weight), len(groups[1]))
        return self._rows(columns, weights, int(rows.ts.max()))

    def _rows(self, columns: list[Three], weights: np.ndarray, ts: int) -> Changes:
        parts = list[Changes]()
        for place, weight in enumerate(_shares(weights)):
            index = np.flatnonzero(weight)
            arrays = [three[place] for three in columns]
            if len(index) < len(weights):
                arrays = [array.take(pa.array(index)) for array in arrays]
            rows = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
            none = np.zeros(len(index), np.int64)
            parts.append(Changes(rows, none + ts, forever(len(index)), weight[index], none))
        return Changes.concat(parts, self.schema)


def _parted(changes: Changes, mine: np.ndarray, count: int) -> tuple[Changes, Changes]:
    """The rows where the mask is true, and the others; most often these are the last."""
    if mine[:count].all():
        return changes.slice(0, count), changes.slice(count, len(changes))
    return changes.keep(mine), changes.keep(~mine)


def kept_by(calls: tuple[AggregateCall, ...], schema: pa.Schema) -> dict[str, str] | None:
    """What must stay the same of every column; None if a call asks for more."""
    found: dict[str, str] = {}
    for call in calls:
        if call.aggregate.order_matters or len(call.arguments) > 1:
            return None
        if not call.arguments:
            continue
        (name,) = call.arguments
        asked = _kept(call, schema.field(name).type)
        known = found.get(name, COUNTED)
        if asked is None or (asked != known and COUNTED not in (asked, known)):
            return None
        found[name] = known if asked == COUNTED else asked
    return found


def _kept(call: AggregateCall, kind: pa.DataType) -> str | None:
    """What an aggregate asks for of a column of a type."""
    combining, way = call.aggregate.combines, call.aggregate.way
    if combining is not None and combining.takes(kind):
        return KEPT[combining.keeps]
    is_real = kind == pa.float64() and isinstance(way, Running) and REAL in way.totals(kind)
    return REALS if is_real else None


def _shares(weights: np.ndarray) -> Iterator[np.ndarray]:
    """How often each of the three rows stands for rows of its group."""
    yield np.minimum(weights, 1)
    yield np.minimum(weights - 1, 1)
    yield np.maximum(weights - 2, 0)


def _three(column: pa.Array, kept: str, weight: np.ndarray, groups: Groups) -> Three | None:
    """A column in the three rows of every group."""
    codes, first = groups
    if kept == COUNTED:
        same = column.take(pa.array(first))
        return same, same, same
    none = np.zeros(len(first), np.int64)
    if kept == REALS:
        high, low = real_sums(codes, as_floats(column), len(first))
        return pa.array(high), pa.array(low), pa.array(none.astype(np.float64))
    words = as_words(column)
    if kept == WHOLES:
        most = max(-int(words.min()), int(words.max())) * int(weight.sum())
        if most >= LARGEST:
            return None
        sums = from_words(whole_sums(codes, words, weight, len(first)), column.type)
        nothing = from_words(none, column.type)
        return sums, nothing, nothing
    least, greatest = ends_by_group(codes, words, len(first))
    ends = [from_words(some, column.type) for some in (least, greatest, least)]
    return ends[0], ends[1], ends[2]
