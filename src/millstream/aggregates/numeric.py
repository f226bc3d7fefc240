"""Signatures of aggregates of numbers."""

from __future__ import annotations

import pyarrow as pa

from millstream.algebra.types import DOUBLE, is_numeric


def is_number(argument: pa.DataType | None) -> bool:
    """True for numbers, and for NULL of no type."""
    return argument is not None and (is_numeric(argument) or pa.types.is_null(argument))


def double_of_number(argument: pa.DataType | None) -> pa.DataType | None:
    """Takes numbers, gives a double."""
    return DOUBLE if is_number(argument) else None


def same(argument: pa.DataType | None) -> pa.DataType | None:
    """Takes everything, and gives the like."""
    return argument
