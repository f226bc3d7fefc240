"""Cases worked out by hand from the definitions: the oracle agrees with each."""

from datetime import datetime

from .evaluate import evaluate
from .spec import (
    Aggregate,
    Bin,
    Case,
    Coalesce,
    Col,
    Derived,
    Func,
    InList,
    Item,
    Join,
    Like,
    Lit,
    Not,
    Query,
    Script,
    StreamSpec,
    TableSpec,
    Window,
    instant_of,
)

A, K = Item(Col("a"), "a"), Item(Col("k"), "k")
N = Item(Col("n"), "n")
COUNT = Aggregate("n", "count")
FOUR = ((10, 1), (20, 2), (30, 2), (40, 5))


def numbers(*rows: tuple, slack: int = 0, name: str = "s") -> StreamSpec:
    """A stream of (a, ts)."""
    return StreamSpec(name, (("a", "bigint"), ("ts", "bigint")), "ts", slack, rows)


def pairs(*rows: tuple) -> StreamSpec:
    """A stream of (k, a, ts)."""
    return StreamSpec("s", (("k", "string"), ("a", "bigint"), ("ts", "bigint")), "ts", 0, rows)


def rows(stream: StreamSpec, query: Query, name: str = "q1", **parts) -> tuple:
    """The rows of one result of a script with one stream and one query."""
    return evaluate(Script((stream,), queries=(query,), **parts))[name].rows


def values(stream: StreamSpec, window: Window | None, output: str | None) -> tuple:
    """(ts, a) of the stream of `SELECT output(a) FROM s [window]`."""
    found = rows(stream, Query("s", (A,), window, output=output))
    return tuple((ts, row[0]) for ts, row in found)


# Windows


def test_now_holds_a_tuple_at_its_own_instant():
    assert values(numbers(*FOUR), Window("now"), "rstream") == ((1, 10), (2, 20), (2, 30), (5, 40))


def test_now_loses_a_tuple_at_the_next_instant():
    # 10 leaves at 2, 20 and 30 at 3; 40 would leave at 6, which does not exist.
    assert values(numbers(*FOUR), Window("now"), "dstream") == ((2, 10), (3, 20), (3, 30))


def test_range_is_closed_at_both_ends():
    # In [Range 2] a tuple stays up to ts + 2 and leaves at ts + 3.
    found = values(numbers(*FOUR), Window("range", range=2), "dstream")
    assert found == ((4, 10), (5, 20), (5, 30))


def test_range_zero_is_now():
    for output in ("istream", "dstream", "rstream"):
        now = values(numbers(*FOUR), Window("now"), output)
        assert values(numbers(*FOUR), Window("range", range=0), output) == now


def test_unbounded_keeps_all():
    for window in (None, Window("unbounded"), Window("rows")):
        found = values(numbers(*FOUR), window, "istream")
        assert found == ((1, 10), (2, 20), (2, 30), (5, 40))
        assert values(numbers(*FOUR), window, "dstream") == ()


def test_rows_takes_the_last_by_time_then_arrival():
    # {10} at 1, {20, 30} at 2, {30, 40} at 5: of the ties 20 and 30, 20 is older.
    query = Query("s", (A,), Window("rows", rows=2), output="streamed")
    assert set(rows(numbers(*FOUR), query)) == {
        ("+", 1, (10,)),
        ("-", 2, (10,)),
        ("+", 2, (20,)),
        ("+", 2, (30,)),
        ("-", 5, (20,)),
        ("+", 5, (40,)),
    }


def test_rows_smaller_than_a_tie_never_holds_its_first():
    stream = numbers((1, 3), (2, 3), (3, 3))
    assert values(stream, Window("rows", rows=2), "istream") == ((3, 2), (3, 3))


def test_rows_counts_by_time_where_arrival_differs():
    # Arrival 1@5, 2@3 (within the slack), 3@7. At 3 {2}, at 5 {1}, at 7 {3}.
    stream = numbers((1, 5), (2, 3), (3, 7), slack=2)
    assert values(stream, Window("rows", rows=1), "istream") == ((3, 2), (5, 1), (7, 3))


