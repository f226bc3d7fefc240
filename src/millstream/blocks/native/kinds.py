"""How native code holds values, and what keeps a routine from being native."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from millstream.algebra.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    STRING,
    TIMESTAMP,
    type_name,
)

WHOLE, REAL, TRUTH, CODE = "np.int64", "np.float64", "np.bool_", "np.int64"
ZEROS = {WHOLE: "0", REAL: "0.0", TRUTH: "False"}


@dataclass(frozen=True)
class Reason:
    """What keeps a routine from being native: a statement of it, in words, and why."""

    statement: str
    why: str

    def __str__(self) -> str:
        return f"{self.why}: {self.statement}"


class NotNative(Exception):
    """Raised while code is made of something that has no native form."""


@dataclass(frozen=True)
class Value:
    """The code of a value, and that of whether it is not NULL; `valid` is None if it never is.

    The code has no effect and may be run where the value is NULL: it then gives anything. A
    `small` one is far from being too large.
    """

    code: str
    valid: str | None = None
    small: bool = False


def array_type(kind: pa.DataType) -> str:
    """The type of the array that holds a column; texts are held by codes."""
    if kind == DOUBLE:
        return REAL
    if kind == BOOLEAN:
        return TRUTH
    if kind in (INTEGER, TIMESTAMP, DATE, INTERVAL, STRING) or pa.types.is_null(kind):
        return WHOLE
    raise NotNative(f"a value of type {type_name(kind)} has no native form")


def zero(kind: pa.DataType) -> str:
    return ZEROS[array_type(kind)]


def all_valid(*values: Value) -> str | None:
    """Code of whether none of some values is NULL; None if that is so."""
    return both(*(value.valid for value in values))


def both(*conditions: str | None) -> str | None:
    """The conjunction of conditions, of which None always holds."""
    parts = list(dict.fromkeys(c for c in conditions if c is not None))
    if not parts:
        return None
    if "False" in parts:
        return "False"
    return parts[0] if len(parts) == 1 else "(" + " and ".join(parts) + ")"


def holds(value: Value) -> str:
    """Code of whether a condition is true, neither false nor NULL."""
    return both(value.valid, value.code) or value.code
