"""The law of cuts: rows, numbers and errors do not depend on how a source is cut."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from drain import drain
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millstream.connect import open_source

pytestmark = pytest.mark.slow

SCHEMA = pa.schema(
    [("a", pa.int64()), ("b", pa.string()), ("c", pa.timestamp("us")), ("d", pa.decimal128(5, 1))]
)
ANY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))

csv_cells = st.sampled_from(
    ["", "1", " 2 ", "x", '"q"', '"', '""', '"a\nb"', 'in"side', "2024-01-01",
     "2024-01-01T00:00:00Z", "1.25", "é", "0x10", '"z" y', "99999999999999999999", "\r", "1,2"]
)  # fmt: skip
csv_rows = st.lists(csv_cells, min_size=3, max_size=5).map(",".join)
json_values = st.sampled_from(
    [
        "1",
        "2.0",
        '"x"',
        '"2024-01-01"',
        "null",
        "true",
        "[1]",
        '{"a":1}',
        "1.25",
        '"7"',
        "1e999",
        "NaN",
    ]
)
json_keys = st.sampled_from(["a", "A", "b", "B", "c", "d", "z", "$heartbeat"])
json_rows = st.one_of(
    st.lists(st.tuples(json_keys, json_values), max_size=4).map(
        lambda pairs: "{" + ",".join(f'"{k}":{v}' for k, v in pairs) + "}"
    ),
    st.sampled_from(["[]", "x", '{"a":', "1}", "", '{"$heartbeat":3}', " {} ", '{"a":1}{"a":2}']),
)


NESTED = pa.schema(
    [("a", pa.int64()), ("o.x", pa.float64()), ("o.b.c", pa.string()), ("b", pa.string())]
)
nested_values = st.sampled_from(
    ["1", "2.5", '"x"', "null", "[1, 2]", '{"x":1}', '{"X":2.5,"b":null}', '{"b":{"c":"y"}}',
     '{"b":{"C":[1]},"x":"7"}', '{"b":3}', "1e999"]
)  # fmt: skip
nested_keys = st.sampled_from(["a", "o", "O", "o.x", "O.X", "b", "o.b", "o.b.c", "z"])
nested_rows = st.lists(st.tuples(nested_keys, nested_values), max_size=4, unique_by=lambda p: p[0])


@settings(ANY)
@given(rows=st.lists(nested_rows, max_size=12))
def test_nested_json(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("nested")
    lines = ["{" + ",".join(f'"{k}":{v}' for k, v in pairs) + "}" for pairs in rows]
    (folder / "x.jsonl").write_text("\n".join(lines) + "\n")
    source = open_source("x.jsonl", "s", NESTED, {}, str(folder), False)
    assert_cuts_do_not_matter(source)


def assert_cuts_do_not_matter(source):
    whole = repr(drain(source, 10_000))
    for rows in (1, 2, 3, 7, 50):
        assert repr(drain(source, rows)) == whole


def check(folder, name, data):
    (folder / name).write_bytes(data)
    assert_cuts_do_not_matter(open_source(name, "s", SCHEMA, {}, str(folder), False))


@ANY
@given(rows=st.lists(csv_rows, max_size=30), end=st.sampled_from(["\n", "\r\n"]))
def test_csv(tmp_path, rows, end):
    check(tmp_path, "a.csv", (end.join(["a,b,c,d", *rows])).encode())


@ANY
@given(
    noise=st.lists(st.sampled_from([b'"', b",", b"\n", b"\r", b"1", b"\xff", b"a"]), max_size=60)
)
def test_csv_noise(tmp_path, noise):
    check(tmp_path, "a.csv", b"a,b,c,d\n" + b"".join(noise))


@ANY
@given(rows=st.lists(json_rows, max_size=40))
def test_json(tmp_path, rows):
    check(tmp_path, "a.jsonl", "\n".join(rows).encode())


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    files=st.lists(
        st.lists(st.sampled_from(["1", "x", None]), max_size=12), min_size=1, max_size=4
    ),
    group=st.integers(1, 12),
)
def test_parquet(tmp_path_factory, files, group):
    folder = tmp_path_factory.mktemp("p")
    for number, cells in enumerate(files):
        table = pa.table(
            {n: pa.array(cells if n == "a" else [None] * len(cells), pa.string()) for n in "abcd"}
        )
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=group)
    assert_cuts_do_not_matter(open_source(".", "s", SCHEMA, {}, str(folder), False))


@pytest.mark.parametrize("kind", ["persons", "auctions", "bids", "feed"])
def test_generator(kind):
    columns = {
        "persons": [("id", pa.int64()), ("name", pa.string()), ("email", pa.string())],
        "auctions": [("id", pa.int64()), ("seller", pa.int64()), ("expires", pa.timestamp("us"))],
        "bids": [("auction", pa.int64()), ("price", pa.float64()), ("ts", pa.timestamp("us"))],
        "feed": [("event", pa.string()), ("id", pa.int64()), ("city", pa.string())],
    }  # fmt: skip
    source = open_source(
        "generate:auction?events=500&rate=7", kind, pa.schema(columns[kind]), {}, ".", False
    )
    assert_cuts_do_not_matter(source)


@pytest.mark.parametrize("name", ["link2", "all_links"])
def test_connections(name):
    types = [("source", pa.int64()), ("ts", pa.int64()), ("protocol", pa.string())]
    url = "generate:connections?events=500"
    assert_cuts_do_not_matter(open_source(url, name, pa.schema(types), {}, ".", False))