def test_partition_keeps_the_last_of_each():
    # x1 gives way to x3 at 3, x3 to x4 at 4; y2 stays.
    stream = pairs(("x", 1, 1), ("y", 2, 2), ("x", 3, 3), ("x", 4, 4))
    window = Window("rows", rows=1, partition_by=("k",))
    assert values(stream, window, "dstream") == ((3, 1), (4, 3))
    assert sorted(rows(stream, Query("s", (A,), window))) == [(2,), (4,)]


def test_null_is_a_partition():
    stream = pairs((None, 1, 1), (None, 2, 2), ("x", 3, 3))
    window = Window("rows", rows=1, partition_by=("k",))
    assert sorted(rows(stream, Query("s", (A,), window))) == [(2,), (3,)]


def test_partition_with_range_needs_both():
    # By range x1 leaves at 3, x2 at 4, y9 at 5; by rows x4 leaves at 6, when x5 and x6 come.
    stream = pairs(
        *(("x", 1, 1), ("x", 2, 2), ("y", 9, 3), ("x", 4, 5), ("x", 5, 6), ("x", 6, 6)),
    )
    window = Window("rows", rows=2, partition_by=("k",), range=1)
    assert values(stream, window, "dstream") == ((3, 1), (4, 2), (5, 9), (6, 4))


def test_range_slide_stands_still_between_multiples():
    # Up to 2 the content is that at 0: nothing. From 3 that at 3: ts in [1, 3] = {10, 20}.
    # From 6 that at 6: ts in [4, 6] = {30, 40}. 50 would come at 9.
    stream = numbers((10, 1), (20, 2), (30, 4), (40, 6), (50, 7))
    window = Window("range", range=2, slide=3)
    assert values(stream, window, "istream") == ((3, 10), (3, 20), (6, 30), (6, 40))
    assert values(stream, window, "dstream") == ((6, 10), (6, 20))


def test_slide_rounds_down_below_zero():
    # The multiples of 3 are -6, -3, 0. At -4 the content is that at -6; from -3, ts in [-4, -3].
    window = Window("range", range=1, slide=3)
    assert values(numbers((1, -4), (2, -1)), window, "istream") == ((-3, 1),)


def test_rows_slide_counts_tuples():
    # After 3 tuples {2, 3}, after 6 {5, 6}; the seventh changes nothing.
    stream = numbers(*((i, i) for i in range(1, 8)))
    window = Window("rows", rows=2, slide=3)
    assert values(stream, window, "istream") == ((3, 2), (3, 3), (6, 5), (6, 6))


def test_rows_slide_within_ties():
    # Five tuples up to 2; as it stood after four, the last three are 2, 3, 4.
    stream = numbers((1, 1), (2, 1), (3, 2), (4, 2), (5, 2))
    found = rows(stream, Query("s", (A,), Window("rows", rows=3, slide=2)))
    assert sorted(found) == [(2,), (3,), (4,)]


def test_partitioned_slide_counts_in_the_partition():
    # x: 1, 3 | 4, 6; y: 2, 5. Its second tuple moves a partition: x at 3 and 6, y at 5.
    stream = pairs(
        *(("x", 1, 1), ("y", 2, 2), ("x", 3, 3), ("x", 4, 4), ("y", 5, 5), ("x", 6, 6)),
    )
    window = Window("rows", rows=1, partition_by=("k",), slide=2)
    assert values(stream, window, "istream") == ((3, 3), (5, 5), (6, 6))


# Relation to stream


def test_istream_is_a_bag_difference():
    # [Range 1]: the first 7 leaves at 3, when the second comes: R(2) = R(3) = {7}.
    stream = numbers((7, 1), (7, 3), (9, 4))
    assert values(stream, Window("range", range=1), "istream") == ((1, 7), (4, 9))
    assert values(stream, Window("range", range=1), "dstream") == ()


def test_rstream_counts_an_exchange_of_equal_tuples():
    # Active are 1, 3 (exchange) and 4; at 2 nothing enters or leaves.
    stream = numbers((7, 1), (7, 3), (9, 4))
    found = values(stream, Window("range", range=1), "rstream")
    assert found == ((1, 7), (3, 7), (4, 7), (4, 9))


