"""Tables that change and aggregates that collect, worked out by hand from the definitions."""

import pytest

from .evaluate import evaluate
from .files import as_text
from .spec import (
    Aggregate,
    Bin,
    Change,
    Col,
    Delete,
    Insert,
    Item,
    Join,
    Lit,
    Query,
    Script,
    SpecError,
    TableSpec,
    Update,
    Window,
)
from .test_joins import lasting, result
from .test_oracle import COUNT, A, K, N, numbers, pairs

COLUMNS = (("k", "bigint"), ("v", "string"))
KEYED = (("+", 1, 1, "p"), ("insert", 2, 1, "q"), ("u", 2, 2, "r"), ("delete", 4, 1, ""))


def table(*changes: tuple, key: tuple[str, ...] = (), **parts) -> TableSpec:
    """A table of (k, v), from (op, ts, k, v)."""
    made = tuple(Change(op, ts, (k, v or None)) for op, ts, k, v in changes)
    return TableSpec("t", COLUMNS, feed="changes", key=key, changes=made, **parts)


def changes(query: Query, made: TableSpec, *streams) -> tuple:
    return result(query, *streams, tables=(made,))


ALL = Query("t", output="streamed")


def test_with_a_key_an_insertion_replaces():
    found = changes(ALL, table(*KEYED, key=("k",)))
    assert found == (
        *(("+", 1, (1, "p")), ("u", 2, (1, "q")), ("+", 2, (2, "r"))),
        ("-", 4, (1, None)),
    )


def test_without_a_key_copies_are_kept():
    # Two copies; one is deleted at 3, the other at 4; the third deletion finds nothing.
    made = table(("+", 1, 1, "p"), ("+", 1, 1, "p"), *(("-", ts, 1, "p") for ts in (3, 4, 5)))
    assert changes(ALL, made) == (
        *(("+", 1, (1, "p")), ("+", 1, (1, "p"))),
        *(("-", 3, (1, "p")), ("-", 4, (1, "p"))),
    )


def test_deleting_what_is_not_there_does_nothing():
    made = table(("-", 1, 1, ""), ("+", 2, 1, "p"), ("-", 3, 7, ""), key=("k",))
    assert changes(ALL, made) == (("+", 2, (1, "p")),)


def test_changes_of_an_instant_are_applied_in_order():
    # Inserted and deleted at 1: never seen. At 2 the last of two wins.
    made = table(
        *(("+", 1, 1, "p"), ("-", 1, 1, ""), ("+", 2, 1, "q"), ("+", 2, 1, "r")), key=("k",)
    )
    assert changes(ALL, made) == (("+", 2, (1, "r")),)


def test_late_changes_are_set_aside():
    made = table(("+", 3, 1, "p"), ("+", 2, 2, "q"), ("+", 3, 3, "r"), ("-", 1, 1, ""), key=("k",))
    results = evaluate(Script((), (made,), queries=(ALL,)))
    assert results["q1"].rows == (("+", 3, (1, "p")), ("+", 3, (3, "r")))
    assert results["t.late"].rows == ((2, "q"), (1, None))


def test_istream_of_a_table():
    query = Query("t", output="istream")
    found = changes(query, table(*KEYED, key=("k",)))
    assert found == ((1, (1, "p")), (2, (1, "q")), (2, (2, "r")))


def test_an_equal_row_in_its_place_is_no_change():
    query = Query("t", output="rstream")
    made = table(("+", 1, 1, "p"), ("u", 2, 1, "p"), ("+", 3, 2, "q"), key=("k",))
    assert changes(query, made) == ((1, (1, "p")), (3, (1, "p")), (3, (2, "q")))


def joined(kind: str = "inner", output: str = "streamed", window: Window | None = None) -> Query:
    on = Bin("=", Col("a", "s"), Col("k", "t"))
    items = A, Item(Col("v"), "v")
    return Query("s", items, window, joins=(Join("t", kind, on),), output=output)


def test_updates_reach_back():
    # 1 came at 1 and meets every version: p at 1, q from 2 on, none from 4 on.
    stream = numbers((1, 1), (1, 3), (5, 4))
    found = changes(joined(), table(*KEYED, key=("k",)), stream)
    assert found == (
        *(("+", 1, (1, "p")), ("-", 2, (1, "p")), ("+", 2, (1, "q"))),
        *(("+", 3, (1, "q")), ("-", 4, (1, "q")), ("-", 4, (1, "q"))),
    )


def test_updates_that_do_not_reach_back():
    # 1@1 meets the table before 1: nothing. 1@2 meets that before 2: p. 1@3: q. 1@4: q, for the
    # deletion at 4 only meets later ones. 1@5: nothing.
    stream = numbers(*((1, ts) for ts in range(1, 6)))
    made = table(*KEYED, key=("k",), retroactive=False)
    query = joined(output="istream")
    assert changes(query, made, stream) == ((2, (1, "p")), (3, (1, "q")), (4, (1, "q")))
    left = changes(joined("left", "istream"), made, stream)
    assert left == ((1, (1, None)), (2, (1, "p")), (3, (1, "q")), (4, (1, "q")), (5, (1, None)))
    # The joined tuple lives as long as the stream's: in [Range 1] up to the instant after.
    gone = changes(joined(output="dstream", window=lasting(1)), made, stream)
    assert gone == ((4, (1, "p")), (5, (1, "q")))


