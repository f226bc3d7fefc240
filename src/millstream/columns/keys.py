"""Row identity on columns: dense group numbers, and stable hashes to buckets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.columns.native import inlined, native

LARGE = 1 << 17
"""A table of so many places still lies in the cache; it grows beyond that only when it is full."""


def factorize(arrays: Sequence[pa.Array], length: int) -> tuple[np.ndarray, np.ndarray]:
    """Number equal rows alike: the number of every row, and the first row of every number.

    NULL equals NULL here, as in GROUP BY. Numbers count up in order of first appearance.

    >>> codes, first = factorize([pa.array([5, 7, 5, None, None])], 5)
    >>> codes.tolist(), first.tolist()
    ([0, 1, 0, 2, 2], [0, 1, 3])
    """
    words = [word for array in arrays for word in _words(array)]
    if not words:
        return np.zeros(length, np.int64), np.zeros(min(length, 1), np.int64)
    if len(words) == 1 and _is_narrow(words[0]):
        return _factorize_narrow(words[0])
    rows = np.ascontiguousarray(np.stack(words, axis=1))
    return _factorize_wide(rows, _hash_rows(rows))


def buckets_of(arrays: Sequence[pa.Array], length: int, buckets: int) -> np.ndarray:
    """The bucket of every row: equal rows get the same one in every batch and every process.

    >>> buckets_of([pa.array(["a", "b", "a"])], 3, 1).tolist()
    [0, 0, 0]
    """
    if buckets == 1 or not arrays:
        return np.zeros(length, np.int64)
    return (_mixed(arrays, length) % np.uint64(buckets)).astype(np.int64)


MOVED = np.int64(0x9E3779B9)
"""What the seed of SQL's `hash` is moved by, so that 0 under seed 0 is mixed like other values."""


def hashes_of(arrays: Sequence[pa.Array], length: int) -> np.ndarray:
    """A number for every row that equal rows share, in every batch and every process.

    >>> a, b, c = hashes_of([pa.array(["x", "y", "x"])], 3).tolist()
    >>> a == c, a == b
    (True, False)
    """
    return _mixed(arrays, length).view(np.int64)


def _mixed(arrays: Sequence[pa.Array], length: int) -> np.ndarray:
    if not arrays:
        return np.zeros(length, np.uint64)
    hashes = _scrambled(_hashes(arrays[0]))
    for array in arrays[1:]:
        hashes = _mix(hashes, _hashes(array))
    return hashes


def equal_rows(
    left: pa.RecordBatch, i: np.ndarray, right: pa.RecordBatch, j: np.ndarray
) -> np.ndarray:
    """Where row i of the left has the values of row j of the right, NULL equal to NULL.

    >>> batch = pa.record_batch({"x": pa.array(["a", None, None])})
    >>> equal_rows(batch, np.array([0, 1]), batch, np.array([1, 2])).tolist()
    [False, True]
    """
    same = np.ones(len(i), np.bool_)
    for mine, theirs in zip(left.columns, right.columns):
        if pa.types.is_integer(mine.type) and mine.null_count == 0 and theirs.null_count == 0:
            same &= as_words(mine)[i] == as_words(theirs)[j]
        else:
            both = pa.concat_arrays([mine.take(pa.array(i)), theirs.take(pa.array(j))])
            codes, _ = factorize([both], 2 * len(i))
            same &= codes[: len(i)] == codes[len(i) :]
    return same


def as_words(array: pa.Array) -> np.ndarray:
    """A column as 64-bit integers that are equal exactly when the values are.

    The value under a NULL is not defined.
    """
    kind = array.type
    if kind == pa.int64():
        return _buffer(array, np.int64)
    if pa.types.is_boolean(kind):
        return pc.fill_null(array, False).to_numpy(zero_copy_only=False).astype(np.int64)
    if pa.types.is_floating(kind):
        values = as_floats(array)
        values = np.where(np.isnan(values), np.nan, values + 0.0)  # one NaN, one zero
        return values.view(np.int64)
    if pa.types.is_integer(kind):
        return _buffer(array.cast(pa.int64()), np.int64)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return _buffer(array, np.int64)
    if pa.types.is_date32(kind):
        return _buffer(array, np.int32).astype(np.int64)
    if pa.types.is_list(kind):
        elements, offsets = flattened(array)
        array = as_binary(factorize([elements], len(elements))[0], offsets)
    encoded = array.dictionary_encode()
    return _buffer(encoded.indices, np.int32).astype(np.int64)