def test_equal_rows_of_one_instant_are_two():
    assert values(numbers((7, 1), (7, 1)), None, None) == ((1, 7), (1, 7))


def test_rstream_repeats_a_group_that_was_touched():
    # The maximum of x stays 5 when 3 comes: nothing new for STREAMED, but x was touched.
    stream = pairs(("x", 5, 1), ("x", 3, 2))
    query = Query(
        "s", (K, N), group_by=(K,), aggregates=(Aggregate("n", "max", Col("a")),), output="rstream"
    )
    assert rows(stream, query) == ((1, ("x", 5)), (2, ("x", 5)))
    streamed = Query("s", (K, N), group_by=(K,), aggregates=query.aggregates, output="streamed")
    assert rows(stream, streamed) == (("+", 1, ("x", 5)),)


def test_rstream_shows_an_untouched_group_beside_a_touched_one():
    stream = pairs(("x", 5, 1), ("y", 3, 2))
    query = Query("s", (K, N), group_by=(K,), aggregates=(COUNT,), output="rstream")
    assert rows(stream, query) == ((1, ("x", 1)), (2, ("x", 1)), (2, ("y", 1)))


# Tagged streams and keys


def test_group_is_added_updated_removed():
    # [Range 1]: x has 1 at 1, 2 at 2, 1 at 3, none at 4; y has 1 at 2 and 3; z comes at 5.
    stream = pairs(("x", 1, 1), ("x", 2, 2), ("y", 5, 2), ("z", 6, 5))
    query = Query(
        "s", (K, N), Window("range", range=1), group_by=(K,), aggregates=(COUNT,), output="streamed"
    )
    assert set(rows(stream, query)) == {
        ("+", 1, ("x", 1)),
        ("u", 2, ("x", 2)),
        ("+", 2, ("y", 1)),
        ("u", 3, ("x", 1)),
        ("-", 4, ("x", None)),
        ("-", 4, ("y", None)),
        ("+", 5, ("z", 1)),
    }


def test_without_the_group_column_there_is_no_key():
    # Counts {1}, {1, 1}, {2, 1}: at 3 a whole row goes and a whole row comes.
    stream = pairs(("x", 0, 1), ("y", 0, 2), ("x", 0, 3))
    query = Query("s", (N,), group_by=(K,), aggregates=(COUNT,), output="streamed")
    assert set(rows(stream, query)) == {("+", 1, (1,)), ("-", 3, (1,)), ("+", 3, (2,))} | {
        ("+", 2, (1,))
    }


def test_opposite_changes_cancel():
    # [Rows 3]: y y x, then y x x: the counts {2, 1} are the same bag, so nothing is told at 4.
    stream = pairs(("y", 0, 1), ("y", 0, 2), ("x", 0, 3), ("x", 0, 4))
    window = Window("rows", rows=3)
    query = Query("s", (N,), window, group_by=(K,), aggregates=(COUNT,), output="streamed")
    assert [change for change in rows(stream, query) if change[1] == 4] == []


def test_global_aggregate_updates_its_one_row():
    # [Range 1]: 1 is there at 1 and 2, 2 at 4 and 5. Time starts at 1, though r has a row at 0,
    # and ends at 6, for r has a row there.
    query = Query(
        "s",
        (N, Item(Col("total"), "total")),
        Window("range", range=1),
        aggregates=(COUNT, Aggregate("total", "sum", Col("a"))),
    )
    other = numbers((0, 0), (0, 6), name="r")
    results = evaluate(Script((numbers((1, 1), (2, 4)), other), queries=(query,)))
    assert results["q1"].kind == "relation"
    assert results["q1"].rows == ((0, None),)
    assert results["q1.changes"].rows == (
        ("+", 1, (1, 1)),
        ("u", 3, (0, None)),
        ("u", 4, (1, 2)),
        ("u", 6, (0, None)),
    )


def test_having_lets_groups_in_and_out():
    # [Range 1]: x has 1 at 1, 2 at 2, 1 at 3.
    stream = pairs(("x", 0, 1), ("x", 0, 2), ("y", 0, 3))
    more = Bin(">", Col("n"), Lit(1))
    window = Window("range", range=1)
    query = Query("s", (K, N), window, None, (), None, (K,), (COUNT,), more, "streamed")
    assert rows(stream, query) == (("+", 2, ("x", 2)), ("-", 3, ("x", None)))


