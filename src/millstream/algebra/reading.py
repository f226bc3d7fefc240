"""Columns of text into types, with a mark on every cell that cannot be one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.spellings import NUMBER, cleaned, reader_of

Cast = Callable[[pa.Array], pa.Array]


@dataclass(frozen=True)
class Converted:
    """A column in its type; cells marked `bad` did not convert and are NULL."""

    values: pa.Array
    bad: np.ndarray | None = None


def from_text(cells: pa.Array, type: pa.DataType) -> Converted:
    """Text cells as a type.

    Law: each cell converts, or does not, by itself, whatever its neighbours are. The whole column
    is tried first; then the same with spaces and spellings cleaned; only then are bad cells sought.

    >>> from_text(pa.array(["1", " 2 ", "x"]), pa.int64()).values.to_pylist()
    [1, 2, None]
    """
    if pa.types.is_string(type):
        return Converted(cells)
    cast = reader_of(type)
    try:
        return Converted(cast(cells))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        clean = cleaned(cells, type)
        return search(clean, cast, _hopeful(clean, type))


def search(cells: pa.Array, cast: Cast, hopeful: np.ndarray | None = None) -> Converted:
    """Convert what converts and mark the rest; cells that are not `hopeful` are not tried."""
    bad = np.zeros(len(cells), dtype=bool) if hopeful is None else ~hopeful
    rest = np.flatnonzero(~bad)
    tried = cells.take(pa.array(rest)) if len(rest) < len(cells) else cells

    def accept(low: int, high: int) -> bool:
        try:
            cast(tried.slice(low, high - low))
        except pa.ArrowInvalid:
            return False
        return True

    for low, high in bisect(len(tried), accept):
        bad[rest[low:high]] = True
    if not bad.any():
        return Converted(cast(cells))
    return Converted(cast(pc.if_else(pa.array(bad), pa.scalar(None, cells.type), cells)), bad)


def bisect(
    size: int, accept: Callable[[int, int], bool], leaf: int = 1, step: int | None = None
) -> list[tuple[int, int]]:
    """The smallest pieces (of at most `leaf`) of 0…size that are not accepted.

    The first try is in pieces of `step`, or in one.

    Costs a few tries for every bad piece, and one when there is none.

    >>> bisect(8, lambda low, high: not low <= 5 < high)
    [(5, 6)]
    """
    starts = range(0, size, step or max(size, 1))
    refused, pieces = [], [(low, min(low + starts.step, size)) for low in reversed(starts)]
    while pieces:
        low, high = pieces.pop()
        if accept(low, high):
            continue
        if high - low <= leaf:
            refused.append((low, high))
        else:
            middle = (low + high) // 2
            pieces += [(middle, high), (low, middle)]
    return refused


# What a cell must look like to have a chance; wider than what converts, so never the judge alone.
_HOPEFUL = {
    pa.int64().id: r"^-?[0-9]+$",
    pa.float64().id: rf"(?i)^({NUMBER}|[-+]?(nan|inf|infinity))$",
    pa.timestamp("us").id: r"^[0-9]{4}-[0-9]{2}-[0-9]{2}",
    pa.date32().id: r"^[0-9]{4}-[0-9]{2}-[0-9]{2}",
    pa.decimal128(1).id: rf"^{NUMBER}$",
}


def _hopeful(cells: pa.Array, type: pa.DataType) -> np.ndarray | None:
    pattern = _HOPEFUL.get(type.id)
    if pattern is None:
        return None
    matched = pc.match_substring_regex(cells, pattern).fill_null(True)
    return matched.to_numpy(zero_copy_only=False)
