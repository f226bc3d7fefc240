"""The type that text cells have in common, as a person would declare it."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.reading import from_text
from millstream.algebra.types import BOOLEAN, DATE, DOUBLE, INTEGER, STRING, TIMESTAMP

_WHOLE = r"^[-+]?(0|[1-9][0-9]*)$"
_NUMBER = (
    r"(?i)^[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)(e[-+]?[0-9]+)?$|^[-+]?(nan|inf|infinity)$"
)
_DIGIT = r"[0-9]"
_TRUTH = r"(?i)^(true|false)$"
_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:.*)?$"


def type_of_cells(cells: pa.Array, numbers: bool = True) -> pa.DataType:
    """The narrowest of bigint, double, boolean, date and timestamp that takes every cell; string
    otherwise, and where all cells are empty.

    Numbers with leading zeros are names of something (`00123`), and so are whole numbers that a
    bigint does not hold: as numbers they would lose digits. `numbers` is false for text that is not
    a number because its format has others for these.

    >>> [str(type_of_cells(pa.array(c))) for c in (["1", None], ["1", "2.5"], ["007"], [""])]
    ['int64', 'double', 'string', 'string']
    """
    filled = pc.utf8_trim_whitespace(cells.drop_null())
    filled = filled.filter(pc.not_equal(filled, ""))
    if not len(filled):
        return STRING
    if numbers and _all(filled, _WHOLE):
        return INTEGER if _takes(filled, INTEGER) else STRING
    if numbers and _all(filled, _NUMBER) and _any(filled, _DIGIT) and _takes(filled, DOUBLE):
        return DOUBLE
    if numbers and _all(filled, _TRUTH):
        return BOOLEAN
    for pattern, kind in ((_DAY, DATE), (_TIME, TIMESTAMP)):
        if _all(filled, pattern) and _takes(filled, kind):
            return kind
    return STRING


def fits_integer(values: Sequence[int | None]) -> bool:
    """Whether a bigint holds all of some numbers."""
    return all(value is None or -(2**63) <= value < 2**63 for value in values)


def _all(cells: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(cells, pattern)).as_py())


def _any(cells: pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(cells, pattern)).as_py())


def _takes(cells: pa.Array, kind: pa.DataType) -> bool:
    """Whether the reader of the type takes every cell."""
    return from_text(cells, kind).bad is None