def test_having_without_group_by():
    # The same count of x, as a global aggregate: its key is empty, so is its `-` row.
    stream = pairs(("x", 0, 1), ("x", 0, 2), ("y", 0, 3))
    only_x, more = Bin("=", Col("k"), Lit("x")), Bin(">", Col("n"), Lit(1))
    window = Window("range", range=1)
    query = Query("s", (N,), window, None, (), only_x, (), (COUNT,), more, "streamed")
    assert rows(stream, query) == (("+", 2, (2,)), ("-", 3, (None,)))


# Time


def test_late_is_below_the_largest_minus_slack():
    # Slack 2. After 5: 3 is on time, 2 late. After 8: 6 is on time, 5 late.
    stream = numbers((1, 5), (2, 3), (3, 2), (4, 8), (5, 6), (6, 5), slack=2)
    results = evaluate(Script((stream,), queries=(Query("s", (A,)),)))
    assert results["s.late"].rows == ((3, 2), (6, 5))
    assert results["q1"].rows == ((3, (2,)), (5, (1,)), (6, (5,)), (8, (4,)))


def test_a_tie_is_never_late():
    results = evaluate(Script((numbers((1, 5), (2, 5), (3, 4)),), queries=(Query("s", (A,)),)))
    assert results["s.late"].rows == ((3, 4),)


def test_null_in_the_order_column_is_an_error():
    stream = numbers((1, None), (2, 3), (3, None), (4, 3))
    results = evaluate(Script((stream,), queries=(Query("s", (A,)),)))
    assert results["s.errors"].rows == ((1, None), (3, None))
    assert results["q1"].rows == ((3, (2,)), (3, (4,)))


def test_nothing_exists_on_an_empty_stream():
    # s never has an element, so its time does not begin, though that of r does.
    query = Query("s", (N,), aggregates=(COUNT,))
    results = evaluate(Script((numbers(), numbers((1, 1), name="r")), queries=(query,)))
    assert results["q1"].rows == results["q1.changes"].rows == ()


def test_time_begins_with_the_base_stream():
    # d has its first element at 3, s at 1: the count over d is 0 from 1 on.
    large = Derived("d", "stream", Query("s", (A,), where=Bin(">", Col("a"), Lit(5))))
    count = Query("d", (N,), aggregates=(COUNT,))
    found = rows(numbers((1, 1), (9, 3)), count, "q1.changes", derived=(large,))
    assert found == (("+", 1, (0,)), ("u", 3, (1,)))


def test_timestamps_count_microseconds():
    # [Range 2 Seconds]: the first tuple leaves a microsecond after 00:00:03.
    def at(second):
        return datetime(2024, 1, 1, 0, 0, second)

    columns = (("a", "bigint"), ("ts", "timestamp"))
    stream = StreamSpec("s", columns, "ts", 0, ((1, at(1)), (2, at(4))))
    window = Window("range", range=2_000_000)
    assert values(stream, window, "dstream") == ((instant_of(at(3)) + 1, 1),)
    sql = Script((stream,), queries=(Query("s", (A,), window),)).to_sql()
    assert sql.endswith("SELECT a FROM s [Range 2 Seconds];\n")


def test_latent_instants_are_arrival_numbers():
    # [Range 1]: the first leaves at 3.
    stream = StreamSpec("s", (("a", "bigint"),), None, 0, ((5,), (6,), (7,)))
    assert values(stream, Window("range", range=1), "istream") == ((1, 5), (2, 6), (3, 7))
    assert values(stream, Window("range", range=1), "dstream") == ((3, 5),)


# Defaults


def test_defaults_follow_monotonicity():
    stream, table = numbers(*FOUR), TableSpec("t", (("b", "bigint"),), ((1,),))

    def kind(query: Query) -> str:
        return evaluate(Script((stream,), (table,), queries=(query,)))["q1"].kind

    assert kind(Query("s")) == "stream"
    assert kind(Query("s", window=Window("rows"))) == "stream"
    assert kind(Query("s", joins=(Join("t", "left", Bin("=", Col("a"), Col("b"))),))) == "stream"
    assert kind(Query("s", window=Window("now"))) == "relation"
    assert kind(Query("s", (N,), aggregates=(COUNT,))) == "relation"
    assert kind(Query("s", output="complete")) == "relation"
    assert kind(Query("s", output="streamed")) == "tagged"


