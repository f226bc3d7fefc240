"""Which keys are hot changes no answer, and the work of a hot key is shared by all buckets."""

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from laws.engine import outcome, shrunk
from laws.hot import write_hot
from laws.scale import SCALE
from millstream.algebra.changes import Changes
from millstream.algebra.time import INFINITY
from millstream.database import Database
from millstream.engine import hot_keys
from millstream.engine.hot_keys import COPIED, SPREAD, STAYS, HotKeys, KeySample
from millstream.engine.level import Level
from millstream.operators import Join, SkewSplit
from millstream.testing import run_script
from oracle.generate import random_case

CONFIGURATIONS = {
    "batches of three": {"batch_rows": "3", "buckets": "4"},
    "one row per batch, seven buckets": {"batch_rows": "1", "buckets": "7"},
    "rules off": {"rules": "off", "batch_rows": "4", "buckets": "2"},
    "negative rows": {"strategy": "negative", "batch_rows": "3", "buckets": "3"},
}
PER_FOCUS = 4 + 5 * SCALE
MEETINGS = {"m": ("left", "right"), "one way": ("left",)}


@pytest.fixture
def all_hot(monkeypatch) -> Counter[int]:
    """Every key that comes is hot; counts the rows by the way they go."""
    counts: Counter[int] = Counter()
    ways_of = HotKeys.ways

    def counted(self: HotKeys, skew_split: SkewSplit, changes: Changes) -> np.ndarray | None:
        ways = ways_of(self, skew_split, changes)
        counts.update(() if ways is None else ways.tolist())
        return ways

    monkeypatch.setattr(hot_keys, "FEWEST", 1)
    monkeypatch.setattr(HotKeys, "ways", counted)
    return counts


def check(focus: str, first: int, settings: dict[str, str], restart: bool = False) -> None:
    for seed in range(first, first + PER_FOCUS):
        case = random_case(seed, focus)
        if outcome(case, settings, restart) is not None:
            pytest.fail(f"{focus} {seed}, {settings}: {shrunk(case, settings, restart)}")


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_hot_keys_do_not_matter(all_hot, name: str) -> None:
    for focus in ("join", "outer", "correlated", "filter"):
        check(focus, 40_000 + 100 * list(CONFIGURATIONS).index(name), CONFIGURATIONS[name])
    assert all_hot[STAYS] and all_hot[SPREAD] + all_hot[COPIED], all_hot


@pytest.mark.slow
@pytest.mark.parametrize("focus", ("join", "outer"))
def test_hot_keys_survive_restarts(all_hot, focus: str) -> None:
    check(focus, 41_000, {"batch_rows": "3", "buckets": "3"}, restart=True)
    assert all_hot[SPREAD] + all_hot[COPIED]


def test_a_few_batches_quickly(all_hot, tmp_path: Path) -> None:
    text = write_hot(tmp_path, 60, others=3).read_text()
    whole = run_script(text, tmp_path, {"buckets": "1"})
    cut = run_script(text, tmp_path, {"buckets": "3", "batch_rows": "7"}, restart=True)
    assert all_hot[SPREAD] > 20 and all_hot[COPIED] > 20
    for name, table in whole.items():
        assert sorted(map(str, cut[name].to_pylist())) == sorted(map(str, table.to_pylist())), name


def test_the_pairs_of_a_hot_key_are_made_in_all_buckets(monkeypatch, tmp_path: Path) -> None:
    """Once a window has gone by since the key was found to be hot, nobody makes most of them."""
    made: list[Counter[int]] = [Counter()]
    output, after = Level.output, HotKeys.after

    def counted(self: Level, node) -> Changes:
        fresh = isinstance(node, Join) and node not in self.received
        result = output(self, node)
        if fresh:
            made[-1][self.bucket] += len(result)
        return result

    def next_batch(self: HotKeys, *words) -> HotKeys:
        made.append(Counter())
        return after(self, *words)

    monkeypatch.setattr(Level, "output", counted)
    monkeypatch.setattr(HotKeys, "after", next_batch)
    text = write_hot(tmp_path, 9000).read_text()
    run_script(text, tmp_path, {"buckets": "4", "batch_rows": "2000"})
    first, later = made[0], sum(made[2:], Counter())
    assert max(first.values()) > 0.9 * first.total() > 10_000
    assert len(later) == 4 and max(later.values()) < 0.3 * later.total()


def news(side: str, meeting: str = "m", rows: int = 4000, **words) -> KeySample:
    told = {"ts": 50, "exp": 60, "keys": ((7, 3000), (8, 10)), **words}
    return KeySample(meeting, side, rows, **told)


