"""Joins, DISTINCT and set operations, worked out by hand from the definitions."""

from dataclasses import replace

from .evaluate import evaluate
from .spec import (
    Aggregate,
    Bin,
    Col,
    Derived,
    Item,
    Join,
    Lit,
    Query,
    Script,
    SetOperation,
    TableSpec,
    Window,
)
from .test_oracle import COUNT, A, K, N, numbers, pairs

NOW = Window("now")
SAME = Bin("=", Col("a", "s"), Col("a", "r"))
BOTH = (Item(Col("a", "s"), "a"), Item(Col("a", "r"), "b"))


def lasting(length: int) -> Window:
    return Window("range", range=length)


def result(query, *streams, name: str = "q1", **parts) -> tuple:
    return evaluate(Script(tuple(streams), queries=(query,), **parts))[name].rows


def joined(kind: str, *windows, output: str | None = "streamed") -> Query:
    """`SELECT s.a, r.a AS b FROM s [..] kind JOIN r [..] ON s.a = r.a`."""
    join = Join("r", kind, SAME, windows[1] if windows[1:] else None)
    return Query("s", BOTH, windows[0] if windows else None, joins=(join,), output=output)


# Joins


def test_a_pair_lives_from_the_later_start_to_the_earlier_end():
    # s: 1 in [1, 5], 2 in [3, 7]; r: 1 in [2, 3], 2 in [9, 10]. Only the ones meet, in [2, 3].
    s, r = numbers((1, 1), (2, 3)), numbers((1, 2), (2, 9), name="r")
    windows = lasting(4), lasting(1)
    assert result(joined("inner", *windows, output="istream"), s, r) == ((2, (1, 1)),)
    assert result(joined("inner", *windows, output="dstream"), s, r) == ((4, (1, 1)),)


def test_a_join_of_unbounded_streams_only_grows():
    # Each of two equal tuples meets itself and the other: 1 pair at 1, 3 more at 2.
    on, item = Bin("=", Col("a", "x"), Col("a", "y")), Item(Col("a", "x"), "a")
    query = Query("s", (item,), alias="x", joins=(Join("s", "inner", on, alias="y"),))
    assert result(query, numbers((7, 1), (7, 2))) == ((1, (7,)), *((2, (7,)) for _ in range(3)))


def test_left_join_takes_its_null_back_and_gives_it_again():
    # r holds 1 at 3 only. At 1 both are alone; at 3 the 1 has a partner; at 4 it is alone again.
    s, r = numbers((1, 1), (2, 1)), numbers((1, 3), (9, 4), name="r")
    assert set(result(joined("left", None, NOW), s, r)) == {
        *(("+", 1, (1, None)), ("+", 1, (2, None))),
        *(("-", 3, (1, None)), ("+", 3, (1, 1))),
        *(("-", 4, (1, 1)), ("+", 4, (1, None))),
    }


def test_right_and_full_joins():
    # NULL meets nothing on either side.
    s = numbers((1, 1), (None, 1), (2, 1))
    r = numbers((1, 1), (None, 1), (3, 1), name="r")
    pair, left, right = [(1, 1)], [(None, None), (2, None)], [(None, None), (None, 3)]

    def at_the_end(kind: str) -> list:
        return sorted(result(joined(kind, output="complete"), s, r), key=str)

    assert at_the_end("inner") == pair
    assert at_the_end("left") == sorted(pair + left, key=str)
    assert at_the_end("right") == sorted(pair + right, key=str)
    assert at_the_end("full") == sorted(pair + left + right, key=str)