# Joins and expressions


def test_joins_with_null_and_repeated_keys():
    # NULL meets nothing; 1 meets p and q; 2 meets nothing.
    table = TableSpec("t", (("b", "bigint"), ("c", "string")), ((1, "p"), (1, "q"), (None, "r")))
    stream = numbers((1, 1), (None, 2), (2, 3))
    on, select = Bin("=", Col("a", "s"), Col("b", "t")), (A, Item(Col("c"), "c"))
    inner = Query("s", select, joins=(Join("t", "inner", on),))
    assert rows(stream, inner, tables=(table,)) == ((1, (1, "p")), (1, (1, "q")))
    left = Query("s", select, joins=(Join("t", "left", on),))
    found = rows(stream, left, tables=(table,))
    assert found == ((1, (1, "p")), (1, (1, "q")), (2, (None, None)), (3, (2, None)))
    cross = Query("s", select, Window("now"), joins=(Join("t", "cross"),))
    assert rows(stream, cross, tables=(table,)) == ((2, "p"), (2, "q"), (2, "r"))


def test_unknown_is_not_true():
    stream = numbers((1, 1), (None, 2), (9, 3))
    above = Bin(">", Col("a"), Lit(5))
    assert rows(stream, Query("s", (A,), where=Not(above))) == ((1, (1,)),)
    # 9 NOT IN (1, NULL) is unknown, 1 is in: no row.
    listed = InList(Col("a"), (Lit(1), Lit(None)))
    assert rows(stream, Query("s", (A,), where=Not(listed))) == ()
    # NULL OR true is true.
    anything = Bin("OR", above, Bin("=", Col("ts"), Lit(2)))
    assert rows(stream, Query("s", (A,), where=anything)) == ((2, (None,)), (3, (9,)))


def test_arithmetic_and_functions():
    expressions = (
        Bin("/", Col("a"), Lit(2)),
        Bin("/", Col("a"), Lit(0)),
        Bin("%", Col("a"), Lit(3)),
        Bin("%", Col("a"), Lit(-3)),
        Bin("%", Col("a"), Lit(0)),
        Func("abs", Col("a")),
        Coalesce((Lit(None), Col("a"))),
        Case(((Bin(">", Col("a"), Lit(0)), Lit(1)),), Lit(0.5)),
        Func("length", Func("upper", Lit("ab"))),
        Like(Lit("xay"), "_a%"),
    )
    select = tuple(Item(e, f"e{i}") for i, e in enumerate(expressions))
    ((_, row),) = rows(numbers((-7, 1)), Query("s", select))
    assert row == (-3.5, None, -1, -1, None, 7, -7, 0.5, 2, True)


def test_aggregates():
    # Over NULL, 1, 2, 4, 4 in this order: the mean is 2.75, the squares of the deviations
    # 3.0625 + 0.5625 + 1.5625 + 1.5625 = 6.75, a third of that 2.25.
    functions = ("count", "count_distinct", "sum", "avg", "min", "max")
    functions += ("variance", "stddev", "median", "first", "last", "quantile")
    aggregates = (COUNT, *(Aggregate(f"n{f}", f, Col("a")) for f in functions))
    query = Query("s", tuple(Item(Col(a.name), a.name) for a in aggregates), aggregates=aggregates)
    stream = numbers((None, 1), (1, 2), (2, 3), (4, 4), (4, 4))
    expected = (5, 4, 3, 11, 2.75, 1, 4, 2.25, 1.5, 3.0, None, 4, 1.75)
    assert rows(stream, query) == (expected,)
    # Over a single 3: no variance.
    one = (1, 1, 1, 3, 3.0, 3, 3, None, None, 3.0, 3, 3, 3.0)
    assert rows(numbers((3, 1)), query) == (one,)


# Derived streams and views


