"""Values as text: how each type is spelt in CSV cells and JSON values."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.cast_kernels import spell_decimals
from millstream.algebra.spellings import FIRST_MICRO, LAST_MICRO


def plain(array: pa.Array) -> pa.Array:
    """Values as text without quotes, NULL where they are NULL.

    Timestamps are ISO 8601 with microseconds, doubles the shortest text that reads back the same,
    intervals a number of seconds; lists, maps and structs JSON.
    """
    type = array.type
    if pa.types.is_string(type):
        return array
    if pa.types.is_timestamp(type):
        return _timestamps(array)
    if pa.types.is_floating(type):
        return _doubles(array)
    if pa.types.is_duration(type):
        return _durations(array)
    if pa.types.is_decimal(type):
        return spell_decimals(array)
    if is_nested(type):
        return _nested(array)
    if pa.types.is_dictionary(type):
        return plain(array.dictionary_decode())
    return array.cast(pa.string())


def as_csv(array: pa.Array) -> pa.Array:
    """CSV cells: NULL is nothing, an empty string is `""`, quotes only where they are needed."""
    cells, type = plain(array), array.type
    if pa.types.is_string(type) or is_nested(type) or pa.types.is_dictionary(type):
        special = pc.match_substring_regex(cells, '^$|[",\r\n]').fill_null(False)
        if pc.any(special).as_py():
            quoted = _wrap(pc.replace_substring(cells, '"', '""'), '"')
            cells = pc.if_else(special, quoted, cells)
    return cells.fill_null("") if cells.null_count else cells


def as_json(array: pa.Array) -> pa.Array:
    """JSON values; times are strings, and so are NaN and the infinities."""
    type = array.type
    if pa.types.is_dictionary(type):
        return as_json(array.dictionary_decode())
    cells = plain(array)
    if pa.types.is_string(type):
        cells = _wrap(_escaped(cells), '"')
    elif pa.types.is_timestamp(type) or pa.types.is_date(type) or pa.types.is_time(type):
        cells = _wrap(cells, '"')
    elif pa.types.is_floating(type) and not pc.all(pc.is_finite(array)).as_py():
        cells = pc.if_else(pc.is_finite(array), cells, _wrap(cells, '"'))
    return cells.fill_null("null") if cells.null_count else cells


def _wrap(cells: pa.Array, quote: str) -> pa.Array:
    return pc.binary_join_element_wise(quote, cells, quote, "")


def _timestamps(array: pa.Array) -> pa.Array:
    micros = array.cast(pa.timestamp("us", array.type.tz), safe=False).cast(pa.int64())
    cells = micros.cast(pa.timestamp("us")).cast(pa.string())
    bounds = pc.min_max(micros).as_py()
    if bounds["min"] is not None and bounds["min"] >= FIRST_MICRO and bounds["max"] <= LAST_MICRO:
        return pc.binary_replace_slice(cells.cast(pa.binary()), 10, 11, b"T").cast(pa.string())
    return pc.replace_substring(cells, " ", "T")


def _doubles(array: pa.Array) -> pa.Array:
    """Doubles as Python spells them; Arrow differs in whole numbers and in exponents."""
    array = array.cast(pa.float64())
    cells = array.cast(pa.string())
    whole = pc.invert(pc.match_substring(cells, "."))
    cells = pc.if_else(whole, pc.binary_join_element_wise(cells, ".0", ""), cells)
    size = pc.abs(array)
    odd = pc.or_(pc.greater_equal(size, 1e9), pc.and_(pc.less(size, 1e-3), pc.greater(size, 0.0)))
    odd = pc.or_(odd, pc.is_nan(array)).fill_null(False)
    if not pc.any(odd).as_py():
        return cells
    spelt = [_spell(value) for value in array.filter(odd).to_pylist()]
    return pc.replace_with_mask(cells, odd, pa.array(spelt, pa.string()))


def _spell(value: float) -> str:
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text := repr(value), text)


def _durations(array: pa.Array) -> pa.Array:
    micros = array.cast(pa.duration("us")).cast(pa.int64())
    whole = pc.divide(micros, 1_000_000)
    rest = pc.abs(pc.subtract(micros, pc.multiply(whole, 1_000_000)))
    padded = pc.utf8_lpad(rest.cast(pa.string()), 6, "0")
    negative = pc.and_(pc.less(micros, 0), pc.equal(whole, 0))
    sign = pc.if_else(negative, "-", "")
    cells = pc.binary_join_element_wise(sign, whole.cast(pa.string()), ".", padded, "")
    return pc.replace_substring_regex(cells, r"\.?0*$", "")


def is_nested(type: pa.DataType) -> bool:
    """Whether it is a list, a map or a struct."""
    return (
        pa.types.is_list(type)
        or pa.types.is_large_list(type)
        or pa.types.is_fixed_size_list(type)
        or pa.types.is_map(type)
        or pa.types.is_struct(type)
    )


def _nested(array: pa.Array) -> pa.Array:
    if pa.types.is_struct(array.type):
        cells = _structs(array)
    elif pa.types.is_map(array.type):
        cells = _maps(array)
    else:
        lists = array.cast(pa.list_(array.type.value_type))
        cells = _joined(lists, as_json(lists.flatten()), "[", "]")
    return pc.if_else(array.is_null(), pa.scalar(None, pa.string()), cells)


def _structs(array: pa.Array) -> pa.Array:
    """Structs as JSON objects, field by field."""
    names = [json.dumps(field.name, ensure_ascii=False) for field in array.type]
    values = [as_json(column) for column in array.flatten()]
    members = [pc.binary_join_element_wise(n, v, ":") for n, v in zip(names, values)]
    if not members:
        return pa.array(["{}"] * len(array), pa.string())
    return pc.binary_join_element_wise("{", pc.binary_join_element_wise(*members, ","), "}", "")


def _maps(array: pa.Array) -> pa.Array:
    """Maps as JSON objects; keys of other types are spelt as text."""
    entries = array.cast(
        pa.list_(pa.struct([("key", array.type.key_type), ("value", array.type.item_type)]))
    )
    keys, values = entries.flatten().flatten()
    members = pc.binary_join_element_wise(as_json(plain(keys)), as_json(values), ":")
    return _joined(entries, members, "{", "}")


def _joined(lists: pa.Array, elements: pa.Array, opened: str, closed: str) -> pa.Array:
    """Lists whose elements are spelt already, all at once."""
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    texts = pa.ListArray.from_arrays(pa.array(offsets), elements)
    return pc.binary_join_element_wise(opened, pc.binary_join(texts, ","), closed, "")


def _escaped(cells: pa.Array) -> pa.Array:
    special = pc.match_substring_regex(cells, r'["\\\x00-\x1f]').fill_null(False)
    if not pc.any(special).as_py():
        return cells
    for plain_text, escape in (
        ("\\", "\\\\"),
        ('"', '\\"'),
        ("\n", "\\n"),
        ("\r", "\\r"),
        ("\t", "\\t"),
    ):
        cells = pc.replace_substring(cells, plain_text, escape)
    rare = pc.match_substring_regex(cells, r"[\x00-\x1f]").fill_null(False)
    if not pc.any(rare).as_py():
        return cells
    spelt = [
        "".join(json.dumps(c)[1:-1] if c < " " else c for c in v)
        for v in cells.filter(rare).to_pylist()
    ]
    return pc.replace_with_mask(cells, rare, pa.array(spelt, pa.string()))