def from_words(words: np.ndarray, kind: pa.DataType, none: np.ndarray | None = None) -> pa.Array:
    """The column of a type whose words these are; NULL where `none` says so.

    >>> from_words(np.array([1, 0]), pa.bool_(), np.array([False, True])).to_pylist()
    [True, None]
    """
    if pa.types.is_floating(kind):
        return pa.array(words.view(np.float64), mask=none)
    if pa.types.is_boolean(kind):
        return pa.array(words != 0, mask=none)
    if pa.types.is_date32(kind):
        return pa.array(words.astype(np.int32), mask=none).cast(kind)
    return pa.array(words, mask=none).cast(kind)


def as_floats(array: pa.Array) -> np.ndarray:
    """A column of numbers as float64, without copying where that is possible."""
    return _buffer(to_doubles(array), np.float64)


def to_doubles(array: pa.Array) -> pa.Array:
    """Numbers as the doubles nearest to them.

    Decimals go by way of text: Arrow's own cast of them can miss the nearest double.

    >>> import decimal
    >>> to_doubles(pa.array([decimal.Decimal("2.30")]))[0].as_py()
    2.3
    """
    if not pa.types.is_decimal(array.type):
        return array.cast(pa.float64(), safe=False)
    if pa.types.is_decimal128(array.type) and array.type.precision <= EXACT_DIGITS:
        return _quotients(array)
    return array.cast(pa.string()).cast(pa.float64())


EXACT_DIGITS = 15
"""So many digits, and the powers of ten up to 10²², are doubles: their quotient is rounded once."""


def _quotients(array: pa.Array) -> pa.Array:
    """Decimals of few digits as doubles: their digits, divided by a power of ten."""
    _, data = array.buffers()
    words = np.frombuffer(data, np.int64)[2 * array.offset : 2 * (array.offset + len(array))]
    values = words[::2] / 10.0**array.type.scale
    return pa.array(values, mask=array.is_null().to_numpy(zero_copy_only=False))


