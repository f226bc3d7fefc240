"""Fields inside of others, by paths: `item.price` is the field `price` of the column `item`."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

Path = tuple[str, ...]


class Overlapping(Exception):
    """A column is wanted as a whole and in parts, which one schema cannot say."""


def nested_schema(paths: Sequence[Path], types: Sequence[pa.DataType]) -> pa.Schema:
    """The schema in which each path leads to a field of its type.

    >>> nested_schema([("t",), ("item", "price")], [pa.int64(), pa.float64()]).types
    [DataType(int64), StructType(struct<price: double>)]
    """
    return pa.schema(_fields(list(zip(paths, types))))


def find_field(schema: pa.Schema | pa.StructType, name: str) -> tuple[Path, pa.DataType] | None:
    """Where a column stands, and its type: under its name, else under the parts of its name.

    Names in the same case come before those in another.
    """
    names = [schema.field(i).name for i in range(len(schema))]
    folded = {there.lower(): there for there in reversed(names)}
    found = name if name in names else folded.get(name.lower())
    if found is not None:
        return (found,), schema.field(names.index(found)).type
    outer, point, inner = name.partition(".")
    above = find_field(schema, outer) if point else None
    if above is None or not pa.types.is_struct(above[1]):
        return None
    below = find_field(above[1], inner)
    return None if below is None else ((*above[0], *below[0]), below[1])


def field_at(table: pa.Table, path: Path) -> pa.Array:
    """The values at a path; NULL where something on the way is."""
    column = table[path[0]]
    whole = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return pc.struct_field(whole, list(path[1:])) if len(path) > 1 else whole


def all_names(schema: pa.Schema | pa.StructType) -> list[str]:
    """The names of columns and of their fields, as they may be declared."""
    names = []
    for i in range(len(schema)):
        field = schema.field(i)
        names.append(field.name)
        if pa.types.is_struct(field.type):
            names += [f"{field.name}.{inner}" for inner in all_names(field.type)]
    return names


def _fields(columns: list[tuple[Path, pa.DataType]]) -> list[pa.Field]:
    grouped: dict[str, list[tuple[Path, pa.DataType]]] = {}
    for path, type in columns:
        grouped.setdefault(path[0], []).append((path[1:], type))
    fields = []
    for name, parts in grouped.items():
        leaves = [type for path, type in parts if not path]
        if len(leaves) == len(parts):
            fields += [pa.field(name, type) for type in leaves]
        elif leaves:
            raise Overlapping(name)
        else:
            fields.append(pa.field(name, pa.struct(_fields(parts))))
    return fields