def test_the_side_with_more_rows_of_the_key_is_spread() -> None:
    few = news("left", keys=((7, 1500),), ts=80, exp=90)
    hot = HotKeys().after([few, news("right")], MEETINGS, 2)
    assert [(k.key, k.since, k.side) for k in hot.keys["m"]] == [(7, 90, "right")]
    assert HotKeys.from_json(hot.to_json()) == hot


def test_a_side_that_may_not_be_spread_is_not() -> None:
    assert not HotKeys().after([news("right", "one way")], MEETINGS, 2).keys
    hot = HotKeys().after([news("right", "one way"), news("left", "one way")], MEETINGS, 2)
    assert [k.side for k in hot.keys["one way"]] == ["left"]


def test_rows_without_end_keep_the_key_where_it_is() -> None:
    endless = news("left", keys=(), exp=INFINITY)
    hot = HotKeys().after([endless], MEETINGS, 2)
    assert not hot.after([news("right")], MEETINGS, 2).keys


def test_a_key_needs_many_rows_and_a_large_share() -> None:
    for told in (news("left", rows=12_001), news("left", keys=((7, 999),), rows=1000)):
        assert not HotKeys().after([told], MEETINGS, 2).keys
    assert HotKeys().after([news("left", rows=11_999)], MEETINGS, 2).keys


def test_hot_keys_are_not_without_bound(monkeypatch) -> None:
    monkeypatch.setattr(hot_keys, "MOST", 3)
    hot = HotKeys()
    for key in range(9):
        hot = hot.after([news("left", keys=((key, 3000),))], MEETINGS, 2)
    assert [k.key for k in hot.keys["m"]] == [0, 1, 2]
    assert not hot.after([], {}, 2).keys


def test_a_sample_finds_the_key_that_most_rows_share() -> None:
    items = np.where(np.arange(100_000) % 3 == 0, np.arange(100_000), -5)
    rows = pa.record_batch({"item": pa.array(items)})
    times = np.arange(100_000)
    skew_split = next(n for n in plan_of(GROUPED) if isinstance(n, SkewSplit))
    told = KeySample.of(skew_split, Changes.elements(rows, times, times), 2)
    assert (told.rows, told.ts, told.exp, len(told.keys)) == (100_000, 99_999, 100_000, 4)
    (_, most), (_, second), *_ = told.keys
    assert abs(most - 66_667) < 4_000 and second < 1_000


STREAMS = """
CREATE STREAM bids (t int, item int, price int) ORDER BY t;
CREATE STREAM sold (t int, item int, who int) ORDER BY t;
"""
GROUPED = """
SELECT STREAMED who, count(*) AS n FROM bids [Range 5] b JOIN sold [Range 9] s
ON b.item = s.item GROUP BY who
"""
JOINED = "bids [Range 5] b JOIN sold [Range 9] s ON b.item = s.item"


def plan_of(query: str):
    database = Database(tell=lambda text: None)
    database.execute(STREAMS + query)
    return database.job().graph.nodes


@pytest.mark.parametrize(
    "query, free",
    [
        (f"SELECT STREAMED count(*) AS n FROM {JOINED}", {("left", "right")}),
        (f"SELECT STREAMED price, who FROM {JOINED}", {("left", "right")}),
        (f"SELECT COMPLETE price, who FROM {JOINED}", {("left", "right")}),
        (f"SELECT STREAMED b.item, who FROM {JOINED}", set()),
        (f"SELECT COMPLETE b.item, who FROM {JOINED}", set()),
        (f"SELECT STREAMED b.item, count(*) AS n FROM {JOINED} GROUP BY b.item", set()),
        (
            "SELECT STREAMED count(*) AS n FROM bids [Range Unbounded] b "
            "JOIN sold [Range 9] s ON b.item = s.item",
            {("left",)},
        ),
        (
            "SELECT STREAMED count(*) AS n FROM bids [Range Unbounded] b "
            "JOIN sold [Range Unbounded] s ON b.item = s.item",
            set(),
        ),
        (
            "SELECT STREAMED count(*) AS n FROM bids [Partition By item Rows 3] b "
            "JOIN sold [Range 9] s ON b.item = s.item",
            set(),
        ),
        (
            "SELECT STREAMED price FROM bids [Range 5] "
            "WHERE item IN (SELECT item FROM sold [Range 9])",
            {("left",)},
        ),
    ],
)
def test_where_keys_may_be_spread(query: str, free: set[tuple[str, ...]]) -> None:
    """Where nobody relies on how the pairs lie, a side that only adds may be, beside one that
    ends."""
    assert {n.free for n in plan_of(query) if isinstance(n, SkewSplit)} == free
