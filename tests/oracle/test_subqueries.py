"""Subqueries in expressions and ORDER BY … LIMIT, worked out by hand from the definitions."""

import pytest

from .evaluate import evaluate
from .spec import (
    Aggregate,
    Bin,
    Case,
    Coalesce,
    Col,
    Derived,
    Exists,
    InQuery,
    IsNull,
    Item,
    Lit,
    Not,
    Order,
    Quantified,
    Query,
    Scalar,
    Script,
    SetOperation,
    SpecError,
    TableSpec,
    Window,
)
from .test_joins import NOW, lasting, result
from .test_oracle import COUNT, A, K, N, numbers, pairs

HERE, THERE = Col("a", "s"), Col("a", "r")
SAME = Bin("=", THERE, HERE)


def of_r(window: Window | None = None, where=None) -> Query:
    """`SELECT r.a FROM r [window] WHERE …`."""
    return Query("r", (Item(THERE, "a"),), window, where=where)


def where(condition, output: str | None = "streamed", window: Window | None = None) -> Query:
    """`SELECT a FROM s [window] WHERE condition`."""
    return Query("s", (A,), window, where=condition, output=output)


def count_of_r(condition=None, window: Window | None = None) -> Scalar:
    return Scalar(Query("r", (N,), window, where=condition, aggregates=(COUNT,)))


# IN and EXISTS


def test_in_holds_as_long_as_the_value_is_there():
    # r holds 1 at 2 only.
    s, r = numbers((1, 1), (2, 1)), numbers((1, 2), (9, 3), name="r")
    found = result(where(InQuery(HERE, of_r(NOW))), s, r)
    assert found == (("+", 2, (1,)), ("-", 3, (1,)))


def test_not_in_under_null():
    # r is empty up to 1: all of s, NULL too, is not in it. At 2 it holds 1: the 1 is in it,
    # and of NULL it is unknown. At 3 it holds NULL: whether 2 is in it is unknown.
    s = numbers((1, 1), (2, 1), (None, 1))
    r = numbers((1, 2), (None, 3), (5, 5), name="r")
    found = result(where(InQuery(HERE, of_r(NOW), negated=True)), s, r)
    assert set(found) == {
        *(("+", 1, (1,)), ("+", 1, (2,)), ("+", 1, (None,))),
        *(("-", 2, (1,)), ("-", 2, (None,))),
        *(("-", 3, (2,)), ("+", 4, (1,)), ("+", 4, (2,)), ("+", 4, (None,))),
        ("-", 5, (None,)),
    }


def test_in_under_null():
    # 1 IN (NULL, 1) is true, 2 IN (NULL, 1) unknown, and so is its negation.
    s, r = numbers((1, 1), (2, 1)), numbers((None, 1), (1, 1), name="r")
    test = InQuery(HERE, of_r())
    assert result(where(test, "complete"), s, r) == ((1,),)
    assert result(where(Not(test), "complete"), s, r) == ()
    assert result(where(IsNull(test), "complete"), s, r) == ((2,),)


def test_exists_with_a_correlation():
    s, r = numbers((1, 1), (2, 1), (None, 1)), numbers((2, 2), (None, 3), name="r")
    met = where(Exists(of_r(where=SAME)), "istream")
    assert result(met, s, r) == ((2, (2,)),)
    alone = where(Exists(of_r(where=SAME), negated=True), "dstream")
    assert result(alone, s, r) == ((2, (2,)),)
    assert set(result(where(Exists(of_r(where=SAME), True), "complete"), s, r)) == {(1,), (None,)}


def test_the_window_of_a_subquery_makes_instants_active():
    # r has another 1 at 3, when the first leaves, and one more at 4; there is no 5.
    s, r = numbers((1, 1)), numbers((1, 1), (1, 3), (1, 4), name="r")
    found = result(where(InQuery(HERE, of_r(lasting(1))), "rstream"), s, r)
    assert found == ((1, (1,)), (3, (1,)), (4, (1,)))


def test_rows_filtered_by_in_keep_their_arrival():
    # Both pass at 2; 9 arrived first, so 8 is the last of the two.
    s, r = numbers((9, 1), (8, 1)), numbers((8, 2), (9, 2), name="r")
    d = Derived("d", "stream", where(InQuery(HERE, of_r()), "istream"))
    last = Query("d", (A,), Window("rows", rows=1))
    assert result(last, s, r, derived=(d,)) == ((8,),)


def test_defaults_with_subqueries():
    s, r = numbers((1, 1)), numbers((1, 1), name="r")

    def kind(condition) -> str:
        return evaluate(Script((s, r), queries=(where(condition, None),)))["q1"].kind

    assert kind(InQuery(HERE, of_r())) == kind(Exists(of_r())) == "stream"
    assert kind(InQuery(HERE, of_r(), True)) == kind(Exists(of_r(), True)) == "relation"
    assert kind(InQuery(HERE, of_r(NOW))) == kind(Bin(">", HERE, count_of_r())) == "relation"
    with pytest.raises(SpecError):
        kind(Not(InQuery(HERE, of_r())))


