"""What each statement holds, and where its pieces stand."""

import pytest
from sqlglot import exp

from millstream.errors import MillstreamError
from millstream.lang import (
    CreateStream,
    CreateStreamAs,
    CreateTable,
    CreateView,
    Describe,
    Drop,
    Explain,
    Interval,
    QueryStatement,
    Set,
    Show,
    ToStream,
    name_place_of,
    parse_script,
    place_of,
)

CLAUSES = ["ORDER BY ts", "SLACK 5 seconds", "SOURCE 'x.csv'", "WITH (header = false, idle = 5 s)"]


def only(text: str):
    (statement,) = parse_script(text)
    return statement


def shown(place) -> str:
    return place.text[place.start : place.end]


@pytest.mark.parametrize("turn", range(4))
@pytest.mark.parametrize("create", ["CREATE STREAM", "STREAM", "create stream"])
def test_stream_clauses_in_any_order(create: str, turn: int) -> None:
    clauses = " ".join(CLAUSES[turn:] + CLAUSES[:turn])
    stream = only(f"{create} bids (item bigint, ts timestamp) {clauses};")
    assert isinstance(stream, CreateStream)
    assert [(c.name, c.type) for c in stream.columns] == [("item", "bigint"), ("ts", "timestamp")]
    assert stream.order_by == "ts"
    assert stream.slack == Interval(5_000_000, "microsecond")
    assert stream.source == "x.csv"
    assert stream.options == (("header", "false"), ("idle", "5 s"))
    assert shown(stream.order_place) == "ORDER BY ts"
    assert shown(stream.source_place) == "SOURCE 'x.csv'"
    assert shown(stream.columns[0].place) == "item bigint"
    assert shown(stream.name_place) == "bids"


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("INTEGER", "int"),
        ("long", "bigint"),
        ("real", "real"),
        ("double precision", "double"),
        ("numeric", "decimal(10,0)"),
        ("decimal(12)", "decimal(12,0)"),
        ("Numeric(10, 2)", "decimal(10,2)"),
        ("char", "string"),
        ("varchar(20)", "varchar(20)"),
        ("text", "string"),
        ("bool", "boolean"),
        ("datetime", "timestamp"),
        ("interval", "interval"),
    ],
)
def test_types(written: str, canonical: str) -> None:
    assert only(f"CREATE STREAM s (a {written})").columns[0].type == canonical
    assert only(f"SELECT CAST(a AS {written})").query.expressions[0].args["to"].name == canonical


def test_tables() -> None:
    for text in (
        "CREATE TABLE t (a int, b int) KEY (a, b) SOURCE 'q'",
        "CREATE TABLE t (a int, b int) SOURCE 'q' KEY (a, b)",
        "CREATE TABLE t (a int, b int, PRIMARY KEY (a, b)) SOURCE 'q'",
    ):
        table = only(text)
        assert isinstance(table, CreateTable)
        assert (table.key, table.source) == (("a", "b"), "q")


def test_queries_with_names() -> None:
    stream = only("CREATE STREAM hot (item, n) AS SELECT Istream(item, count(*)) FROM bids")
    assert isinstance(stream, CreateStreamAs) and stream.columns == ("item", "n")
    assert stream.query.args["to_stream"] == "istream"
    view = only("CREATE VIEW v AS Rstream(SELECT a FROM s)")
    assert isinstance(view, CreateView) and isinstance(view.query, ToStream)
    assert view.query.operator == "rstream" and view.columns is None


def test_commands() -> None:
    drop = only("DROP STREAM IF EXISTS bids")
    assert isinstance(drop, Drop) and (drop.kind, drop.name, drop.if_exists) == (
        "stream",
        "bids",
        True,
    )
    assert isinstance(only("SHOW"), Show) and only("SHOW").what is None
    assert only("SHOW Settings").what == "settings"
    assert isinstance(only("DESCRIBE bids"), Describe)
    explain = only("EXPLAIN optimized hot")
    assert isinstance(explain, Explain) and (explain.stage, explain.name) == ("optimized", "hot")
    assert only("EXPLAIN Istream(SELECT a FROM t)").query.operator == "istream"
    setting = only("SET Rules = off")
    assert isinstance(setting, Set) and (setting.name, setting.value) == ("rules", "off")


def test_a_script_is_its_statements_in_order() -> None:
    text = "-- one\nSELECT 1; ;\n/* two; */ SELECT 2;;"
    first, second = parse_script(text)
    assert isinstance(first, QueryStatement)
    assert shown(first.place) == "SELECT 1" and shown(second.place) == "SELECT 2"
    assert parse_script("") == parse_script(" ; -- nothing\n") == ()


@pytest.mark.parametrize(
    ("text", "form", "columns"),
    [
        ("SELECT STREAMED a, b FROM t", "streamed", 2),
        ("SELECT Complete * FROM t", "complete", 1),
        ("SELECT COMPLETE (a + 1) AS b FROM t", "complete", 1),
        ("SELECT complete FROM t", None, 1),
        ("SELECT complete, x FROM t", None, 2),
        ("SELECT complete * 2 FROM t", None, 1),
        ("SELECT streamed AS s FROM t", None, 1),
        ("SELECT streamed IN (1) FROM t", None, 1),
        ("SELECT t.complete FROM t", None, 1),
    ],
)
def test_forms(text: str, form: str | None, columns: int) -> None:
    query = only(text).query
    assert query.args.get("form") == form and len(query.expressions) == columns


def test_every_call_is_kept_by_name() -> None:
    call = only("SELECT Coalesce(a, SUM(b)) FROM t").query.expressions[0]
    assert isinstance(call, exp.Anonymous)
    assert call.name == "coalesce" and call.expressions[1].name == "sum"


def test_places() -> None:
    text = "SELECT 1;\nSELECT max(price) + 1 AS m, CASE WHEN a THEN b END FROM bids [Rows 5] x"
    query = parse_script(text)[1].query
    alias, case = query.expressions
    assert shown(place_of(alias, text)) == "max(price) + 1 AS m"
    assert shown(place_of(alias.this.this, text)) == "max(price)"
    assert shown(name_place_of(alias.this.this, text)) == "max"
    assert shown(place_of(case, text)) == "CASE WHEN a THEN b END"
    table = query.args["from_"].this
    assert shown(place_of(table, text)) == "bids [Rows 5] x"
    assert shown(name_place_of(table, text)) == "bids"
    assert shown(place_of(table.args["stream_window"], text)) == "[Rows 5]"
    assert place_of(table, text).line == 2
    assert place_of(exp.column("nobody"), text) is None


def test_no_statement_without_an_end() -> None:
    with pytest.raises(MillstreamError, match="unexpected"):
        parse_script("SELECT a FROM t SELECT b FROM u")