def flattened(array: pa.ListArray) -> tuple[pa.Array, np.ndarray]:
    """The elements of all lists, one list after the other, and where each begins and ends.

    >>> elements, offsets = flattened(pa.array([[5, 7], None, [7]]))
    >>> elements.to_pylist(), offsets.tolist()
    ([5, 7, 7], [0, 2, 2, 3])
    """
    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    offsets = np.zeros(len(array) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return array.flatten(), offsets


def as_binary(words: np.ndarray, offsets: np.ndarray) -> pa.Array:
    """Stretches of 64-bit words as texts of bytes."""
    buffers = [None, pa.py_buffer(offsets * 8), pa.py_buffer(np.ascontiguousarray(words))]
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def same_values(left: pa.Array, right: pa.Array) -> np.ndarray:
    """Where two columns of one type are equal, NULL and NULL too, also inside of lists.

    >>> same_values(pa.array([[1, None], None]), pa.array([[1, None], [2]])).tolist()
    [True, False]
    """
    codes, _ = factorize([pa.concat_arrays([left, right])], len(left) + len(right))
    return codes[: len(left)] == codes[len(left) :]


def validity(array: pa.Array) -> np.ndarray | None:
    """True where the column is not NULL; None when it never is."""
    if array.null_count == 0:
        return None
    return pc.is_valid(array).to_numpy(zero_copy_only=False)


def _buffer(array: pa.Array, dtype: type) -> np.ndarray:
    """The values of a primitive column as they lie in memory, NULLs included."""
    if len(array) == 0:
        return np.zeros(0, dtype)
    start = array.offset * np.dtype(dtype).itemsize
    return np.frombuffer(array.buffers()[1], dtype, offset=start, count=len(array))


def _words(array: pa.Array) -> list[np.ndarray]:
    if pa.types.is_null(array.type):
        return [np.zeros(len(array), np.int64)]
    words = as_words(array)
    valid = validity(array)
    if valid is None:
        return [words]
    return [np.where(valid, words, 0), (~valid).astype(np.int64)]


def _hashes(array: pa.Array) -> np.ndarray:
    """A 64-bit hash of every value that does not depend on the batch it is in."""
    if pa.types.is_null(array.type):
        return np.zeros(len(array), np.uint64)
    if pa.types.is_string(array.type) or pa.types.is_decimal(array.type):
        encoded = (
            array if pa.types.is_string(array.type) else array.cast(pa.string())
        ).dictionary_encode()
        texts = encoded.dictionary
        offsets = np.frombuffer(
            texts.buffers()[1], np.int32, offset=texts.offset * 4, count=len(texts) + 1
        )
        data = texts.buffers()[2]
        letters = np.frombuffer(data, np.uint8) if data is not None else np.zeros(1, np.uint8)
        per_text = _hash_texts(offsets, letters) if len(texts) else np.zeros(1, np.uint64)
        hashes = per_text[np.where(_valid(array), _buffer(encoded.indices, np.int32), 0)]
    elif pa.types.is_list(array.type):
        elements, bounds = flattened(array)
        hashes = _hash_lists(bounds, _hashes(elements))
    else:
        hashes = as_words(array).view(np.uint64)
    valid = validity(array)
    return hashes if valid is None else np.where(valid, hashes, np.uint64(0x9E3779B97F4A7C15))


def _valid(array: pa.Array) -> np.ndarray:
    valid = validity(array)
    return np.ones(len(array), np.bool_) if valid is None else valid


@native
def _hash_texts(offsets: np.ndarray, letters: np.ndarray) -> np.ndarray:
    out = np.empty(len(offsets) - 1, np.uint64)
    for i in range(len(out)):
        h = np.uint64(14695981039346656037)
        for j in range(offsets[i], offsets[i + 1]):
            h = (h ^ np.uint64(letters[j])) * np.uint64(1099511628211)
        out[i] = h
    return out


@native
def _hash_lists(offsets: np.ndarray, elements: np.ndarray) -> np.ndarray:
    out = np.empty(len(offsets) - 1, np.uint64)
    for i in range(len(out)):
        h = np.uint64(offsets[i + 1] - offsets[i])
        for j in range(offsets[i], offsets[i + 1]):
            h = scramble(h * np.uint64(31) + elements[j])
        out[i] = h
    return out


@native
def _scrambled(values: np.ndarray) -> np.ndarray:
    out = np.empty(len(values), np.uint64)
    for i in range(len(values)):
        out[i] = scramble(values[i])
    return out


@native
def _mix(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    out = np.empty(len(left), np.uint64)
    for i in range(len(left)):
        out[i] = scramble(left[i] * np.uint64(31) + right[i])
    return out


@inlined
def scramble(x):  # type: ignore[no-untyped-def]
    """Mix the bits of an unsigned number."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _is_narrow(words: np.ndarray) -> bool:
    """True for integers that lie close enough together to be looked up by their value."""
    if len(words) == 0:
        return False
    least, greatest = _ends(words)
    return int(greatest) - int(least) < max(65_536, len(words))


@native
def _ends(words: np.ndarray) -> tuple[int, int]:
    return words.min(), words.max()


@native
def _factorize_narrow(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    least, greatest = _ends(words)
    table = np.full(greatest - least + 1, -1, np.int64)
    codes = np.empty(len(words), np.int64)
    first = np.empty(min(len(words), len(table)), np.int64)
    groups = 0
    for i in range(len(words)):
        code = table[words[i] - least]
        if code < 0:
            code = groups
            table[words[i] - least] = code
            first[groups] = i
            groups += 1
        codes[i] = code
    return codes, first[:groups].copy()


@inlined
def _hash_row(words, i):  # type: ignore[no-untyped-def]
    h = np.uint64(0)
    for k in range(words.shape[1]):
        h = scramble(h * np.uint64(31) + np.uint64(words[i, k]))
    return h


@native
def _hash_rows(words: np.ndarray) -> np.ndarray:
    out = np.empty(words.shape[0], np.uint64)
    for i in range(len(out)):
        out[i] = _hash_row(words, i)
    return out


@native
def _factorize_wide(words: np.ndarray, hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By a table with open addresses. Rows are compared only when their hashes are equal."""
    n = len(hashes)
    codes = np.empty(n, np.int64)
    first = np.empty(n, np.int64)
    size = 2048
    while size < 2 * n and size < LARGE:
        size *= 2
    table = np.full(size, -1, np.int32)
    mask, one = np.uint64(size - 1), np.uint64(1)
    groups = 0
    for i in range(n):
        slot = hashes[i] & mask
        code = table[slot]
        while code >= 0:
            j = first[code]
            if hashes[j] == hashes[i]:
                same = True
                for k in range(words.shape[1]):
                    if words[j, k] != words[i, k]:
                        same = False
                if same:
                    break
            slot = (slot + one) & mask
            code = table[slot]
        if code >= 0:
            codes[i] = code
            continue
        table[slot] = groups
        first[groups] = i
        codes[i] = groups
        groups += 1
        if groups * 2 > size:
            size *= 4
            mask = np.uint64(size - 1)
            table = np.full(size, -1, np.int32)
            for g in range(groups):
                slot = hashes[first[g]] & mask
                while table[slot] >= 0:
                    slot = (slot + one) & mask
                table[slot] = g
    return codes, first[:groups].copy()
