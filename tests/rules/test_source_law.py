"""The law of tests that a source knows of: with them or without, the same answers, late and bad
rows, and the same clock; and row groups that nobody wants are not read."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.connect.files import parquet_source
from millstream.testing import run_script

SCHEMA = pa.schema(
    [
        ("ts", pa.int64()),
        ("price", pa.int64()),
        ("cost", pa.float64()),
        ("item", pa.string()),
        ("at", pa.timestamp("us")),
        ("code", pa.string()),
    ]
)
STREAM = (
    "CREATE STREAM bids (ts int, price int, cost double, item varchar, at timestamp, code int) "
    "ORDER BY ts SLACK {slack} SOURCE 'bids.parquet';\n"
)
TESTS = (
    "price > 40",
    "price >= 70 AND item <> 'a'",
    "30 > price",
    "price = 50 OR price > 1000",
    "cost < 10.5",
    "cost > 70",
    "item = 'm'",
    "item >= 'w' AND price IS NOT NULL",
    "ts < 12",
    "ts BETWEEN 20 AND 25 AND price > 3",
    "at > TIMESTAMP '1970-01-01 00:01:20'",
    "price > NULL",
    "code > 5",
)


def write_bids(rng: random.Random, folder: Path) -> None:
    """Values that rise with the row, so that row groups differ; with NULLs, NaN and bad codes."""
    rows = []
    now = 0
    for i in range(rng.randint(1, 90)):
        now += rng.choice((0, 0, 1, 1, 2))
        rows.append(
            {
                "ts": rng.choice((now, now, now, now - 3, None)),
                "price": rng.choice((i, i, i, i + 5, None)),
                "cost": rng.choice((float(i), i + 0.25, -0.0, float("nan"), None)),
                "item": rng.choice((chr(97 + i // 4), chr(97 + i // 4), None)),
                "at": rng.choice((i * 1_000_000, None)),
                "code": rng.choice(("1", "7", "x", None)) if rng.random() < 0.1 else "3",
            }
        )
    table = pa.Table.from_pylist(rows, SCHEMA)
    pq.write_table(table, folder / "bids.parquet", row_group_size=rng.randint(2, 9))


def shown(results: dict[str, pa.Table]) -> dict[str, str]:
    return {name: str(table.to_pydict()) for name, table in results.items()}


@pytest.mark.parametrize("seed", range(40))
def test_answers_are_the_same_whatever_is_read(seed, tmp_path):
    rng = random.Random(seed)
    write_bids(rng, tmp_path)
    script = STREAM.format(slack=rng.choice((0, 2, 5)))
    for i, test in enumerate(rng.sample(TESTS, rng.randint(1, 3))):
        form = rng.choice(
            (
                "SELECT Istream(*) FROM bids [Now] WHERE {}",
                "SELECT STREAMED item, count(*) AS n FROM bids [Range 4] WHERE {} GROUP BY item",
                "SELECT Rstream(count(*) AS n, max(price) AS p) FROM bids [Range 4] WHERE {}",
            )
        )
        script += f"CREATE VIEW v{i} AS {form.format(test)};\n"
    if rng.random() < 0.3:
        script += "CREATE VIEW tardy AS SELECT Istream(*) FROM bids.late;\n"
    settings = {"batch_rows": str(rng.choice((1, 7, 1000)))}
    without = run_script(script, tmp_path, {**settings, "rules": "off"})
    assert shown(run_script(script, tmp_path, settings)) == shown(without)


def columns_read(script: str, folder: Path, monkeypatch) -> list[tuple[str, ...]]:
    """Which columns were read, slice by slice."""
    found = []
    part = parquet_source._part

    def watched(slice_, paths):
        found.append(tuple(".".join(path) for path in paths))
        return part(slice_, paths)

    monkeypatch.setattr(parquet_source, "_part", watched)
    run_script(script, folder)
    return found


def test_row_groups_that_nobody_wants_are_read_for_their_time_only(tmp_path, monkeypatch):
    table = pa.table({"ts": list(range(40)), "price": list(range(40)), "item": ["a"] * 40})
    pq.write_table(table, tmp_path / "bids.parquet", row_group_size=10)
    script = (
        "CREATE STREAM bids (ts int, price int, item varchar) ORDER BY ts SOURCE 'bids.parquet';\n"
        "CREATE VIEW dear AS SELECT Istream(item) FROM bids [Now] WHERE price > 25;\n"
    )
    assert columns_read(script, tmp_path, monkeypatch) == [
        ("ts",),
        ("ts",),
        ("ts", "price", "item"),
        ("ts", "price", "item"),
    ]
    both = script + "CREATE VIEW cheap AS SELECT Istream(item) FROM bids [Now] WHERE price < 5;\n"
    read = columns_read(both, tmp_path, monkeypatch)
    assert [len(columns) for columns in read[-4:]] == [3, 1, 3, 3]
    every = script + "CREATE VIEW every AS SELECT Istream(item) FROM bids [Now];\n"
    read = columns_read(every, tmp_path, monkeypatch)
    assert [len(columns) for columns in read[-4:]] == [3, 3, 3, 3]
