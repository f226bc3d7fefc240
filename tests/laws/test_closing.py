"""The end of bounded input: with `close`, time goes on until every window is closed.

A run has one clock, so a stream that has nothing to do with the others and one row at the instant T
lets their time go on to T: the answers must be the same, with T worked out by hand.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.testing import run_script

STREAMS = """
CREATE STREAM bids (t int, item string, price int) ORDER BY t SLACK 2 SOURCE 'bids.csv';
CREATE STREAM ticks (t int) ORDER BY t SOURCE 'ticks.csv';
CREATE STREAM late_ticks (t int) ORDER BY t SOURCE 'late.csv';
"""
"""`late_ticks` has no row, or the one at T."""

CASES: dict[str, tuple[str, Callable[[int], int]]] = {
    "range": (
        "SELECT STREAMED item, count(*) AS n FROM bids [Range 7] GROUP BY item",
        lambda last: last + 8,
    ),
    "leaves": ("SELECT Dstream(item, price) FROM bids [Range 7]", lambda last: last + 8),
    "slide": (
        "SELECT STREAMED item, sum(price) AS s FROM bids [Range 7 Slide 5] GROUP BY item",
        lambda last: ((last + 7) // 5 + 1) * 5,
    ),
    "reports": (
        "SELECT Rstream(count(*) AS n) FROM bids [Range 6 Slide 4]",
        lambda last: ((last + 6) // 4 + 1) * 4,
    ),
    "grows": (
        "SELECT STREAMED item FROM bids [Range Unbounded Slide 5]",
        lambda last: -(-last // 5) * 5,
    ),
    "rows of a partition": (
        "SELECT STREAMED item, price FROM bids [Partition By item Rows 2 Range 4]",
        lambda last: last + 5,
    ),
    "windows on windows": (
        "SELECT STREAMED count(*) AS n FROM gone [Range 4]",
        lambda last: last + 4 + 5,
    ),
    "two windows": (
        "SELECT STREAMED a.item FROM bids [Range 3] a, bids [Range 9] b WHERE a.item = b.item",
        lambda last: last + 10,
    ),
    "an instant": ("SELECT Dstream(item) FROM bids [Now]", lambda last: last + 1),
    "nothing to close": ("SELECT STREAMED count(*) AS n FROM bids [Rows 3]", lambda last: last),
}
GONE = "CREATE STREAM gone AS SELECT Dstream(item) FROM bids [Range 3];"

rows = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from("abc"), st.integers(0, 9)), min_size=1, max_size=12
)


def written(folder: Path, bids: list[tuple[int, str, int]], at: int | None) -> int:
    """Write the files; the last instant of bids. An element may be a little out of order."""
    now, lines, last = 0, ["t,item,price"], 0
    for number, (gap, item, price) in enumerate(bids):
        now += gap
        stamp = max(now - number % 3, 0)
        last = max(last, stamp)
        lines.append(f"{stamp},{item},{price}")
    (folder / "bids.csv").write_text("\n".join(lines) + "\n")
    (folder / "ticks.csv").write_text("t\n1\n")
    (folder / "late.csv").write_text("t\n" if at is None else f"t\n{at}\n")
    return last


def answers(found: dict[str, pa.Table]) -> dict[str, list]:
    return {name: found[name].to_pylist() for name in ("answer", "bids.late")}


@pytest.mark.parametrize("case", CASES)
@given(bids=rows)
@settings(max_examples=4)
def test_time_goes_on_until_the_last_window_is_closed(case: str, bids) -> None:
    text, closes = CASES[case]
    script = STREAMS + GONE * ("gone" in text) + f"CREATE VIEW answer AS {text};"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        last = written(folder, bids, None)
        apart = "SELECT Istream(t) FROM ticks [Range 90];" if case == "range" else ""
        found = answers(run_script(script, folder, close=True))
        options = {"batch_rows": "2", "buckets": "3"}
        assert answers(run_script(script, folder, {"batch_rows": "1"}, close=True)) == found
        assert answers(run_script(script, folder, options, restart=True, close=True)) == found
        written(folder, bids, closes(last))
        assert answers(run_script(script, folder)) == found, f"it goes on to {closes(last)}"
        if apart:  # another query is open for longer: one clock goes on for all
            with_other = answers(run_script(script + apart, folder, close=True))
            assert with_other == found


def test_nothing_is_closed_twice_and_nothing_without_rows(tmp_path: Path) -> None:
    (tmp_path / "bids.csv").write_text("t,item,price\n")
    (tmp_path / "ticks.csv").write_text("t\n")
    (tmp_path / "late.csv").write_text("t\n")
    script = STREAMS + "CREATE VIEW answer AS SELECT STREAMED item FROM bids [Range 7];"
    assert answers(run_script(script, tmp_path, close=True)) == {"answer": [], "bids.late": []}