def test_using_has_one_column_for_two():
    # The full join has 2 from s alone and 3 from r alone: `a` is the one that is there.
    s, r = numbers((1, 1), (2, 1)), numbers((1, 1), (3, 1), name="r")
    items = (A, Item(Col("ts", "s"), "t"), Item(Col("ts", "r"), "u"))
    query = Query("s", items, joins=(Join("r", "full", using=("a",)),), output="complete")
    assert set(result(query, s, r)) == {(1, 1, 1), (2, 1, None), (3, None, 1)}
    star = Query("s", joins=(Join("r", "inner", using=("a",)),), output="complete")
    results = evaluate(Script((s, r), queries=(star,)))["q1"]
    assert [name for name, _ in results.columns] == ["a", "ts", "ts_2"]
    assert results.rows == ((1, 1, 1),)


def test_a_comma_with_where_is_a_join():
    s, r = numbers((1, 1), (2, 2)), numbers((2, 3), (1, 4), name="r")
    comma = Query("s", BOTH, joins=(Join("r", "comma"),), where=SAME)
    assert result(comma, s, r) == ((3, (2, 2)), (4, (1, 1)))
    assert result(joined("inner", output=None), s, r) == result(comma, s, r)


def test_a_condition_may_be_a_range():
    # Pairs with r.a within 1 of s.a: 5 with 4 and 6.
    s, r = numbers((5, 1)), numbers((4, 1), (6, 2), (7, 3), name="r")
    low = Bin(">=", Col("a", "r"), Bin("-", Col("a", "s"), Lit(1)))
    high = Bin("<=", Col("a", "r"), Bin("+", Col("a", "s"), Lit(1)))
    query = Query("s", BOTH, joins=(Join("r", "inner", Bin("AND", low, high)),))
    assert result(query, s, r) == ((1, (5, 4)), (2, (5, 6)))


def test_rstream_counts_the_exchange_of_a_partner():
    # [Range 1] of r: the first 1 leaves at 3, when the second comes: another pair, equal values.
    s, r = numbers((1, 1)), numbers((1, 1), (1, 3), name="r")
    query = joined("inner", None, lasting(1), output="rstream")
    assert result(query, s, r) == ((1, (1, 1)), (3, (1, 1)))
    assert result(joined("inner", None, lasting(1), output="istream"), s, r) == ((1, (1, 1)),)


def test_keys_are_joined_by_a_join():
    # Counts of x: 1 at 1, 2 at 2; both views have the key k, so the pair is updated.
    counts = Query("s", (K, N), group_by=(K,), aggregates=(COUNT,))
    views = Derived("v", "view", counts), Derived("w", "view", counts)
    on = Bin("=", Col("k", "v"), Col("k", "w"))
    items = (
        *(Item(Col("k", "v"), "k"), Item(Col("k", "w"), "l")),
        Item(Bin("+", Col("n", "v"), Col("n", "w")), "m"),
    )
    query = Query("v", items, joins=(Join("w", "inner", on),), output="streamed")
    stream = pairs(("x", 0, 1), ("x", 0, 2))
    found = result(query, stream, derived=views)
    assert found == (("+", 1, ("x", "x", 2)), ("u", 2, ("x", "x", 4)))
    without = Query("v", items[1:], joins=(Join("w", "inner", on),), output="streamed")
    changes = set(result(without, stream, derived=views))
    assert changes == {("+", 1, ("x", 2)), ("-", 2, ("x", 2)), ("+", 2, ("x", 4))}


def test_time_begins_with_the_first_of_all_streams():
    # s has its first element at 3, r at 1: the count over their join is 0 from 1 on.
    s, r = numbers((1, 3)), numbers((1, 1), name="r")
    query = Query("s", (N,), joins=(Join("r", "inner", SAME),), aggregates=(COUNT,))
    assert result(query, s, r, name="q1.changes") == (("+", 1, (0,)), ("u", 3, (1,)))


def test_a_view_is_empty_before_its_own_time():
    # The view over r begins at 3, though the query that reads it begins with s at 1.
    s, r = numbers((1, 1)), numbers((1, 3), name="r")
    count = Query("r", (N,), NOW, aggregates=(COUNT,))
    query = Query("s", (A, N), joins=(Join("v", "cross"),), output="istream")
    assert result(query, s, r, derived=(Derived("v", "view", count),)) == ((3, (1, 1)),)
    # As a subquery in FROM it is part of the query, and begins with it.
    inside = Query("s", (A, N), joins=(Join(count, "cross", alias="v"),), output="istream")
    assert result(inside, s, r) == ((1, (1, 0)), (3, (1, 1)))


