"""Windows: every way to write them, and what they hold."""

import pytest

from millstream.lang import Interval, StreamWindow, interval_from_text, interval_of, parse_script

SECOND = 1_000_000


def micros(amount: int) -> Interval:
    return Interval(amount, "microsecond")


def window(text: str) -> StreamWindow:
    (statement,) = parse_script(f"SELECT * FROM s {text}")
    return statement.query.args["from_"].this.args["stream_window"]


@pytest.mark.parametrize(
    ("text", "kind", "length", "rows", "columns", "slide"),
    [
        ("[Now]", "now", None, None, [], None),
        ("[NOW Slide 5 seconds]", "now", None, None, [], micros(5 * SECOND)),
        ("[Range 5 Minutes]", "range", micros(300 * SECOND), None, [], None),
        ("[range 5 minute preceding]", "range", micros(300 * SECOND), None, [], None),
        ("[Range 10]", "range", Interval(10, None), None, [], None),
        ("[Range 10 Slide 5]", "range", Interval(10, None), None, [], Interval(5, None)),
        ("[Range 1 hr Slide 1 min]", "range", micros(3600 * SECOND), None, [], micros(60 * SECOND)),
        ("[Range Unbounded]", "unbounded", None, None, [], None),
        ("[Rows Unbounded Preceding]", "unbounded", None, None, [], None),
        ("[Unbounded]", "unbounded", None, None, [], None),
        ("[Rows Unbounded Slide 5]", "unbounded", None, None, [], 5),
        ("[Range Unbounded Slide 1 s]".replace("1 s", "1 sec"), "unbounded", None, None, [],
         micros(SECOND)),
        ("[Rows 5]", "rows", None, 5, [], None),
        ("[Rows 5 Preceding Slide 2]", "rows", None, 5, [], 2),
        ("[Partition By a, s.b Rows 3]", "rows", None, 3, ["a", "b"], None),
        ("[Partition By a Rows 3 Range 1 day]", "rows", micros(86400 * SECOND), 3, ["a"], None),
        ("[Partition By a Range 2 Rows 3 Slide 4]", "rows", Interval(2, None), 3, ["a"], 4),
        ("[Tumble 10]", "tumble", Interval(10, None), None, [], None),
        ("[tumble 5 minutes offset 1 minute]", "tumble", micros(300 * SECOND), None, [], None),
        ("[Hop 10 Every 5]", "hop", Interval(10, None), None, [], Interval(5, None)),
        ("[HOP 1 Hour Every 90 s]".replace("90 s", "90 sec"), "hop", micros(3600 * SECOND), None,
         [], micros(90 * SECOND)),
        ("[Hop INTERVAL '5' MINUTE Every INTERVAL '1' MINUTE Offset 3 seconds]", "hop",
         micros(300 * SECOND), None, [], micros(60 * SECOND)),
        ("[Session 30 Minutes]", "session", micros(1800 * SECOND), None, [], None),
        ("[Session 0]", "session", Interval(0, None), None, [], None),
        ("[Partition By a, s.b Session 5]", "session", Interval(5, None), None, ["a", "b"], None),
    ],
)  # fmt: skip
def test_windows(text, kind, length, rows, columns, slide) -> None:
    found = window(text)
    assert (found.kind, found.range, found.rows, found.slide) == (kind, length, rows, slide)
    assert [column.name for column in found.partition_by] == columns


def test_slots_have_an_offset() -> None:
    assert window("[Tumble 1 Hour Offset 5 Minutes]").offset == micros(300 * SECOND)
    assert window("[Hop 9 Every 3 Offset 2]").offset == Interval(2, None)
    assert window("[Hop 9 Every 3]").offset is None


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("30 seconds", 30 * SECOND),
        ("1.5 seconds", 1_500_000),
        ("100 milliseconds", 100_000),
        ("100ms", 100_000),
        ("7 microseconds", 7),
        ("2 Weeks", 14 * 86400 * SECOND),
        ("1 Hour 30 Minutes", 5400 * SECOND),
        ("INTERVAL '5' MINUTE", 300 * SECOND),
        ("INTERVAL '5 minutes'", 300 * SECOND),
        ("INTERVAL 5 MINUTES", 300 * SECOND),
        ("INTERVAL '1 day 2 hours'", 26 * 3600 * SECOND),
        ("0 seconds", 0),
    ],
)
def test_lengths(text: str, amount: int) -> None:
    assert window(f"[Range {text}]").range == micros(amount)


@pytest.mark.parametrize("written", ["s [Now] AS b", "s AS b [Now]", "s b [Now]", "s [Now] b"])
def test_a_window_stands_before_or_after_the_alias(written: str) -> None:
    (statement,) = parse_script(f"SELECT b.x FROM {written}")
    table = statement.query.args["from_"].this
    assert table.alias == "b" and table.args["stream_window"].kind == "now"


def test_windows_after_subqueries_and_in_joins() -> None:
    (statement,) = parse_script(
        "SELECT 1 FROM (SELECT a FROM s) x [Rows 2], Istream(SELECT b FROM t) [Now] AS y, z"
    )
    sources = [statement.query.args["from_"].this, *(j.this for j in statement.query.args["joins"])]
    assert [s.args["stream_window"].kind for s in sources[:2]] == ["rows", "now"]
    assert "stream_window" not in sources[2].args
    assert sources[1].this.operator == "istream" and sources[1].alias == "y"


def test_intervals_elsewhere() -> None:
    (statement,) = parse_script("SELECT INTERVAL '2' DAY")
    assert interval_of(statement.query.expressions[0]) == micros(2 * 86400 * SECOND)
    assert interval_from_text("5 seconds") == micros(5 * SECOND)