# ALL, ANY and scalar subqueries


def test_all_and_any_of_nothing():
    s, r = numbers((1, 1), (None, 1)), numbers((5, 9), name="r")
    every = where(Quantified(HERE, "<", "ALL", of_r()), "istream")
    assert result(every, s, r) == ((1, (1,)), (1, (None,)))
    assert result(where(Quantified(HERE, "<", "ANY", of_r()), "istream"), s, r) == ((9, (1,)),)


def test_all_and_any_under_null():
    # r holds 2 and NULL. 1 < ALL is unknown, 3 < ALL false; 1 < ANY true, 3 < ANY unknown.
    s, r = numbers((1, 1), (3, 1)), numbers((2, 1), (None, 1), name="r")
    every, some = (Quantified(HERE, "<", word, of_r()) for word in ("ALL", "ANY"))
    assert result(where(every, "complete"), s, r) == ()
    assert result(where(Not(every), "complete"), s, r) == ((3,),)
    assert result(where(some, "complete"), s, r) == ((1,),)
    assert result(where(Not(some), "complete"), s, r) == ()


def test_a_scalar_subquery_begins_with_the_query():
    # r has its first element at 2, s at 1: the count of r is 0 from 1 on, 1 from 2, 2 from 3.
    s, r = numbers((0, 1), (1, 1)), numbers((7, 2), (7, 3), name="r")
    found = result(where(Bin(">=", HERE, count_of_r())), s, r)
    assert found == (("+", 1, (0,)), ("+", 1, (1,)), ("-", 2, (0,)), ("-", 3, (1,)))


def test_a_scalar_subquery_without_a_row_is_null():
    # [Rows 1] of r with a > 5: no row at 1, 6 at 2, none at 3, when 4 is the last.
    s, r = numbers((6, 1)), numbers((6, 2), (4, 3), name="r")
    latest = Scalar(of_r(Window("rows", rows=1), Bin(">", THERE, Lit(5))))
    query = Query("s", (A, Item(latest, "x")), output="streamed")
    assert result(query, s, r) == (
        *(("+", 1, (6, None)), ("-", 2, (6, None))),
        *(("+", 2, (6, 6)), ("-", 3, (6, 6)), ("+", 3, (6, None))),
    )


def test_a_correlated_count_is_zero_without_a_match():
    s, r = numbers((1, 1), (2, 1)), numbers((1, 2), (1, 3), name="r")
    query = Query("s", (A, Item(count_of_r(SAME), "n")), output="streamed")
    assert result(query, s, r) == (
        *(("+", 1, (1, 0)), ("+", 1, (2, 0))),
        *(("-", 2, (1, 0)), ("+", 2, (1, 1)), ("-", 3, (1, 1)), ("+", 3, (1, 2))),
    )


def test_a_sum_without_a_match_is_null():
    s, r = numbers((1, 1)), numbers((2, 1), name="r")
    total = Scalar(Query("r", (N,), where=SAME, aggregates=(Aggregate("n", "sum", THERE),)))
    items = Item(total, "n"), Item(Bin("+", HERE, Coalesce((total, Lit(0)))), "m")
    assert result(Query("s", items, output="complete"), s, r) == ((None, 1),)


def test_a_correlation_by_inequality():
    # Those of r below: none of 1, one of 2.
    s, r = numbers((1, 1), (2, 1)), numbers((1, 1), (2, 1), name="r")
    query = Query("s", (A, Item(count_of_r(Bin("<", THERE, HERE)), "n")), output="complete")
    assert set(result(query, s, r)) == {(1, 0), (2, 1)}


def test_a_value_that_stays_is_told_again():
    # Of r, 1 leaves and 2 enters at 3: the count stays 1. At 4 it becomes 2.
    s, r = numbers((7, 1)), numbers((1, 1), (2, 3), (3, 4), name="r")
    query = Query("s", (A, Item(count_of_r(window=lasting(1)), "n")), output="rstream")
    assert result(query, s, r) == ((1, (7, 1)), (3, (7, 1)), (4, (7, 2)))


def test_subqueries_under_or_and_case():
    s, r = numbers((1, 1), (2, 1), (3, 1)), numbers((3, 1), name="r")
    test = InQuery(HERE, of_r())
    either = Bin("OR", test, Bin("=", HERE, Lit(1)))
    assert set(result(where(either, "complete"), s, r)) == {(1,), (3,)}
    choice = Case(((test, Lit(False)),), Bin("<", HERE, Lit(2)))
    assert result(where(choice, "complete"), s, r) == ((1,),)