def test_a_table_that_does_not_reach_back_keeps_a_join_growing():
    stream, made = numbers((1, 2)), table(*KEYED, key=("k",), retroactive=False)
    results = evaluate(Script((stream,), (made,), queries=(joined(output=None),)))
    assert results["q1"].kind == "stream"
    with pytest.raises(SpecError):
        evaluate(Script((stream,), (made,), queries=(ALL,)))


def test_changes_move_the_clock():
    # The stream ends at 1, the table at 4: a tuple of [Range 1] leaves at 3.
    query = Query("s", (A,), lasting(1), output="dstream")
    assert changes(query, table(*KEYED, key=("k",)), numbers((7, 1))) == ((3, (7,)),)


def test_time_begins_with_a_change():
    # The table has a change at 1, the stream its first element at 3.
    query = Query("s", (N,), joins=(Join("t", "cross"),), aggregates=(COUNT,), output="streamed")
    found = changes(query, table(("+", 1, 1, "p"), key=("k",)), numbers((7, 3)))
    assert found == (("+", 1, (0,)), ("u", 3, (1,)))


def test_statements():
    # 5: two rows. 7: v of 1 becomes z, k of both is kept. 9: those with k > 1 go.
    made = TableSpec(
        "t",
        COLUMNS,
        feed="statements",
        statements=(
            Insert(5, ((1, "p"), (2, None))),
            Update(7, (("v", Lit("z")),), Bin("=", Col("k"), Lit(1))),
            Delete(9, Bin(">", Col("k"), Lit(1))),
        ),
    )
    assert set(changes(ALL, made)) == {
        *(("+", 5, (1, "p")), ("+", 5, (2, None))),
        *(("-", 7, (1, "p")), ("+", 7, (1, "z")), ("-", 9, (2, None))),
    }
    assert Script((), (made,), queries=(ALL,)).to_sql().splitlines() == [
        "CREATE TABLE t (k bigint, v string);",
        "INSERT INTO t VALUES (1, 'p'), (2, NULL) AT 5;",
        "UPDATE t SET v = 'z' WHERE (k = 1) AT 7;",
        "DELETE FROM t WHERE (k > 1) AT 9;",
        "SELECT STREAMED * FROM t;",
    ]


def test_a_condition_that_is_unknown_changes_nothing():
    rows = Insert(1, ((1, None), (2, "x")))
    gone = Delete(2, Bin("<>", Col("v"), Lit("y")))
    made = TableSpec("t", COLUMNS, feed="statements", statements=(rows, gone))
    assert changes(Query("t", output="complete"), made) == ((1, None),)


def test_a_table_as_files():
    made = table(*KEYED, key=("k",), retroactive=False)
    assert as_text(Script((numbers((1, 2)),), (made,), queries=(joined(),))).splitlines() == [
        "--- script.sql",
        "CREATE STREAM s (a bigint, ts bigint) ORDER BY ts SOURCE 's.csv';",
        "CREATE TABLE t (k bigint, v string) KEY (k) NON RETROACTIVE SOURCE 't.csv';",
        "SELECT STREAMED a, v FROM s JOIN t ON (s.a = t.k);",
        "",
        *("--- s.csv", "a,ts", "1,2", ""),
        *("--- t.csv", "op,ts,k,v", "+,1,1,p", "insert,2,1,q", "u,2,2,r", "delete,4,1,"),
    ]


def test_collected_values_are_in_the_order_of_time():
    # Arrival b@5, a@3, NULL@5, c@5, with a slack: by time a, then b, NULL, c.
    stream = pairs(("b", 2, 5), ("a", 1, 3), (None, 3, 5), ("c", 4, 5))
    stream = type(stream)(stream.name, stream.columns, "ts", 2, stream.rows)
    texts, numbers_ = Aggregate("x", "string_agg", Col("k")), Aggregate("y", "array_agg", Col("k"))
    items = Item(Col("x"), "x"), Item(Col("y"), "y")
    query = Query("s", items, aggregates=(texts, numbers_))
    results = evaluate(Script((stream,), queries=(query,)))["q1"]
    assert results.rows == (("a,b,c", ("a", "b", None, "c")),)
    assert results.columns == (("x", "string"), ("y", "array<string>"))
    assert (
        "string_agg(k, ',') AS x, array_agg(k) AS y" in Script((stream,), queries=(query,)).to_sql()
    )


def test_collected_values_leave():
    # [Rows 1] of x: nothing to collect once the group is gone; NULL alone is an array of NULL.
    stream = pairs((None, 1, 1), ("x", 2, 2))
    texts, values = Aggregate("x", "string_agg", Col("k")), Aggregate("y", "array_agg", Col("k"))
    items = Item(Col("x"), "x"), Item(Col("y"), "y")
    only = Bin("<", Col("a"), Lit(2))
    query = Query("s", items, Window("rows", rows=1), where=only, aggregates=(texts, values))
    found = result(query, stream, name="q1.changes")
    assert found == (("+", 1, (None, (None,))), ("u", 2, (None, None)))
    groups = Query("s", (K, items[1]), group_by=(K,), aggregates=(values,), output="streamed")
    grown = result(groups, pairs(("x", 1, 1), ("x", 2, 2)))
    assert grown == (("+", 1, ("x", ("x",))), ("u", 2, ("x", ("x", "x"))))
