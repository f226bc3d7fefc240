"""Results as text and as Parquet."""

import csv
import datetime as dt
import io
import json
import math
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.connect import ParquetSink, TextSink, encode, header, open_source
from millstream.errors import MillstreamError

ROW = {
    "ts": (pa.timestamp("us"), dt.datetime(2024, 1, 1, 0, 0, 0, 5), "2024-01-01T00:00:00.000005"),
    "day": (pa.date32(), dt.date(2024, 1, 1), "2024-01-01"),
    "n": (pa.int64(), -5, "-5"),
    "x": (pa.float64(), 2.0, "2.0"),
    "big": (pa.float64(), 1e20, "1e+20"),
    "small": (pa.float64(), 1e-7, "1e-07"),
    "nan": (pa.float64(), math.nan, "NaN"),
    "inf": (pa.float64(), -math.inf, "-Infinity"),
    "yes": (pa.bool_(), True, "true"),
    "money": (pa.decimal128(10, 2), Decimal("1.50"), "1.50"),
    "tiny": (pa.decimal128(20, 10), Decimal("0.0000000001"), "0.0000000001"),
    "wait": (pa.duration("us"), dt.timedelta(seconds=90, microseconds=500000), "90.5"),
    "back": (pa.duration("us"), -dt.timedelta(microseconds=1), "-0.000001"),
    "text": (pa.string(), "plain", "plain"),
    "quoted": (pa.string(), 'a,"b"\n', '"a,""b""\n"'),
    "empty": (pa.string(), "", '""'),
    "list": (pa.list_(pa.int64()), [1, None], '"[1,null]"'),
    "words": (pa.list_(pa.string()), ['a"', ""], '"[""a\\"""",""""]"'),
    "nothing": (pa.list_(pa.int64()), [], "[]"),
}
JSON = {
    "nan": '"NaN"', "inf": '"-Infinity"', "ts": '"2024-01-01T00:00:00.000005"',
    "day": '"2024-01-01"',
    "text": '"plain"', "quoted": '"a,\\"b\\"\\n"', "empty": '""', "list": "[1,null]",
    "words": '["a\\"",""]',
}  # fmt: skip


def batch(**columns):
    return pa.record_batch([pa.array(v, t) for t, v in columns.values()], names=list(columns))


@pytest.mark.parametrize("name", ROW)
def test_each_type(name):
    type, value, text = ROW[name]
    rows = batch(a=(type, [value, None]), b=(pa.int64(), [1, 2]))
    assert encode(rows, "csv").decode() == f"{text},1\n,2\n"
    assert (
        encode(rows, "jsonl").decode()
        == f'{{"a":{JSON.get(name, text)},"b":1}}\n{{"a":null,"b":2}}\n'
    )


def test_headers():
    schema = pa.schema([("ts", pa.int64()), ('a,"b', pa.int64())])
    assert header(schema, "csv") == b'ts,"a,""b"\n'
    assert header(schema, "jsonl") == b""


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats() | st.none(), max_size=20))
def test_doubles_are_spelt_as_python_spells_them(values):
    lines = encode(
        batch(a=(pa.float64(), values), b=(pa.int64(), [0] * len(values))), "csv"
    ).decode()
    names = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity", "None": ""}
    assert lines == "".join(f"{names.get(repr(v), repr(v))},0\n" for v in values)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.text() | st.none(), st.datetimes() | st.none()), max_size=10),
    st.integers(0, 3),
)
def test_text_reads_back(rows, skip):
    data = batch(
        a=(pa.string(), [a for a, _ in rows]), b=(pa.timestamp("us"), [b for _, b in rows])
    )
    data = data.slice(skip)
    expected = data.to_pylist()
    read = [json.loads(line) for line in encode(data, "jsonl").decode().split("\n")[:-1]]
    assert [row["a"] for row in read] == [row["a"] for row in expected]
    stamps = [row["b"] and dt.datetime.fromisoformat(row["b"]) for row in read]
    assert stamps == [row["b"] for row in expected]
    cells = list(csv.reader(io.StringIO(encode(data, "csv").decode(), newline="")))
    assert [row[0] for row in cells] == [row["a"] or "" for row in expected]


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_a_source_reads_what_a_sink_wrote(tmp_path, format):
    names = [n for n in ROW if not pa.types.is_list(ROW[n][0])]
    rows = batch(**{n: (ROW[n][0], [ROW[n][1], None]) for n in names})
    with TextSink(f"{tmp_path}/a.{format}", rows.schema, format) as sink:
        sink.append(rows)
    source = open_source(f"a.{format}", "s", rows.schema, {}, str(tmp_path), False)
    read_batch = source.read(source.plan(source.start(), 10)[0][0], names)
    assert read_batch.errors.num_rows == 0
    assert repr(read_batch.rows.to_pylist()) == repr(rows.to_pylist())


