"""Which matches a change of the rows cannot affect, and the rows behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.time import Span
from millstream.columns.keys import factorize, hashes_of

LAST, DECIDER = "#last", "#decider"
"""Of a match that is shown: its last row, and the furthest one that was looked at for it or for
what came before it, as `names_of` names rows."""

NOWHERE = 0
"""The name of no row."""


def names_of(rows: Changes) -> np.ndarray:
    """A number for every row, that it has in every step."""
    return hashes_of([*rows.rows.columns, pa.array(rows.seq)], len(rows)) | 1


@dataclass(frozen=True, eq=False)
class Affected:
    """The rows of groups that have to be searched again, the group of each, how many of them lie
    before the row at which the search of each group begins, and which of the matches stay."""

    rows: Changes
    group: np.ndarray
    before: np.ndarray
    stays: np.ndarray


@dataclass(frozen=True, eq=False)
class Ordered:
    """Rows of groups in their order: `rank` counts up in each group, and equal rows share it.

    `there` says how often a rank was there before the step. In group g the first rank that the step
    changes is `changed[g]`, and `newest[g]` the last that was there.
    """

    rank: np.ndarray
    names: np.ndarray
    group: np.ndarray
    there: np.ndarray
    changed: np.ndarray
    newest: np.ndarray

    @staticmethod
    def of(
        rows: Changes,
        group: np.ndarray,
        groups: int,
        span: Span,
        places: Callable[[Changes, np.ndarray], np.ndarray],
    ) -> Ordered:
        tuples, first = factorize([*rows.rows.columns, pa.array(rows.seq)], len(rows))
        earliest = np.full(len(first), np.iinfo(np.int64).max)
        np.minimum.at(earliest, tuples, rows.ts)
        order = places(rows.take(first), earliest)
        ranks = np.empty(len(first), np.int64)
        ranks[order] = np.arange(len(first))
        rank = ranks[tuples]
        there = np.zeros(len(first), np.int64)
        old = (rows.ts <= span.start) & (rows.exp > span.start)
        np.add.at(there, rank[old], rows.weight[old])
        moved = (rows.ts > span.start) | ((rows.exp > span.start) & (rows.exp <= span.end))
        changed = np.full(groups, len(first))
        np.minimum.at(changed, group[moved], rank[moved])
        mine = group[first[order]]
        newest = np.full(groups, -1)
        left = np.flatnonzero(there > 0)
        np.maximum.at(newest, mine[left], left)
        return Ordered(rank, names_of(rows.take(first[order])), mine, there, changed, newest)

    def __len__(self) -> int:
        return len(self.there)

    def found(self, names: np.ndarray) -> np.ndarray:
        """The ranks of rows by their names; −1 for those that are not there."""
        order = np.argsort(self.names)
        at = np.minimum(np.searchsorted(self.names[order], names), len(order) - 1)
        rank = order[at]
        return np.where((self.names[rank] == names) & (self.there[rank] > 0), rank, -1)


def affected(
    rows: Changes,
    group: np.ndarray,
    groups: int,
    shown: pa.RecordBatch,
    of_shown: np.ndarray,
    back: int,
    span: Span,
    places: Callable[[Changes, np.ndarray], np.ndarray],
) -> Affected:
    """What a step can affect. `shown` are matches of groups, by group `of_shown`; what has another
    group than these is not looked at. A search reads up to `back` rows before each row.

    Law: the search for a match, and for those before it, has looked at no row behind the furthest
    one that is noted of them. If all that changes lies behind that one, and the end of the rows was
    not looked at either, it would be found again, and the search would go on behind its last row.
    """
    mine = np.flatnonzero(group < groups)
    rows, group = rows.take(mine), group[mine]
    nothing = Affected(rows, group, np.zeros(groups, np.int64), np.zeros(len(of_shown), np.bool_))
    if len(rows) == 0 or len(of_shown) == 0:
        return nothing
    ordered = Ordered.of(rows, group, groups, span, places)
    stays, cut = _unaffected(ordered, shown, of_shown, groups)
    if not stays.any():
        return nothing
    begin, before = _beginning(ordered, cut, back)
    kept = np.flatnonzero(ordered.rank >= begin[group])
    return Affected(rows.take(kept), group[kept], before, stays)


def _unaffected(
    ordered: Ordered, shown: pa.RecordBatch, of_shown: np.ndarray, groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """Which matches stay, and the rank of the last row of the last of them in each group."""
    none, count = len(ordered), len(of_shown)
    known = of_shown < groups
    group = np.where(known, of_shown, 0)
    last = ordered.found(shown.column(shown.schema.get_field_index(LAST)).to_numpy())
    decider = ordered.found(shown.column(shown.schema.get_field_index(DECIDER)).to_numpy())
    placed = known & (last >= 0) & (decider >= 0)
    lost = np.zeros(groups, np.bool_)
    lost[group[known & ~placed]] = True
    good = placed & ~lost[group] & (ordered.there[last] == 1) & (decider < ordered.newest[group])
    order = np.lexsort((last, np.where(known, group, groups)))
    wide = none + 2
    furthest = np.where(good, decider, none + 1)[order] + group[order] * wide
    furthest = np.maximum.accumulate(np.where(known[order], furthest, 0)) - group[order] * wide
    stays = np.zeros(count, np.bool_)
    stays[order] = good[order] & (furthest < ordered.changed[group[order]])
    cut = np.full(groups, -1)
    np.maximum.at(cut, group[stays], last[stays])
    return stays, cut


def _beginning(ordered: Ordered, cut: np.ndarray, back: int) -> tuple[np.ndarray, np.ndarray]:
    """For each group the first rank that is needed, and how many rows lie from there to its cut."""
    ranks = np.flatnonzero(ordered.there > 0)
    ranks = ranks[np.argsort(ordered.group[ranks], kind="stable")]
    place = ordered.group[ranks] * (len(ordered) + 1) + ranks
    upto = np.searchsorted(place, np.arange(len(cut)) * (len(ordered) + 1) + cut, side="right")
    low = np.searchsorted(ordered.group[ranks], np.arange(len(cut)))
    low = np.maximum(low, upto - back)
    whole = cut < 0
    times = np.append(0, np.cumsum(ordered.there[ranks]))
    before = np.where(whole, 0, times[upto] - times[low])
    first = np.append(ranks, 0)[np.minimum(low, len(ranks))]
    begin = np.where(whole, -1, np.where(low < upto, first, cut + 1))
    return begin, before