def test_ties_of_a_derived_stream_follow_the_arrival():
    # Both enter d at 4, the slide's multiple; 50 arrived first, though 20 is older.
    stream = numbers((50, 3), (20, 2), (90, 7), slack=2)
    d = Derived(
        "d", "stream", Query("s", (A,), Window("range", range=9, slide=4), output="istream")
    )
    last = Query("d", (A,), Window("rows", rows=1))
    assert rows(stream, last, derived=(d,)) == ((20,),)


def test_ties_of_groups_follow_their_values():
    # At 1 the groups enter in the order NULL, x, y, whatever the arrival: the last is y.
    query = Query("s", (K, N), group_by=(K,), aggregates=(COUNT,), output="istream")
    stream = pairs(("y", 0, 1), (None, 0, 1), ("x", 0, 1))
    last = Query("d", (K,), Window("rows", rows=1))
    d = Derived("d", "stream", query)
    results = evaluate(Script((stream,), derived=(d,), queries=(last,)))
    assert results["d"].rows == ((1, (None, 1)), (1, ("x", 1)), (1, ("y", 1)))
    assert results["q1"].rows == (("y",),)


def test_istream_keeps_the_copies_that_came_first():
    # [Range 1]: at 3 a 7 leaves and 7, 8, 7 enter: one 7 is kept, the earlier, so 8 is last.
    d = Derived("d", "view", Query("s", (A,), Window("range", range=1), output="istream"))
    stream = numbers((7, 1), (7, 3), (8, 3), (7, 3))
    last = Query("d", (A,), Window("rows", rows=1))
    assert rows(stream, last, derived=(d,)) == ((8,),)


def test_derived_stream_of_departures_has_their_time():
    # d has 10 at 4, 20 and 30 at 5; [Range 0] over it sees the last two at 5.
    d = Derived("d", "stream", Query("s", (A,), Window("range", range=2), output="dstream"))
    query = Query("d", (A,), Window("range", range=0))
    assert rows(numbers(*FOUR), query, derived=(d,)) == ((20,), (30,))


def test_a_view_that_is_a_relation_keeps_its_key():
    # Counts of x: 1, 2 at 2; y: 1 at 3. Selection and a projection with k keep the key k.
    view = Derived("v", "view", Query("s", (K, N), group_by=(K,), aggregates=(COUNT,)))
    one = Bin("=", Col("n"), Lit(1))
    query = Query("v", (N, K), where=one, output="streamed")
    stream = pairs(("x", 0, 1), ("x", 0, 2), ("y", 0, 3))
    found = rows(stream, query, derived=(view,))
    assert found == (("+", 1, (1, "x")), ("-", 2, (None, "x")), ("+", 3, (1, "y")))


# Text


def test_script_as_text():
    table = TableSpec("t", (("b", "bigint"), ("c", "string")))
    slide = Query("s", (A,), Window("range", range=5, slide=2), "x", output="istream")
    on = Bin("=", Col("a", "s"), Col("b"))
    group = Query(
        "s",
        (Item(Col("g"), "g"), N),
        Window("rows", rows=3, partition_by=("a",), slide=2),
        joins=(Join("t", "left", on),),
        where=Bin("<", Col("a"), Lit(-0.5)),
        group_by=(Item(Bin("%", Col("a"), Lit(2)), "g"),),
        aggregates=(COUNT,),
        having=Bin(">", Col("n"), Lit(1)),
        output="dstream",
        style=("around",),
    )
    derived = (Derived("d", "view", Query("s", (A,))),)
    script = Script((numbers(slack=3),), (table,), derived, (slide, group))
    assert script.to_sql().splitlines() == [
        "CREATE STREAM s (a bigint, ts bigint) ORDER BY ts SLACK 3 SOURCE 's.csv';",
        "CREATE TABLE t (b bigint, c string) SOURCE 't.csv';",
        "CREATE VIEW d AS SELECT a FROM s;",
        "SELECT Istream(a) FROM s [Range 5 Slide 2] AS x;",
        "Dstream(SELECT (a % 2) AS g, count(*) AS n FROM s [Partition By a Rows 3 Slide 2]"
        " LEFT JOIN t ON (s.a = b) WHERE (a < (-0.5e0)) GROUP BY (a % 2) HAVING (count(*) > 1));",
    ]
