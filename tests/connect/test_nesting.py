"""Fields inside of others by path, and lists, maps and structs as JSON text."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from drain import drain

from millstream.connect import open_source
from millstream.connect.cells import as_json
from millstream.connect.source import Comparison
from millstream.errors import MillstreamError
from millstream.testing import run_script

ITEM = pa.struct([("price", pa.float64()), ("shop", pa.struct([("Name", pa.string())]))])
ITEMS = [
    {"price": 2.5, "shop": {"Name": "a"}},
    {"price": None, "shop": None},
    None,
    {"price": 7.0, "shop": {"Name": "b"}},
]
COLUMNS = [("t", pa.int64()), ("item.price", pa.float64()), ("item.shop.name", pa.string())]
SCRIPT = """
CREATE STREAM s (t bigint, "item.price" double, "item.shop.name" string) ORDER BY t SOURCE '{}';
SELECT "item.price" AS price, "item.shop.name" FROM s WHERE "item.price" > 1 OR t = 2;
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table = pa.table({"t": range(4), "item": pa.array(ITEMS, ITEM)})
    pq.write_table(table, tmp_path / "s.parquet", row_group_size=2)
    lines = [json.dumps({"t": i, "item": item}) + "\n" for i, item in enumerate(ITEMS)]
    (tmp_path / "s.jsonl").write_text("".join(lines))
    return tmp_path


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_fields_by_path(ending: str, folder: Path) -> None:
    for rows in ("1", "100"):
        results = run_script(SCRIPT.format(f"s.{ending}"), folder, {"batch_rows": rows})
        assert [tuple(row.values()) for row in results["q1"].to_pylist()] == [
            (0, 2.5, "a"), (2, None, None), (3, 7.0, "b"),
        ]  # fmt: skip


def test_a_column_of_that_name_comes_first(tmp_path: Path) -> None:
    columns = pa.schema([("t", pa.int64()), ("item.price", pa.float64())])
    item = pa.array([{"price": 1.0}], pa.struct([("price", pa.float64())]))
    pq.write_table(pa.table({"t": [0], "item": item, "item.price": [9.0]}), tmp_path / "s.parquet")
    lines = ['{"t": 0, "item": {"price": 1}, "item.price": 9}', '{"t": 1, "item": {"price": 1}}',
             '{"t": 2, "Item.Price": 8, "item": {"price": 1}}']  # fmt: skip
    (tmp_path / "s.jsonl").write_text("\n".join(lines) + "\n")
    assert drain(_opened(tmp_path, "s.parquet", columns), 5)[0] == [(1, (0, 9.0))]
    for rows in (1, 5):
        good = drain(_opened(tmp_path, "s.jsonl", columns), rows)[0]
        assert [row for _, row in good] == [(0, 9.0), (1, 1.0), (2, 8.0)]


def test_what_is_known_of_a_row_group_is_known_of_its_fields(folder: Path) -> None:
    source = _opened(folder, "s.parquet", pa.schema(COLUMNS))
    first, second = source.plan(source.start(), 100)[0]
    assert source.excludes(first, Comparison("item.price", ">", 3.0))
    assert not source.excludes(second, Comparison("item.price", ">", 3.0))


def test_json_that_is_not_as_declared(tmp_path: Path) -> None:
    lines = ['{"t":0,"item":5}', '{"t":1,"item":{"price":[1]}}', '{"t":2,"item":{"price":"x"}}',
             '{"t":3}', '{"t":4,"ITEM":{"Price":1}}']  # fmt: skip
    (tmp_path / "s.jsonl").write_text("\n".join(lines) + "\n")
    for rows in (1, 100):
        good, errors, _ = drain(_opened(tmp_path, "s.jsonl", pa.schema(COLUMNS[:2])), rows)
        assert [row for _, row in good] == [(3, None), (4, 1.0)]
        assert [reason for _, reason, _ in errors] == [
            'column "item.price": "item" is not an object',
            'column "item.price": an array is not a double; declare it string for its JSON text',
            'column "item.price": "x" is not a double',
        ]


