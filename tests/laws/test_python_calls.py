"""Calls of aggregates that are classes in Python, against the same definitions as those in blocks:
windows and slides by chance, however the stream is cut, spread and restarted."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from laws.test_own_calls import check, some_owns, some_tuples, some_window
from oracle import python_classes
from oracle.own_calls import OWNS, Over, Own, answers, groups_at

CASES = 60
MODULE = Path(python_classes.__file__)


def python(name: str, declared: str, named: str) -> str:
    return f"CREATE {declared.format(name)} LANGUAGE python AS 'python_classes:{named}';"


DECLARED = {
    "total": ("ALGEBRAIC AGGREGATE {}(x int) : int", "Total"),
    "ends": ("AGGREGATE {}(x int) : (lo int, hi int)", "Ends"),
    "highest": ("WINDOW AGGREGATE {}(x int) : int", "Highest"),
    "rises": ("AGGREGATE {}(x int) : (low int, high int)", "Rises"),
    "kinds": ("AGGREGATE {}(x int) : int", "Kinds"),
}


def two_largest(prices: list[int]) -> list[tuple]:
    return [(price,) for price in sorted(prices, reverse=True)[:2]]


def spell(prices: list[int]) -> list[tuple]:
    row = 0
    for price in prices:
        row = row + 1 if price >= 5 else 0
    minutes, seconds = divmod(row * 90, 60)
    return [(f"{'x' * row}{minutes:02}:{seconds:02}{prices[-1] >= 5}",)]


PYTHON_OWNS = (
    *(replace(own, text=python(own.name, *DECLARED[own.name])) for own in OWNS),
    Own(
        "largest",
        python("largest", "AGGREGATE {}(x int) : int", "Largest"),
        two_largest,
        is_blocking=False,
        left=two_largest,
    ),
    Own(
        "spell",
        python("spell", "AGGREGATE {}(x int) : string", "Spell"),
        spell,
        is_blocking=False,
    ),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / MODULE.name).write_text(MODULE.read_text())
    return tmp_path


@pytest.mark.parametrize("seed", range(CASES))
def test_calls_over_windows(seed: int, folder: Path) -> None:
    rng = random.Random(seed)
    tuples = some_tuples(rng)
    queries = {}
    for i in range(4):
        over = some_window(rng)
        owns = some_owns(rng, over, PYTHON_OWNS)
        calls = ", ".join(f"{own.name}(price) {over.text}" for own in owns)
        queries[f"v{i}"] = (f"SELECT item, {calls} FROM bids", answers(owns, over, tuples))
    check(folder, tuples, queries, seed, PYTHON_OWNS)


@pytest.mark.parametrize("seed", range(CASES // 3))
def test_calls_on_the_bare_stream_and_in_groups(seed: int, folder: Path) -> None:
    rng = random.Random(seed + 10_000)
    tuples = some_tuples(rng)
    queries = {}
    for i in range(4):
        by = rng.random() < 0.5
        owns = rng.sample([own for own in PYTHON_OWNS if not own.is_blocking], 2)
        calls = ", ".join(f"{own.name}(price)" for own in owns)
        text = f"SELECT item, {calls} FROM bids{' GROUP BY item' if by else ''}"
        queries[f"v{i}"] = (text, answers(owns, Over(by), tuples))
    check(folder, tuples, queries, seed, PYTHON_OWNS)


@pytest.mark.parametrize("seed", range(CASES // 3))
def test_groups_of_windows(seed: int, folder: Path) -> None:
    rng = random.Random(seed + 20_000)
    tuples = some_tuples(rng)
    queries = {}
    owns = [own for own in PYTHON_OWNS if own.name in ("total", "ends", "kinds", "largest")]
    for i, own in enumerate(rng.sample(owns, 2)):
        length, rows = rng.choice([(rng.randrange(12), None), (None, rng.randrange(1, 7))])
        window = f"Rows {rows}" if length is None else f"Range {length}"
        text = f"SELECT Rstream(item, {own.name}(price)) FROM bids [{window}] GROUP BY item"
        queries[f"v{i}"] = (text, groups_at(own, length, rows, tuples))
    check(folder, tuples, queries, seed, PYTHON_OWNS)
