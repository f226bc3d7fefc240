"""Many queries that compare one value of synchronized rows with constants of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, take_rows
from millstream.algebra.choose import SIDES
from millstream.algebra.evaluate import evaluate
from millstream.algebra.node import Node
from millstream.algebra.time import INFINITY
from millstream.algebra.types import DOUBLE, INTEGER
from millstream.columns.native import native
from millstream.operators.tagged import ENTER, LEAVE, UPDATE, equal_to_previous
from millstream.plan.choices import Choice


@dataclass
class Index:
    """What happens to the keys of a sync in a batch, in the order of a value.

    Every event is a row that replaces another one of its key, comes, or goes. Law: a query that
    asks for values on one side of a constant is told of exactly those events of which the row
    before or the row after is there: as an update if both are, and differ.
    """

    rows: pa.RecordBatch
    ts: np.ndarray
    has_old: np.ndarray
    has_new: np.ndarray
    old: np.ndarray
    new: np.ndarray
    same: np.ndarray
    order: np.ndarray
    ranked: np.ndarray

    def told(self, choice: Choice) -> Changes:
        """The changes of a query."""
        if not len(self.order):
            return Changes.empty(choice.tagged.schema)
        compare, side, above = SIDES[choice.comparison]
        at = int(np.searchsorted(self.ranked, choice.constant, side=side))
        few = self.order[at:] if above else self.order[:at]
        before = self.has_old[few] & compare(self.old[few], choice.constant)
        after = self.has_new[few] & compare(self.new[few], choice.constant)
        differ = ~(before & after & self.same[few])
        if not differ.all():
            few, before, after = few[differ], before[differ], after[differ]
        ops = np.where(after, np.where(before, UPDATE, ENTER), LEAVE).astype(np.uint8)
        return choice.tagged.emitted(take_rows(self.rows, few), ops, self.ts[few])


def index_of(choice: Choice, changes: Changes) -> Index | None:
    """The events of rows that know those before them; None where values may be NULL or NaN."""
    found = evaluate(choice.value, changes.rows, len(changes))
    if changes.previous is None or found.null_count or found.type not in (INTEGER, DOUBLE):
        return None
    values = found.to_numpy()
    if found.type == DOUBLE and np.isnan(values).any():
        return None
    columns = [evaluate(e, changes.rows, len(changes)) for _, e in choice.outputs]
    names = [name for name, _ in choice.outputs]
    others = [c for n, c in zip(names, columns) if n not in (choice.tagged.key or ())]
    alike = equal_to_previous(others, changes.previous)
    row, before, instant = _events(changes.previous, changes.ts, changes.exp, changes.weight)
    has_new, has_old = row >= 0, before >= 0
    old, new = values[np.maximum(before, 0)], values[np.maximum(row, 0)]
    outer = np.maximum if SIDES[choice.comparison][2] else np.minimum
    reach = np.where(has_old & has_new, outer(old, new), np.where(has_new, new, old))
    order = np.argsort(reach, kind="stable")
    rows = pa.RecordBatch.from_arrays(columns, schema=choice.tagged.input.schema)
    shown = take_rows(rows, np.where(has_new, row, before))
    same = has_new & alike[np.maximum(row, 0)]
    return Index(shown, instant, has_old, has_new, old, new, same, order, reach[order])


@dataclass
class Choosing:
    """The answers of many queries over the syncs of a batch; each index is made once."""

    choices: Mapping[Node, Choice]
    tops: Mapping[Node, Node]
    rows_of: Callable[[Node], Changes]
    made: dict[object, Index | None] = field(default_factory=dict)

    def answer(self, top: Node) -> Changes | None:
        """What a query is told; None where operators have to find it."""
        choice = self.choices.get(top)
        if choice is None:
            return None
        sync = self.tops[top]
        about = sync, choice.about
        if about not in self.made:
            self.made[about] = index_of(choice, self.rows_of(sync))
        index = self.made[about]
        return None if index is None else index.told(choice)


@native
def _events(previous, ts, exp, weight):  # type: ignore[no-untyped-def]
    """What comes with the row that it replaces, or −1, and when; then what goes without another."""
    n = len(ts)
    row = np.empty(2 * n, np.int64)
    before = np.empty(2 * n, np.int64)
    instant = np.empty(2 * n, np.int64)
    followed = np.zeros(n, np.bool_)
    count = 0
    for r in range(n):
        if weight[r] <= 0:
            continue
        p = previous[r]
        if p >= 0 and (ts[p] if weight[p] < 0 else exp[p]) == ts[r]:
            followed[p] = True
        else:
            p = -1
        row[count], before[count], instant[count] = r, p, ts[r]
        count += 1
    for r in range(n):
        end = ts[r] if weight[r] < 0 else exp[r]
        if weight[r] != 0 and not followed[r] and end < INFINITY:
            row[count], before[count], instant[count] = -1, r, end
            count += 1
    return row[:count].copy(), before[:count].copy(), instant[:count].copy()
