"""The examples with aggregates of one's own: their answers, computed row by row in Python."""

from __future__ import annotations

import csv
import math
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from docs.examples import ROOT
from millstream.testing import run_script
from spark.running import run_on_spark

EXAMPLES = ROOT / "examples"
SETTINGS = [{}, {"batch_rows": "60", "buckets": "5", "native": "off"}]


def rows_of(path: Path, time: str = "at") -> list[dict[str, Any]]:
    """The rows of a CSV file in the order of time; ties as they arrived."""
    with path.open() as file:
        rows = [{k: v or None for k, v in row.items()} for row in csv.DictReader(file)]
    for row in rows:
        row[time] = datetime.fromisoformat(row[time])
    return sorted(rows, key=lambda row: row[time])


def run(folder: str, script: str, settings: dict[str, str]) -> dict[str, list[dict[str, Any]]]:
    text = (EXAMPLES / folder / script).read_text()
    results = run_script(text, EXAMPLES / folder, settings)
    return {name: table.to_pylist() for name, table in results.items()}


@pytest.fixture(scope="module", params=SETTINGS, ids=["default", "many batches"])
def rfid(request) -> dict[str, list[dict[str, Any]]]:
    return run("rfid", "rfid.sql", request.param)


def packing() -> dict[str, tuple[str, int, int]]:
    """The line, the case and the place in it of every product."""
    last: dict[str, tuple[datetime, int, int]] = {}
    found = {}
    for row in rows_of(EXAMPLES / "rfid" / "packed.csv"):
        seen, case, place = last.get(row["line"], (datetime.min, 0, 0))
        fresh = row["at"] - seen > timedelta(seconds=2)
        case, place = (case + 1, 1) if fresh else (case, place + 1)
        last[row["line"]] = row["at"], case, place
        found[row["tag"]] = row["line"], case, place
    return found


def test_products_are_packed_into_cases(rfid) -> None:
    found = {row["tag"]: (row["line"], row["number"], row["place"]) for row in rfid["cases"]}
    assert found == packing() and len(found) >= 150
    sizes = Counter((line, case) for line, case, _ in found.values())
    newest = {line: max(case for at, case in sizes if at == line) for line, _ in sizes}
    complete = [n for (line, case), n in sizes.items() if case < newest[line]]
    told = Counter(row["products"] for row in rfid["fillings"])
    assert not Counter(complete) - told
    assert sum(told.values()) - len(complete) <= len(newest)


def alone() -> dict[str, datetime]:
    """The products with no badge at their door within five seconds, and when they left."""
    rows = rows_of(EXAMPLES / "rfid" / "passed.csv")
    badges = [(row["door"], row["at"]) for row in rows if row["kind"] == "badge"]
    return {
        row["tag"]: row["at"]
        for row in rows
        if row["kind"] == "product"
        and not any(
            door == row["door"] and abs(at - row["at"]) <= timedelta(seconds=5)
            for door, at in badges
        )
    }


def test_what_nobody_attends_raises_an_alarm(rfid) -> None:
    end = max(
        row["at"]
        for name in ("passed", "packed")
        for row in rows_of(EXAMPLES / "rfid" / f"{name}.csv")
    )
    due = {tag: at for tag, at in alone().items() if at + timedelta(seconds=5) < end}
    assert {row["tag"]: row["left_at"] for row in rfid["thefts"]} == due
    assert len(due) > 20
    after = timedelta(seconds=5, microseconds=1)
    assert all(row["ts"] == row["left_at"] + after for row in rfid["thefts"])
    doors = Counter(row["door"] for row in rfid["thefts"])
    assert {row["door"]: row["alarms"] for row in rfid["doors"]} == doors


@pytest.fixture(scope="module", params=SETTINGS, ids=["default", "many batches"])
def mining(request) -> dict[str, list[dict[str, Any]]]:
    return run("mining", "mining.sql", request.param)


def guesses() -> dict[int, str]:
    features = ("device", "origin", "pages")
    labels: Counter[str] = Counter()
    seen: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    found = {}
    for row in rows_of(EXAMPLES / "mining" / "visits.csv"):
        if (label := row["bought"]) is not None:
            labels[label] += 1
            seen[label].update((name, row[name]) for name in features)
            continue

        def score(label: str, row: dict[str, Any] = row) -> float:
            shares = (math.log(seen[label][name, row[name]] + 1) for name in features)
            return math.log(labels[label]) + sum(
                share - math.log(labels[label] + 2) for share in shares
            )

        found[int(row["id"])] = max(sorted(labels), key=score)
    return found