def test_resume_cuts_the_file_to_what_counted(tmp_path):
    path = str(tmp_path / "out" / "q.csv")
    rows = batch(ts=(pa.int64(), [1, 2]), a=(pa.string(), ["x", None]))
    sink = TextSink(path, rows.schema, "csv")
    sink.append(rows)
    sink.flush()
    size = sink.size
    sink.append(rows)
    sink.close()
    again = TextSink(path, rows.schema, "csv", size)
    again.append(rows.slice(1))
    again.close()
    text = (tmp_path / "out" / "q.csv").read_text()
    assert text == "ts,a\n1,x\n2,\n2,\n" and len(text) == again.size
    with pytest.raises(MillstreamError, match="cannot be continued"):
        TextSink(path, rows.schema, "csv", 10_000)
    with pytest.raises(MillstreamError, match="does not exist"):
        TextSink(path + "x", rows.schema, "csv", 5)
    TextSink(path, rows.schema, "csv").close()
    assert (tmp_path / "out" / "q.csv").read_text() == "ts,a\n"


def test_parquet_is_there_as_a_whole(tmp_path):
    path = str(tmp_path / "q.parquet")
    rows = batch(ts=(pa.int64(), [1, 2]))
    ParquetSink.write(path, rows.schema, [rows, rows])
    assert pq.read_table(path)["ts"].to_pylist() == [1, 2, 1, 2]

    def failing():
        yield rows
        raise RuntimeError

    with pytest.raises(RuntimeError):
        ParquetSink.write(path, rows.schema, failing())
    assert pq.read_table(path).num_rows == 4
    ParquetSink.write(path, rows.schema, [])
    assert pq.read_table(path).num_rows == 0


ONE_COLUMN = {
    "int": (pa.int64(), [1, None, 3, None]),
    "double": (pa.float64(), [None, 0.5]),
    "timestamp": (pa.timestamp("us"), [dt.datetime(2024, 1, 1), None]),
    "boolean": (pa.bool_(), [None, None]),
    "text": (pa.string(), ["a", None, "b,c", None, '"']),
}


@pytest.mark.parametrize("name", ONE_COLUMN)
def test_null_in_a_file_of_one_column_is_a_row(tmp_path, name):
    """An empty line is no row to most readers: NULL is `""`, and is read back as NULL."""
    rows = batch(a=ONE_COLUMN[name])
    path = str(tmp_path / "a.csv")
    with TextSink(path, rows.schema, "csv") as sink:
        sink.append(rows)
    values = rows.column(0).to_pylist()
    with open(path, newline="") as file:
        cells = [row[0] for row in csv.reader(file)][1:]
    assert [cell == "" for cell in cells] == [value is None for value in values]
    source = open_source("a.csv", "s", rows.schema, {}, str(tmp_path), False)
    found = source.read(source.plan(source.start(), 10)[0][0], ["a"])
    assert found.errors.num_rows == 0 and found.rows.to_pylist() == rows.to_pylist()
    options = """header = true, delim = ',', quote = '"', escape = '"'"""
    sql = f"SELECT a FROM read_csv('{path}', {options})"
    theirs = [row[0] for row in duckdb.sql(sql).fetchall()]
    assert [value is None for value in theirs] == [value is None for value in values]


def test_an_empty_string_stays_one_beside_other_columns_only(tmp_path):
    """In a file of one column nothing but `""` can stand for either: it is read as NULL."""
    for width, expected in ((1, [None, None, "x"]), (2, ["", None, "x"])):
        columns = {"a": (pa.string(), ["", None, "x"]), "b": (pa.int64(), [1, 2, 3])}
        rows = batch(**dict(list(columns.items())[:width]))
        with TextSink(str(tmp_path / "a.csv"), rows.schema, "csv") as sink:
            sink.append(rows)
        source = open_source("a.csv", "s", rows.schema, {}, str(tmp_path), False)
        found = source.read(source.plan(source.start(), 10)[0][0], ["a"])
        assert found.rows.column(0).to_pylist() == expected