def test_ties_of_a_join_follow_the_values():
    # At 2 the pairs with 9 and 8 enter, 9 arrived first: by value 9 is the last.
    s, r = numbers((1, 1)), numbers((9, 2), (8, 2), name="r")
    join = Join("r", "cross")
    d = Derived("d", "stream", Query("s", (Item(Col("a", "r"), "b"),), joins=(join,)))
    last = Query("d", (Item(Col("b"), "b"),), Window("rows", rows=1))
    assert result(last, s, r, derived=(d,)) == ((9,),)


def test_a_subquery_with_a_window():
    # The filtered stream is 6@2, 7@3: [Rows 1] over it holds 6, then 7.
    inner = Query("s", (A,), where=Bin(">", Col("a"), Lit(5)))
    query = Query(inner, (A,), Window("rows", rows=1), "x", output="dstream")
    assert result(query, numbers((1, 1), (6, 2), (7, 3), (2, 4))) == ((3, (6,)),)
    leaving = Query("s", (A,), Window("range", range=1), output="dstream")
    query = Query(leaving, (N,), NOW, "x", aggregates=(COUNT,))
    found = result(query, numbers((1, 1), (2, 2), (3, 4)), name="q1.changes")
    # 1 leaves at 3, 2 at 4: each is counted at that instant.
    assert found == (("+", 1, (0,)), ("u", 3, (1,)))


# DISTINCT


def test_distinct_stays_as_long_as_any_copy():
    # [Range 2]: 7 in [1, 3] and [3, 5].
    query = Query("s", (A,), lasting(2), distinct=True, output="streamed")
    stream = numbers((7, 1), (7, 3), (8, 6))
    assert result(query, stream) == (("+", 1, (7,)), ("-", 6, (7,)), ("+", 6, (8,)))


def test_a_second_copy_makes_its_instant_active_and_is_told_once():
    query = Query("s", (A,), distinct=True, output="rstream")
    found = result(query, numbers((7, 1), (7, 3), (8, 4)))
    assert found == ((1, (7,)), (3, (7,)), (4, (7,)), (4, (8,)))


def test_distinct_over_an_unbounded_stream_only_grows():
    query = Query("s", (A,), distinct=True)
    found = result(query, numbers((7, 1), (None, 2), (7, 3), (None, 4)))
    assert found == ((1, (7,)), (2, (None,)))


# Set operations


def sides(op: str, every: bool, output: str | None = None, swap: bool = False) -> SetOperation:
    left, right = Query("s", (A,)), Query("r", (A,))
    return SetOperation(op, *((right, left) if swap else (left, right)), all=every, output=output)


def bag(query, *streams) -> list:
    """The last state of the relation behind a query."""
    history = evaluate(Script(tuple(streams), queries=(query,)))["q1"].history
    last = history[-1][1] if history else ()
    return sorted(-1 if row[0] is None else row[0] for row in last)


def test_bags_and_sets():
    s = numbers(*((a, 1) for a in (1, 1, 2)))
    r = numbers(*((a, 1) for a in (1, 2, 2, 3)), name="r")
    assert bag(sides("union", True), s, r) == [1, 1, 1, 2, 2, 2, 3]
    assert bag(sides("union", False), s, r) == [1, 2, 3]
    assert bag(sides("intersect", True), s, r) == [1, 2]
    assert bag(sides("intersect", False), s, r) == [1, 2]
    assert bag(sides("except", True), s, r) == [1]
    assert bag(sides("except", False), s, r) == []
    assert bag(sides("except", True, swap=True), s, r) == [2, 3]
    assert bag(sides("except", False, swap=True), s, r) == [3]