def test_parquet_that_is_not_as_declared(folder: Path) -> None:
    def fault(name: str, type: pa.DataType) -> MillstreamError:
        with pytest.raises(MillstreamError) as error:
            _opened(folder, "s.parquet", pa.schema([(name, type)]))
        return error.value

    assert fault("item.prise", pa.float64()).hint == "Did you mean item.price?"
    assert "does not exist" in fault("t.price", pa.float64()).message
    told = fault("item", pa.float64())
    assert "which cannot be read as double" in told.message
    assert told.hint is not None and told.hint.startswith(
        'Declare a field of it, such as "item.price"'
    )
    pq.write_table(pa.table({"tags": [[1, 2]]}), folder / "s.parquet")
    assert fault("tags", pa.float64()).hint == "Declare it as string, for its JSON text."


def test_lists_maps_and_structs_are_json_text(tmp_path: Path) -> None:
    values = {
        "list": ([[1, 2], [], None], pa.list_(pa.int64())),
        "texts": ([['a"b', None], ["é\n"], []], pa.list_(pa.string())),
        "map": ([[("k", 1.5)], [], None], pa.map_(pa.string(), pa.float64())),
        "struct": (
            [{"d": dt.date(2024, 5, 1), "n": Decimal("1.50")}, {"d": None, "n": None}, None],
            pa.struct([("d", pa.date32()), ("n", pa.decimal128(5, 2))]),
        ),
    }
    arrays = {name: pa.array(cells, type) for name, (cells, type) in values.items()}
    pq.write_table(pa.table(arrays), tmp_path / "s.parquet")
    schema = pa.schema([(name, pa.string()) for name in values])
    good, errors, _ = drain(_opened(tmp_path, "s.parquet", schema), 2)
    assert errors == []
    assert [row for _, row in good] == [
        ("[1,2]", '["a\\"b",null]', '{"k":1.5}', '{"d":"2024-05-01","n":1.50}'),
        ("[]", '["é\\n"]', "{}", '{"d":null,"n":null}'),
        (None, "[]", None, None),
    ]


def test_json_text_of_json(tmp_path: Path) -> None:
    lines = ['{"t":0,"v":[1, 2.50, {"a": "é\\n"}]}', '{"t":1,"v":{"a":null,"b":[true]}}',
             '{"t":2,"v":"text"}', '{"t":3,"v":1e5}', '{"t":4}']  # fmt: skip
    (tmp_path / "s.jsonl").write_text("\n".join(lines) + "\n")
    schema = pa.schema([("t", pa.int64()), ("v", pa.string()), ("v.a", pa.string())])
    for rows in (1, 100):
        good, errors, _ = drain(_opened(tmp_path, "s.jsonl", schema.remove(2)), rows)
        assert [row[1] for _, row in good] == [
            '[1,2.50,{"a":"é\\n"}]', '{"a":null,"b":[true]}', "text", "1e5", None,
        ]  # fmt: skip
        good, errors, _ = drain(_opened(tmp_path, "s.jsonl", schema), rows)
        assert [row for _, row in good] == [(1, '{"a":null,"b":[true]}', None), (4, None, None)]
        assert len(errors) == 3, "parts of what is no object"


def test_deep_values_are_spelt_as_json_does() -> None:
    type = pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.list_(pa.float64())))]))
    cells = [[{"m": [("a", [1.5, None]), ("b", None)]}, None], None, []]
    texts = as_json(pa.array(cells, type)).to_pylist()
    assert [json.loads(text) for text in texts] == [
        [{"m": {"a": [1.5, None], "b": None}}, None], None, [],
    ]  # fmt: skip


def _opened(folder: Path, url: str, schema: pa.Schema):
    return open_source(url, "s", schema, {}, str(folder), False)
