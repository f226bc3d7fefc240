"""Turns: the instants at which a comparison that reads Now may become another one for a row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import take_rows
from millstream.algebra.evaluate import evaluate
from millstream.algebra.expressions import Call, Column, Expression, walk
from millstream.algebra.now import NOW, compared_with_now, instants_of, reads_now
from millstream.algebra.time import INFINITY, Domain
from millstream.algebra.trends import Trend, trend_of
from millstream.algebra.types import BOOLEAN, INTEGER, TIMESTAMP

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
LAST = {Domain.TIMESTAMP: 253_402_300_800_000_000}
"""After the year 9999 nothing turns."""

FAR = 2**60
"""Nor does it so many instants after a row has come, where these are counted."""


@dataclass(frozen=True)
class Turn:
    """A comparison that reads Now. Between the instants at which it turns, nothing of it changes.

    Either `at` is the value that Now is compared with: it turns there and at the instant after. Or
    the two sides go apart or together all the time, and where they meet is searched for.
    """

    test: Call
    at: Expression | None = None

    def instants(self, rows: pa.RecordBatch, since: np.ndarray) -> list[np.ndarray]:
        """For every row the instants after `since` at which it turns, INFINITY for none."""
        if self.at is not None:
            found = instants_of(self.at, rows, len(since))
            missing = evaluate(self.at, rows, len(since)).is_null().to_numpy(zero_copy_only=False)
            found = np.where(missing, INFINITY, found)
            return [found, np.where(found < INFINITY, found + 1, found)]
        left, right = self.test.arguments
        signs = {"<": (">=",), ">=": (">=",), "<=": (">",), ">": (">",)}
        return [
            _searched(Call(sign, (left, right), BOOLEAN), rows, since)
            for sign in signs.get(self.test.function, (">=", ">"))
        ]


def turns_of(condition: Expression) -> tuple[Turn, ...] | None:
    """All comparisons in a condition that read Now; None if something else depends on it."""
    try:
        return tuple(dict.fromkeys(_turns(condition)))
    except ValueError:
        return None


def _turns(value: Expression) -> Iterator[Turn]:
    if not reads_now(value):
        return
    if isinstance(value, Call) and value.function in COMPARISONS:
        compared = compared_with_now(value)
        if compared is not None:
            yield Turn(value, compared[1])
            return
        if _goes_one_way(value):
            yield Turn(value)
            return
    if not value.children:
        raise ValueError("Now itself")
    for child in value.children:
        yield from _turns(child)


def _goes_one_way(test: Call) -> bool:
    left, right = (trend_of(side) for side in test.arguments)
    if left is None or right is None:
        return False
    moving = {left, right.turned} - {Trend.STILL}
    return len(moving) == 1 and not (left is right is Trend.EITHER)


def truth_at(
    condition: Expression, rows: pa.RecordBatch, instants: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where the condition is true of each row at its instant, and where it is known at all."""
    truth = _evaluated(condition, rows, instants)
    known = truth.is_valid().to_numpy(zero_copy_only=False)
    return truth.fill_null(False).to_numpy(zero_copy_only=False), known


def _evaluated(condition: Expression, rows: pa.RecordBatch, instants: np.ndarray) -> pa.Array:
    """The condition for each row; unknown where a number is too large to be computed."""
    now = pa.array(instants)
    if _kind_of_now(condition) == TIMESTAMP:
        now = now.cast(TIMESTAMP)
    columns, names = [*rows.columns, now], [*rows.schema.names, NOW]
    try:
        return evaluate(condition, pa.RecordBatch.from_arrays(columns, names), len(instants))
    except pa.ArrowInvalid:
        if len(instants) == 1:
            return pa.array([None], BOOLEAN)
    half = len(instants) // 2
    first = _evaluated(condition, rows.slice(0, half), instants[:half])
    return pa.concat_arrays([first, _evaluated(condition, rows.slice(half), instants[half:])])


def _kind_of_now(condition: Expression) -> pa.DataType:
    kinds = [e.type for e in walk(condition) if isinstance(e, Column) and e.name == NOW]
    return kinds[0] if kinds else INTEGER


def _searched(test: Call, rows: pa.RecordBatch, since: np.ndarray) -> np.ndarray:
    """The first instant after `since` at which a comparison that turns once is another one.

    Steps twice as long as the one before find a stretch in which it turns, halving it the instant.
    """
    found = np.full(len(since), INFINITY, np.int64)
    was, known = truth_at(test, rows, since)
    left = np.flatnonzero(known)
    last = LAST[Domain.TIMESTAMP] if _kind_of_now(test) == TIMESTAMP else None
    before, step = since.copy(), 1
    while len(left) and step <= FAR:
        reach = since[left] + step
        if last is not None:
            within = reach <= last
            left, reach = left[within], reach[within]
        turned = _differs(test, rows, left, reach, was)
        here = left[turned]
        found[here] = _halved(test, rows, here, before[here], reach[turned], was)
        left = left[~turned]
        before[left] = reach[~turned]
        step *= 2
    return found


def _halved(test, rows, index, before, after, was):  # type: ignore[no-untyped-def]
    """The instant at which it turns, in the stretch after `before` up to and with `after`."""
    before, after = before.copy(), after.copy()
    while len(index) and (after - before > 1).any():
        middle = before + (after - before) // 2
        turned = _differs(test, rows, index, middle, was)
        after = np.where(turned, middle, after)
        before = np.where(turned, before, middle)
    return after


def _differs(test, rows, index, instants, was):  # type: ignore[no-untyped-def]
    if not len(index):
        return np.zeros(0, bool)
    truth, known = truth_at(test, take_rows(rows, index), instants)
    return known & (truth != was[index])
