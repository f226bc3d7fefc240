"""Columns as native code holds them, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.types import BOOLEAN, DATE, DOUBLE, INTEGER, STRING
from millstream.columns.keys import as_floats, as_words, validity


def read_only(array: np.ndarray) -> np.ndarray:
    """The array for code that only reads it; native code tells the two apart."""
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def values_of(column: pa.Array) -> np.ndarray:
    """The values of a column that holds no texts; what stands under a NULL is not defined."""
    if column.type == DOUBLE:
        return as_floats(column)
    if column.type == BOOLEAN:
        return pc.fill_null(column, False).to_numpy(zero_copy_only=False)
    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64)
    return as_words(column)


def valid_of(column: pa.Array) -> np.ndarray:
    known = validity(column)
    return np.ones(len(column), np.bool_) if known is None else known


def column_of(values: np.ndarray, valid: np.ndarray | None, kind: pa.DataType) -> pa.Array:
    """A column that holds no texts."""
    mask = None if valid is None or valid.all() else ~valid
    if pa.types.is_null(kind):
        return pa.nulls(len(values))
    if kind == DATE:
        return pa.array(values.astype(np.int32), mask=mask).view(DATE)
    found = pa.array(values, mask=mask)
    return found if kind in (INTEGER, DOUBLE, BOOLEAN) else found.view(kind)


@dataclass(frozen=True, eq=False)
class Texts:
    """The strings of a step as codes: equal where the strings are, and less where they are less
    if that is asked for."""

    words: pa.Array
    codes: Sequence[np.ndarray]

    @staticmethod
    def of(columns: Sequence[pa.Array], in_order: bool) -> Texts:
        """The codes of columns, one after the other."""
        if not columns:
            return Texts(pa.array([], STRING), ())
        encoded = pa.chunked_array(columns, STRING).combine_chunks().dictionary_encode()
        words = encoded.dictionary
        codes = pc.fill_null(encoded.indices, 0).to_numpy(zero_copy_only=False).astype(np.int64)
        if in_order and len(words):
            order = pc.sort_indices(words).to_numpy()
            rank = np.empty(len(words), np.int64)
            rank[order] = np.arange(len(words))
            words, codes = words.take(pa.array(order)), rank[codes]
        ends = np.cumsum([len(column) for column in columns])
        return Texts(words, np.split(codes, ends[:-1]))

    def column(self, codes: np.ndarray, valid: np.ndarray | None) -> pa.Array:
        mask = None if valid is None or valid.all() else ~valid
        if len(self.words) == 0:
            return pa.nulls(len(codes), STRING)
        return self.words.take(pa.array(codes, mask=mask))