def test_the_classifier_learns_and_guesses(mining) -> None:
    expected = guesses()
    assert {row["id"]: row["guess"] for row in mining["guesses"]} == expected
    assert len(expected) > 300
    hits = [expected[int(row["id"])] == row["bought"] for row in outcomes()]
    windows = [hits[max(0, at - 49) : at + 1] for at in range(len(hits))]
    shares = [sum(window) / len(window) for window in windows]
    assert [row["share"] for row in mining["accuracy"]] == pytest.approx(shares)
    assert sum(hits) / len(hits) > 0.6


def outcomes() -> list[dict[str, Any]]:
    return rows_of(EXAMPLES / "mining" / "outcomes.csv")


def test_points_fall_into_three_kinds(mining) -> None:
    kinds = Counter(row["center"] for row in mining["kinds"])
    assert sorted(kinds) == [1, 2, 3] and min(kinds.values()) > 50
    last = {row["center"]: (row["center_x"], row["center_y"]) for row in mining["kinds"]}
    for center, (x, y) in zip((1, 2, 3), ((30, 2), (120, 6), (300, 20))):
        assert last[center] == pytest.approx((x, y), rel=0.1)


@pytest.fixture(scope="module", params=SETTINGS, ids=["default", "many batches"])
def nexmark(request) -> dict[str, list[dict[str, Any]]]:
    settings = {**request.param, **({"batch_rows": "400"} if request.param else {})}
    return run("nexmark", "aggregates.sql", settings)


def test_sales_are_the_highest_bids_before_the_closing(nexmark) -> None:
    events = sorted(nexmark["house"], key=lambda row: (row["ts"], row["seller"] is None))
    best: dict[int, tuple[int, float]] = {}
    closed: set[int] = set()
    sales = []
    for row in events:
        auction = row["auction"]
        if row["seller"] is None and auction not in closed:
            if auction not in best or row["price"] > best[auction][1]:
                best[auction] = row["bidder"], row["price"]
        elif row["seller"] is not None:
            closed.add(auction)
            if auction in best:
                sales.append((auction, row["seller"], row["category"], *best[auction]))
    names = ("auction", "seller", "category", "winner", "price")
    assert [tuple(row[name] for name in names) for row in nexmark["sales"]] == sales
    assert len(sales) > 150


def test_prices_follow_the_sales(nexmark) -> None:
    by_category, by_seller = defaultdict(list), defaultdict(list)
    means, lately = [], []
    for row in nexmark["sales"]:
        by_category[row["category"]].append(row["price"])
        by_seller[row["seller"]].append(row["price"])
        means.append((row["category"], _mean(by_category[row["category"]])))
        lately.append((row["seller"], _mean(by_seller[row["seller"]][-10:])))
    for name, key, expected in (
        ("category_prices", "category", means),
        ("seller_prices", "seller", lately),
    ):
        assert [row[key] for row in nexmark[name]] == [k for k, _ in expected]
        assert [row["mean"] for row in nexmark[name]] == pytest.approx([m for _, m in expected])


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_hot_items_have_most_bids_of_ten_seconds(nexmark) -> None:
    bids = [row for row in nexmark["house"] if row["seller"] is None]
    for at, row in enumerate(nexmark["hot_items"][:1500]):
        since = bids[at]["ts"] - timedelta(seconds=10)
        counts = Counter(b["auction"] for b in bids[max(0, at - 800) : at + 1] if b["ts"] >= since)
        most = max(counts.values())
        assert (row["auction"], row["bids"]) == (min(a for a in counts if counts[a] == most), most)


def test_the_highest_bid_of_each_slot(nexmark) -> None:
    bids = [row for row in nexmark["house"] if row["seller"] is None]
    for row in nexmark["highest_bids"]:
        last = max(b["ts"] for b in bids if b["ts"] <= row["ts"])
        since = last - timedelta(seconds=9, microseconds=999_999)
        assert row["price"] == max(b["price"] for b in bids if since <= b["ts"] <= last)
    assert len(nexmark["highest_bids"]) >= 7


@pytest.mark.spark
def test_alarms_on_spark(spark) -> None:
    results = run_on_spark(spark, (EXAMPLES / "rfid" / "rfid.sql").read_text(), EXAMPLES / "rfid")
    assert set(results["thefts"]["tag"].to_pylist()) <= set(alone())
    assert results["thefts"].num_rows > 20
    cases = results["cases"].to_pylist()
    assert {row["tag"]: (row["line"], row["number"], row["place"]) for row in cases} == packing()
