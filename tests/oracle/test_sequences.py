"""The definition-level matcher on cases that were worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from .sequences import (
    Between,
    Bin,
    Cell,
    Const,
    Element,
    Expr,
    IsNull,
    Key,
    Match,
    Not,
    Outer,
    Pattern,
    Query,
    Row,
    Tally,
    find,
    relation_answer,
    stream_answer,
    text,
)

Shown = list[tuple[tuple[tuple[int, ...], ...], int]]


def rows(*values: object, at: tuple[int, ...] | None = None) -> list[Row]:
    """Rows with a number n, one at each instant from 1 on, or at those given."""
    times = at or range(1, len(values) + 1)
    found = [Row(t, {"n": v}, place) for place, (t, v) in enumerate(zip(times, values))]
    assert len(found) == len(values)
    return found


def pattern(names: str, *conditions: Expr, within: int | None = None, timeouts=False) -> Pattern:
    """`"A *B"`, and what WHERE asks."""
    elements = tuple(Element(name.strip("*"), name[0] == "*") for name in names.split())
    return Pattern(elements, conditions, within, timeouts)


def shown(matches: list[Match]) -> Shown:
    """The places of the rows of each element, and the instant."""
    return [(match.taken, match.known[0]) for match in matches]


def n(element: str, way: str = "", final: bool = False, back: int = 0) -> Cell:
    return Cell(element, "n", way, final, back)


def is_(left: Expr, op: str, right: Expr | float) -> Bin:
    return Bin(op, left, Const(right) if isinstance(right, int | float) else right)


FALLING = is_(n("B"), "<", n("B", back=1))
RISING = is_(n("C"), ">", n("C", back=1))
NOW = 1_000


def test_adjacent_rows() -> None:
    asked = pattern("A B C", is_(n("A"), "=", 1), is_(n("B"), "=", 2), is_(n("C"), "=", 3))
    found = find(asked, rows(1, 1, 2, 3, 1, 2, 4, 1, 2, 3), NOW)
    assert shown(found) == [(((1,), (2,), (3,)), 4), (((7,), (8,), (9,)), 10)]


def test_matches_do_not_overlap() -> None:
    asked = pattern("A B", is_(n("A"), ">", 0), is_(n("B"), ">", 0))
    assert shown(find(asked, rows(1, 2, 3, 4, 5), NOW)) == [(((0,), (1,)), 2), (((2,), (3,)), 4)]


def test_after_a_failure_the_search_goes_on_one_row_after_the_start() -> None:
    asked = pattern("A B C", is_(n("A"), "=", 1), is_(n("B"), "=", 1), is_(n("C"), "=", 2))
    assert shown(find(asked, rows(1, 1, 1, 2), NOW)) == [(((1,), (2,), (3,)), 4)]


def test_a_star_takes_all_it_can_and_gives_nothing_back() -> None:
    """B takes the row that C would need, from whichever row the search begins."""
    asked = pattern("A *B C", is_(n("B"), ">", 0), is_(n("C"), "=", 5))
    assert find(asked, rows(1, 2, 5, 5, 0), NOW) == []
    narrow = replace(asked, conditions=(is_(n("B"), "<", 5), asked.conditions[1]))
    assert shown(find(narrow, rows(1, 2, 3, 5), NOW)) == [(((0,), (1, 2), (3,)), 4)]


def test_a_star_takes_at_least_one_row() -> None:
    asked = pattern("A *B C", is_(n("A"), "=", 1), is_(n("B"), "=", 2), is_(n("C"), "=", 3))
    assert find(asked, rows(1, 3, 3), NOW) == []


def test_adjacent_stars_with_conditions_that_overlap() -> None:
    """The first star takes what both could; the row that ends it goes to the second."""
    asked = pattern("*A *B C", is_(n("A"), "<", 5), is_(n("B"), "<", 9), is_(n("C"), "=", 9))
    found = find(asked, rows(1, 4, 6, 2, 9), NOW)
    assert shown(found) == [(((0, 1), (2, 3), (4,)), 5)]
    assert find(asked, rows(1, 4, 2, 9), NOW) == []


def test_a_trailing_star_on_a_stream_is_complete_at_the_row_that_ends_it() -> None:
    asked = pattern("A *B", is_(n("A"), ">", 5), FALLING)
    found = find(asked, rows(9, 8, 7, 8, 6, 5), NOW)
    assert shown(found) == [(((0,), (1, 2)), 4)]
    assert shown(find(asked, rows(9, 8, 7, 8, 6, 5, 7), NOW))[1] == (((3,), (4, 5)), 7)


def test_the_end_of_a_relation_ends_a_trailing_star() -> None:
    asked = pattern("A *B", is_(n("A"), ">", 5), FALLING)
    found = find(asked, rows(9, 8, 7, 8, 6, 5))
    assert [match.taken for match in found] == [((0,), (1, 2)), ((3,), (4, 5))]
    ends = replace(asked, conditions=(*asked.conditions, is_(n("B", "LAST", True), "=", 5)))
    assert [match.taken for match in find(ends, rows(9, 8, 7, 8, 6, 5))] == [((3,), (4, 5))]


def test_a_final_condition_that_fails() -> None:
    """The attempt of row 0 fails when its star has three rows; that of row 1 has two in the end."""
    asked = pattern("*B C", is_(n("B"), "<", 5), is_(Tally("count", "B", final=True), "<", 3))
    found = find(asked, rows(1, 2, 3, 7), NOW)
    assert shown(found) == [(((1, 2), (3,)), 4)]


def test_a_continuous_aggregate_ends_a_star() -> None:
    asked = pattern("*B C", is_(Tally("ccount", "B"), "<=", 2))
    assert shown(find(asked, rows(1, 2, 3, 7), NOW)) == [(((0, 1), (2,)), 3)]
    asked = pattern("*B C", is_(Tally("sum", "B", "n"), "<", 6))
    assert shown(find(asked, rows(1, 2, 2, 1, 7), NOW)) == [(((0, 1, 2), (3,)), 4)]


def test_a_moving_window_is_within_its_star() -> None:
    """sum over two rows: 4, 4+1, 1+3, 3+6."""
    moving = Tally("sum", "B", "n", preceding=1)
    asked = pattern("A *B C", is_(n("A"), "=", 9), is_(moving, "<", 6))
    assert shown(find(asked, rows(9, 4, 1, 3, 6), NOW)) == [(((0,), (1, 2, 3), (4,)), 5)]


def test_a_condition_with_both_kinds_waits_for_the_end() -> None:
    """count(B) has its last value, 3, and is compared with the last of B."""
    both = Bin("=", Tally("count", "B"), n("B", "LAST", True))
    asked = pattern("*B C", is_(n("B"), "<", 5), both)
    assert shown(find(asked, rows(1, 9, 1, 2, 3, 9), NOW)) == [
        (((0,), (1,)), 2),
        (((2, 3, 4), (5,)), 6),
    ]


def test_previous_at_the_beginning_is_null() -> None:
    first = pattern("A", IsNull(n("A", back=1)))
    assert shown(find(first, rows(4, 5, 6), NOW)) == [(((0,),), 1)]
    assert find(pattern("B", FALLING), rows(3), NOW) == []
    twice = pattern("A", is_(n("A", back=2), "=", 4))
    assert shown(find(twice, rows(4, 5, 6), NOW)) == [(((2,),), 3)]


def test_previous_is_the_row_before_whatever_it_matched() -> None:
    """Of the first row of a star, that of the element before; of the first element, one that an
    earlier match took."""
    asked = pattern("A B", is_(n("A", back=1), "=", 2), is_(n("B"), ">", n("B", back=1)))
    assert shown(find(asked, rows(1, 2, 3, 4), NOW)) == [(((2,), (3,)), 4)]
    asked = pattern("A *B C", FALLING, RISING, is_(n("B", "FIRST", back=1), "=", 7))
    assert shown(find(asked, rows(9, 7, 5, 4, 6), NOW)) == [(((1,), (2, 3), (4,)), 5)]


def test_within_ends_a_trailing_star() -> None:
    asked = pattern("A *B", is_(n("B"), ">", 0), within=3)
    found = find(asked, rows(1, 1, 1, 1, 1, at=(1, 2, 4, 6, 7)), NOW)
    assert shown(found) == [(((0,), (1, 2)), 6)]


def test_within_fails_an_attempt() -> None:
    asked = pattern("A *B C", is_(n("B"), "=", 1), is_(n("C"), "=", 2), within=3)
    found = find(asked, rows(1, 1, 1, 2, at=(1, 3, 4, 6)), NOW)
    assert shown(found) == [(((1,), (2,), (3,)), 6)]


def test_a_match_in_rows_seen_before_is_known_when_the_earlier_attempt_has_failed() -> None:
    """From row 0, B runs on to row 5; from row 1, it ends at row 3."""
    asked = pattern(
        "A *B C",
        is_(n("B"), ">", n("A")),
        is_(n("C"), "=", 2),
        is_(n("B", "LAST", True), "<", 5),
    )
    assert shown(find(asked, rows(1, 3, 4, 2, 7, 0), NOW)) == [(((1,), (2,), (3,)), 6)]


def test_timeouts_are_reported_with_how_far_they_got() -> None:
    asked = pattern("A *B C", is_(n("A"), "=", 1), is_(n("B"), "=", 2), within=5, timeouts=True)
    asked = replace(asked, conditions=(*asked.conditions, is_(n("C"), "=", 3)))
    found = find(asked, rows(1, 2, 2, 1, 2, at=(1, 2, 3, 9, 10)), 15)
    assert [(m.taken, m.known[0], m.timed_out, m.reached) for m in found] == [
        (((0,), (1, 2), ()), 7, True, 2),
        (((3,), (4,), ()), 15, True, 2),
    ]
    assert len(find(asked, rows(1, 2, 2, 1, 2, at=(1, 2, 3, 9, 10)), 14)) == 1


def test_a_timeout_asks_no_final_condition_unless_the_star_is_the_last() -> None:
    few = is_(Tally("count", "B", final=True), ">", 2)
    asked = pattern("A *B C", is_(n("A"), "=", 1), is_(n("B"), "=", 2), few, within=5)
    open_ = replace(asked, timeouts=True)
    assert [m.timed_out for m in find(open_, rows(1, 2, 2), 20)] == [True]
    last = replace(open_, elements=open_.elements[:2])
    assert find(last, rows(1, 2, 2), 20) == []
    found = find(last, rows(1, 2, 2, 2), 20)
    assert [(m.taken, m.known[0], m.timed_out) for m in found] == [(((0,), (1, 2, 3)), 7, False)]


def test_a_condition_that_fails_is_no_timeout() -> None:
    asked = pattern("A B", is_(n("A"), "=", 1), is_(n("B"), "=", 2), within=5, timeouts=True)
    assert find(asked, rows(1, 3), 20) == []


def test_a_timeout_before_a_match_in_the_same_rows() -> None:
    """Row 0 waits in vain; what row 1 found long ago is known at the same instant."""
    asked = pattern(
        "A *B C", is_(n("B"), ">", n("A")), is_(n("C"), "<", 3), within=9, timeouts=True
    )
    found = find(asked, rows(0, 3, 4, 2, 7), 20)
    assert [(m.taken, m.known[0], m.timed_out) for m in found] == [
        (((0,), (1, 2, 3, 4), ()), 11, True),
        (((1,), (2,), (3,)), 11, False),
        (((4,), (), ()), 15, True),
    ]


def test_null_is_not_met() -> None:
    asked = pattern("A B", is_(n("A"), "<", 5), is_(n("B"), "<", 5))
    assert shown(find(asked, rows(1, None, 2, 3), NOW)) == [(((2,), (3,)), 4)]
    opposite = pattern("A B", Not(is_(n("A"), "<", 5)), Not(Between(n("B"), Const(1), Const(5))))
    assert find(opposite, rows(None, None, 1), NOW) == []
    either = pattern("*A B", Bin("OR", is_(n("A"), "<", 5), IsNull(n("A"))), is_(n("B"), ">", 5))
    assert shown(find(either, rows(None, 1, None, 9), NOW)) == [(((0, 1, 2), (3,)), 4)]


def test_aggregates_pass_over_nulls() -> None:
    calls = [Tally(f, "A", "n", final=True) for f in ("count", "sum", "avg", "min", "max")]
    select = (Tally("count", "A", final=True), *calls)
    query = Query(pattern("*A B", is_(Tally("ccount", "A"), "<", 4)), select=select)
    assert stream_answer(query, rows(None, 1, 4, 0), NOW) == [(4, (3, 2, 5, 2.5, 1, 4))]
    assert stream_answer(query, rows(None, None, None, 0), NOW) == [
        (4, (3, 0, None, None, None, None))
    ]


def test_partitions_are_searched_apart_and_given_in_the_order_of_time() -> None:
    cells = [("a", 1), ("b", 1), ("b", 2), ("a", 2), (None, 1), (None, 2)]
    query = Query(
        pattern("A B", is_(n("A"), "=", 1), is_(n("B"), "=", 2)),
        ("k",),
        (Key("k"), Bin("-", n("B"), n("A"))),
    )
    found = stream_answer(query, [Row(i, {"k": k, "n": v}) for i, (k, v) in enumerate(cells)], 9)
    assert found == [(2, ("b", 1)), (3, ("a", 1)), (5, (None, 1))]


def test_other_entries_of_from_filter_the_match() -> None:
    """They do not steer: the match of rows 0 and 1 is made, and then dropped."""
    query = Query(
        pattern("A B", is_(n("A"), ">", 0)),
        select=(n("B"), Outer("w", "t")),
        filters=(Bin("=", n("B"), Outer("v", "t")),),
        outer=({"v": 3, "w": "x"}, {"v": 4, "w": "y"}, {"v": 4, "w": "z"}),
    )
    assert stream_answer(query, rows(1, 2, 3, 4), NOW) == [(4, (4, "y")), (4, (4, "z"))]


def test_a_relation_is_in_the_order_of_its_sequence_and_of_its_columns() -> None:
    query = Query(
        pattern("A B", is_(n("A"), "<", n("B")), within=2), select=(n("A"), n("B"), Key("m"))
    )
    cells = [{"t": t, "n": v, "m": 7} for t, v in ((3, 1), (1, 5), (1, 2), (6, 9), (2, 9))]
    assert relation_answer(query, cells, ("t",)) == [(2, 5, 7)]


@pytest.mark.parametrize(
    ("expression", "written"),
    [
        (n("A"), "A.n"),
        (n("A", back=2), "A.previous.previous.n"),
        (n("A", "FIRST", back=1), "FIRST(A).previous.n"),
        (n("A", "LAST", final=True), "LAST(*A).n"),
        (Tally("count", "A"), "count(A)"),
        (Tally("avg", "A", "n", final=True), "avg(*A.n)"),
        (Tally("max", "A", "n", preceding=2), "max(A.n) OVER (ROWS 2 PRECEDING)"),
        (Not(IsNull(n("A"))), "(NOT (A.n IS NULL))"),
        (Bin("AND", Key("k", "s"), Const(None)), "(s.k AND NULL)"),
    ],
)
def test_text(expression: Expr, written: str) -> None:
    assert text(expression) == written