def test_nulls_are_equal_in_set_operations():
    s, r = numbers((None, 1), (None, 1), (1, 1)), numbers((None, 1), name="r")
    assert bag(sides("intersect", True), s, r) == [-1]
    assert bag(sides("except", True), s, r) == [-1, 1]
    assert bag(sides("except", False), s, r) == [1]


def test_except_flips_when_the_right_comes_and_goes():
    left, right = Query("s", (A,)), Query("r", (A,), NOW)
    query = SetOperation("except", left, right, output="istream")
    s, r = numbers((1, 1), (2, 1)), numbers((1, 3), (5, 4), name="r")
    assert result(query, s, r) == ((1, (1,)), (1, (2,)), (4, (1,)))
    gone = SetOperation("except", left, right, output="dstream")
    assert result(gone, s, r) == ((3, (1,)),)


def test_union_of_streams_is_a_stream():
    s, r = numbers((1, 1), (1, 3)), numbers((1, 2), (5, 4), name="r")
    assert result(sides("union", True), s, r) == ((1, (1,)), (2, (1,)), (3, (1,)), (4, (5,)))
    assert result(sides("union", False), s, r) == ((1, (1,)), (4, (5,)))
    results = evaluate(Script((s, r), queries=(sides("except", True),)))
    assert results["q1"].kind == "relation"


def test_integers_and_doubles_have_a_common_type():
    s, table = numbers((1, 1), (2, 1)), TableSpec("t", (("v", "double"),), ((2.0,), (0.5,)))
    query = SetOperation("union", Query("s", (A,)), Query("t"), output="istream")
    results = evaluate(Script((s,), (table,), queries=(query,)))["q1"]
    assert results.columns == (("a", "double"),)
    assert results.rows == ((1, (0.5,)), (1, (1.0,)), (1, (2.0,)))


def test_tuples_of_set_operations():
    # 1 leaves s and enters r at 3, an active instant of both: UNION ALL, and the set.
    left, right = Query("s", (A,), lasting(1)), Query("r", (A,), lasting(1))
    s, r = numbers((1, 1)), numbers((1, 3), name="r")
    every = SetOperation("union", left, right, True, "rstream")
    assert result(every, s, r) == ((1, (1,)), (3, (1,)))
    assert result(replace(every, all=False), s, r) == ((1, (1,)), (3, (1,)))


def test_set_operations_inside_others():
    # (s EXCEPT r) counted: 1 and 2 at 1, then 1 is taken away at 2.
    inner = sides("except", False)
    query = Query(inner, (N,), alias="x", aggregates=(Aggregate("n", "count"),), output="streamed")
    s, r = numbers((1, 1), (2, 1)), numbers((1, 2), name="r")
    assert result(query, s, r) == (("+", 1, (2,)), ("u", 2, (1,)))


# Text


def test_joins_and_sets_as_text():
    join = Join("r", "left", SAME, NOW)
    select = Query("s", BOTH, joins=(join,), distinct=True, output="istream")
    inner = Query("s", (A,), output="istream")
    nested = Query(inner, (A,), Window("rows", rows=2, partition_by=("a",)), "x")
    three = SetOperation("except", sides("union", True), Query("s", (A,)), output="rstream")
    streams = numbers(), numbers(name="r")
    view = Derived("v", "view", Query("s", (A,)))
    script = Script(streams, (), (view,), (select, nested, three, Query("v", (A,))), ("v",))
    assert script.to_sql().splitlines()[2:] == [
        "SELECT Istream(DISTINCT s.a AS a, r.a AS b) FROM s LEFT JOIN r [Now] ON (s.a = r.a);",
        "SELECT a FROM (SELECT Istream(a) FROM s) [Partition By a Rows 2] AS x;",
        "Rstream((SELECT a FROM s UNION ALL SELECT a FROM r) EXCEPT SELECT a FROM s);",
        "SELECT a FROM v;",
        "CREATE VIEW v AS SELECT a FROM s;",
    ]
