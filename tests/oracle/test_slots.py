"""Slots and sessions worked out by hand from semantics §3: the oracle agrees with each."""

from datetime import datetime

import pytest

from .evaluate import evaluate
from .spec import Col, Item, Query, Script, SpecError, StreamSpec, Window

A = Item(Col("a"), "a")
BOUNDS = (Item(Col("window_start"), "window_start"), Item(Col("window_end"), "window_end"))
FIVE = ((10, 1), (20, 2), (30, 2), (40, 5), (0, 13))


def numbers(*rows: tuple) -> StreamSpec:
    """A stream of (a, ts)."""
    return StreamSpec("s", (("a", "bigint"), ("ts", "bigint")), "ts", 0, rows)


def changes(stream: StreamSpec, window: Window) -> tuple:
    """(op, ts, row) of a and the bounds of the window."""
    query = Query("s", (A, *BOUNDS), window, output="streamed")
    return evaluate(Script((stream,), queries=(query,)))["q1"].rows


def test_a_slot_enters_when_it_ends_and_leaves_with_the_next():
    # Slots of 3: [0, 3) holds 10, 20, 30 from 3 to 5; [3, 6) holds 40 from 6 to 8.
    assert changes(numbers(*FIVE), Window("tumble", range=3)) == (
        ("+", 3, (10, 0, 3)),
        ("+", 3, (20, 0, 3)),
        ("+", 3, (30, 0, 3)),
        ("-", 6, (10, 0, 3)),
        ("-", 6, (20, 0, 3)),
        ("-", 6, (30, 0, 3)),
        ("+", 6, (40, 3, 6)),
        ("-", 9, (40, 3, 6)),
    )


def test_an_offset_moves_the_slots():
    # Slots end at 2, 5, 8, …: 10 is in [-1, 2), 20 and 30 in [2, 5), 40 in [5, 8).
    found = changes(numbers(*FIVE), Window("tumble", range=3, offset=8))
    assert [change for change in found if change[0] == "+"] == [
        ("+", 2, (10, -1, 2)),
        ("+", 5, (20, 2, 5)),
        ("+", 5, (30, 2, 5)),
        ("+", 8, (40, 5, 8)),
    ]


def test_slots_overlap():
    # [Hop 4 Every 3] ends at 3, 6, 9, 12 and reaches back to -1, 2, 5, 8.
    found = changes(numbers(*FIVE), Window("hop", range=4, slide=3))
    assert [change for change in found if change[0] == "+"] == [
        ("+", 3, (10, -1, 3)),
        ("+", 3, (20, -1, 3)),
        ("+", 3, (30, -1, 3)),
        ("+", 6, (20, 2, 6)),
        ("+", 6, (30, 2, 6)),
        ("+", 6, (40, 2, 6)),
        ("+", 9, (40, 5, 9)),
    ]


def test_slots_leave_gaps():
    # [Hop 1 Every 3] holds the rows of 2 from 3 to 5, and those of 5 from 6 to 8.
    assert changes(numbers(*FIVE), Window("hop", range=1, slide=3)) == (
        ("+", 3, (20, 2, 3)),
        ("+", 3, (30, 2, 3)),
        ("-", 6, (20, 2, 3)),
        ("-", 6, (30, 2, 3)),
        ("+", 6, (40, 5, 6)),
        ("-", 9, (40, 5, 6)),
    )


def test_a_session_enters_when_nothing_can_belong_to_it():
    # With a gap of 2: 1, 2, 2 are one session, complete at 5; 5 is another, complete at 8.
    assert changes(numbers(*FIVE), Window("session", range=2)) == (
        ("+", 5, (10, 1, 2)),
        ("+", 5, (20, 1, 2)),
        ("+", 5, (30, 1, 2)),
        ("-", 8, (10, 1, 2)),
        ("-", 8, (20, 1, 2)),
        ("-", 8, (30, 1, 2)),
        ("+", 8, (40, 5, 5)),
    )


def test_a_row_just_within_the_gap_goes_on_with_the_session():
    # 5 is 3 after 2: with a gap of 3 all four are one session, complete at 5 + 3 + 1.
    found = changes(numbers(*FIVE), Window("session", range=3))
    assert {(op, ts, row[1:]) for op, ts, row in found} == {("+", 9, (1, 5))}


def test_every_partition_has_sessions_of_its_own():
    rows = ((1, 1), (2, 2), (1, 3), (1, 9), (2, 30))
    found = changes(numbers(*rows), Window("session", range=2, partition_by=("a",)))
    assert found == (
        ("+", 5, (2, 2, 2)),
        ("+", 6, (1, 1, 3)),
        ("+", 6, (1, 1, 3)),
        ("-", 12, (1, 1, 3)),
        ("-", 12, (1, 1, 3)),
        ("+", 12, (1, 9, 9)),
    )


def test_bounds_of_timestamps_are_timestamps():
    columns = (("a", "bigint"), ("at", "timestamp"))
    rows = ((1, datetime(2024, 1, 1, 0, 0, 7)), (2, datetime(2024, 1, 1, 0, 1)))
    stream = StreamSpec("s", columns, "at", 0, rows)
    query = Query("s", window=Window("tumble", range=10_000_000), output="istream")
    ((_, row),) = evaluate(Script((stream,), queries=(query,)))["q1"].rows
    assert row == (1, rows[0][1], datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 10))


def test_a_column_of_the_stream_hides_that_of_the_window():
    columns = (("window_start", "bigint"), ("ts", "bigint"))
    stream = StreamSpec("s", columns, "ts", 0, ((70, 1), (80, 9)))
    query = Query("s", window=Window("tumble", range=2), output="istream")
    assert evaluate(Script((stream,), queries=(query,)))["q1"].rows == ((2, (70, 1, 2)),)


def test_a_latent_stream_has_no_slots():
    stream = StreamSpec("s", (("a", "bigint"),), None, 0, ((1,),))
    with pytest.raises(SpecError):
        evaluate(Script((stream,), queries=(Query("s", window=Window("tumble", range=2)),)))