def test_having_and_groups_with_subqueries():
    # x has 2 rows, y 1; of r there is 1 row up to 4, 2 from 5 on.
    s, r = pairs(("x", 0, 1), ("x", 0, 1), ("y", 0, 1)), numbers((1, 1), (1, 5), name="r")
    more = Bin(">", Col("n"), count_of_r())
    query = Query("s", (K, N), group_by=(K,), aggregates=(COUNT,), having=more, output="streamed")
    assert result(query, s, r) == (("+", 1, ("x", 2)), ("-", 5, ("x", None)))
    # The group's column inside the subquery: rows of the table with that name.
    table = TableSpec("t", (("w", "string"),), (("x",), ("z",)))
    known = Exists(Query("t", where=Bin("=", Col("w", "t"), Col("k", "s"))))
    query = Query("s", (K, N), group_by=(K,), aggregates=(COUNT,), having=known, output="complete")
    assert result(query, s, r, tables=(table,)) == (("x", 2),)


def test_a_query_that_is_an_expression():
    # 2 of s and 0 of r at 1: NULL. Then 2 / 1.
    s, r = numbers((1, 1), (2, 1)), numbers((1, 2), name="r")
    of_s = Scalar(Query("s", (N,), aggregates=(COUNT,)))
    query = Query("", (Item(Bin("/", of_s, count_of_r()), "x"),), output="streamed")
    assert result(query, s, r) == (("+", 1, (None,)), ("u", 2, (2.0,)))


# ORDER BY … LIMIT


def test_the_first_rows_come_and_go():
    # [Range 2]. 5 in [1, 3], 3 in [2, 4], 4 in [3, 5]. The smallest: 5, 3, 3, 3, 4.
    query = Query("s", (A,), lasting(2), order_by=(Order("a"),), limit=1, output="streamed")
    found = result(query, numbers((5, 1), (3, 2), (4, 3), (9, 5)))
    assert found == (
        *(("+", 1, (5,)), ("-", 2, (5,)), ("+", 2, (3,))),
        *(("-", 5, (3,)), ("+", 5, (4,))),
    )


def ordered(*orders: Order, limit: int = 2, offset: int = 0) -> set:
    stream = pairs(("x", 2, 1), ("y", None, 1), ("y", 1, 1), ("x", 1, 1), (None, 1, 1))
    query = Query("s", (K, A), order_by=orders, limit=limit, offset=offset)
    return set(result(query, stream))


def test_nulls_come_first_unless_descending():
    assert ordered(Order("a"), limit=1) == {("y", None)}
    assert ordered(Order("a", descending=True), limit=1) == {("x", 2)}
    assert ordered(Order("a", descending=True), limit=1, offset=4) == {("y", None)}
    assert ordered(Order("a", nulls="last"), limit=1) == {(None, 1)}
    assert ordered(Order("a", True, "first"), limit=2) == {("x", 2), ("y", None)}


def test_ties_go_by_the_values_of_the_row():
    # Three rows have a = 1: k is NULL, x, y in this order.
    assert ordered(Order("a", nulls="last"), limit=2) == {("x", 1), (None, 1)}
    assert ordered(Order("a", nulls="last"), Order("k", True), limit=2) == {("x", 1), ("y", 1)}


def test_limit_of_groups_sets_and_subqueries():
    stream = pairs(("x", 0, 1), ("y", 0, 1), ("y", 0, 1), ("z", 0, 2), ("z", 0, 2), ("z", 0, 2))
    most = (Order("n", descending=True),)
    top = Query("s", (K, N), group_by=(K,), aggregates=(COUNT,), order_by=most, limit=1)
    assert result(top, stream, name="q1.changes") == (
        *(("+", 1, ("y", 2)), ("-", 2, ("y", None)), ("+", 2, ("z", 3))),
    )
    within = Query("s", (K,), where=InQuery(Col("k", "s"), Query(top, (K,), alias="x")))
    assert result(within, stream) == (("z",), ("z",), ("z",))
    both = SetOperation(
        "union", Query("s", (K,)), Query("s", (K,)), order_by=(Order("k", True),), limit=2
    )
    assert set(result(both, stream)) == {("z",), ("y",)}


def test_subqueries_and_limits_as_text():
    streams = numbers(), numbers(name="r")
    tests = (
        InQuery(HERE, of_r(), negated=True),
        Exists(of_r(where=SAME)),
        Quantified(HERE, ">=", "ALL", of_r()),
        Bin("<", count_of_r(), HERE),
    )
    top = Query("s", (A,), order_by=(Order("a", True, "last"), Order("a")), limit=3, offset=1)
    script = Script(streams, queries=(*(where(t, "complete") for t in tests), top))
    head = "SELECT COMPLETE a FROM s WHERE"
    assert script.to_sql().splitlines()[2:] == [
        f"{head} (s.a NOT IN (SELECT r.a AS a FROM r));",
        f"{head} (EXISTS (SELECT r.a AS a FROM r WHERE (r.a = s.a)));",
        f"{head} (s.a >= ALL (SELECT r.a AS a FROM r));",
        f"{head} ((SELECT count(*) AS n FROM r) < s.a);",
        "SELECT a FROM s ORDER BY a DESC NULLS LAST, a LIMIT 3 OFFSET 1;",
    ]
