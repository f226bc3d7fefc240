"""ORDER BY, LIMIT and OFFSET on lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from millstream.algebra.expressions import Expression
from millstream.algebra.types import DOUBLE
from millstream.blocks.general.scope import Code, Frame, Scope
from millstream.blocks.general.values import GREATEST, Row
from millstream.blocks.queries import Ordered

By = tuple[int, bool, bool, pa.DataType]
"""The place of a value in a row; whether descending, whether NULLs come first; its type."""


def directions(order: Sequence[Ordered], first: int) -> tuple[By, ...]:
    """The parts of an ORDER BY whose values stand in rows from a place on."""
    return tuple(
        (first + at, part.descending, part.nulls_first, part.value.type)
        for at, part in enumerate(order)
    )


def ordered(rows: list[Row], order: Sequence[By]) -> list[Row]:
    """Rows in order; those that are equal stay as they are."""
    for place, descending, nulls_first, kind in reversed(order):
        nulls = [row for row in rows if row[place] is None]
        known = [row for row in rows if row[place] is not None] if nulls else rows
        known = sorted(known, key=_by(place, kind), reverse=descending)
        rows = nulls + known if nulls_first else known + nulls
    return rows


def _by(place: int, kind: pa.DataType) -> Callable[[Row], Any]:
    """NaN is greater than all numbers."""
    if kind == DOUBLE:
        return lambda row: (True, 0.0) if row[place] != row[place] else (False, row[place])
    return lambda row: row[place]


def cut(
    limit: Expression | None, offset: Expression | None, scope: Scope
) -> Callable[[Frame, list[Row]], list[Row]] | None:
    """LIMIT and OFFSET of rows; None where there is neither. A NULL is none."""
    if limit is None and offset is None:
        return None
    most = _number(limit, GREATEST, scope)
    skipped = _number(offset, 0, scope)

    def run(f: Frame, rows: list[Row]) -> list[Row]:
        start = skipped(f)
        return rows[start : start + most(f)]

    return run


def _number(expression: Expression | None, otherwise: int, scope: Scope) -> Code:
    if expression is None:
        return lambda f: otherwise
    code = scope.code(expression)

    def run(f: Frame) -> int:
        value = code(f)
        return otherwise if value is None else max(int(value), 0)

    return run
