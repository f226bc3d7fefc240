"""The answers of the patterns, by plain Python, written from what each view is said to give."""

from __future__ import annotations

import csv
import importlib.util
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pyarrow as pa
import pytest

from docs.examples import ROOT
from millstream.testing import run_script

HERE = ROOT / "examples" / "patterns"
SEEDS = (7, 8)
Rows = list[SimpleNamespace]
NUMBERS = ("speed", "price", "magnitude")
MINUTES = timedelta(minutes=1)


def generator() -> ModuleType:
    made = importlib.util.spec_from_file_location("patterns_data", HERE / "generate.py")
    assert made is not None and made.loader is not None
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    return module


@cache
def folder_of(seed: int) -> Path:
    """The files of a seed; those of the example itself for the first."""
    if seed == SEEDS[0]:
        return HERE
    from tempfile import mkdtemp

    folder = Path(mkdtemp())
    generator().write_all(folder, seed)
    return folder


@cache
def answers(seed: int) -> dict[str, pa.Table]:
    return run_script((HERE / "patterns.sql").read_text(), folder_of(seed))


def read(seed: int, name: str) -> Rows:
    with (folder_of(seed) / f"{name}.csv").open(encoding="utf-8") as file:
        return [SimpleNamespace(**_values(row)) for row in csv.DictReader(file)]


def _values(row: dict[str, str]) -> dict[str, object]:
    out: dict[str, object] = dict(row)
    for name, text in row.items():
        if name == "at":
            out[name] = datetime.fromisoformat(text)
        elif name in ("visit", "station"):
            out[name] = int(text)
        elif name in NUMBERS:
            out[name] = float(text) if text else None
        elif name == "worked":
            out[name] = text == "true"
    return out


def by(rows: Rows, name: str) -> dict[object, Rows]:
    found: dict[object, Rows] = defaultdict(list)
    for row in rows:
        found[getattr(row, name)].append(row)
    return found


def dreams(seed: int) -> Iterator[tuple]:
    for visit, mine in by(read(seed, "clicks"), "visit").items():
        for one, two, three in zip(mine, mine[1:], mine[2:]):
            if (one.kind, two.kind, three.kind) == ("advert", "description", "purchase"):
                yield visit, two.page, three.at


def pages(seed: int) -> Iterator[tuple]:
    for visit, mine in by(read(seed, "clicks"), "visit").items():
        looked_at = 0
        for click in mine:
            if click.kind == "purchase" and looked_at:
                yield visit, min(looked_at, 7), click.at
            looked_at = 0 if click.kind == "purchase" else looked_at + 1


def jams(seed: int) -> Iterator[tuple]:
    places = {int(line.station): line.place for line in read(seed, "stations")}
    for station, mine in by(read(seed, "speeds"), "station").items():
        at = 0
        while at < len(mine):
            end = at
            while end + 1 < len(mine) and end - at < 6 and mine[end + 1].speed < mine[end].speed:
                end += 1
            low = mine[end].speed < 0.3 * mine[at].speed
            if end > at and mine[at].speed > 80 and low and end + 1 < len(mine):
                yield places[station], mine[at].speed, mine[end].speed, mine[end].at
                at = end + 1
            else:
                at += 1


def gaps(seed: int) -> dict[int, list[tuple[datetime, float]]]:
    speeds = {(r.station, r.at): r.speed for r in read(seed, "speeds")}
    found = defaultdict(list)
    for (station, at), speed in speeds.items():
        if (station - 1, at) in speeds:
            found[station].append((at, speeds[station - 1, at] - speed))
    return found


def accidents(seed: int) -> Iterator[tuple]:
    for station, mine in gaps(seed).items():
        at = 0
        while at < len(mine):
            usual, rise = mine[at][1], at
            while rise + 1 < len(mine) and rise - at < 6 and mine[rise + 1][1] > mine[rise][1]:
                rise += 1
            end = rise
            while end + 1 < len(mine) and end - rise < 60 and mine[end + 1][1] > 1.1 * usual:
                end += 1
            grown = rise > at and mine[rise][1] > 2 * usual
            if 2 <= usual <= 15 and grown and end > rise and end + 1 < len(mine):
                largest = max(gap for _, gap in mine[at + 1 : rise + 1])
                yield station, usual, mine[at + 1][0], mine[end][0], largest
                at = end + 1
            else:
                at += 1


def eruptions(seed: int) -> Iterator[tuple]:
    before = None
    for report in read(seed, "reports"):
        strong = before is not None and before.kind == "earthquake" and before.magnitude >= 7
        if report.kind == "volcano" and strong:
            yield report.name, before.name, before.magnitude
        before = report


def bottoms(seed: int) -> Iterator[tuple]:
    """Legs are the longest stretches in one direction."""
    for share, mine in by(read(seed, "prices"), "share").items():
        price = [row.price for row in mine]
        at = 0
        while at < len(price):
            ends = [at]
            for way in (-1, 1, -1, 1):
                end = ends[-1]
                while end + 1 < len(price) and way * (price[end + 1] - price[end]) > 0:
                    end += 1
                ends.append(end)
            long = all(b - a >= 5 for a, b in pairwise(ends))
            if long and ends[-1] + 1 < len(price):
                yield (share, *(price[end] for end in ends))
                at = ends[-1] + 1
            else:
                at += 1


def relaxed(seed: int) -> Iterator[tuple]:
    """Each move is a fall, a rise, or flat."""
    for share, mine in by(read(seed, "prices"), "share").items():
        price = [row.price for row in mine]
        moves = "?" + "".join(map(_move, price, price[1:]))
        at = 0
        while at < len(price):
            ends = [at]
            for kind in "f-r-f-r":
                end = ends[-1]
                while end + 1 < len(price) and moves[end + 1] == kind:
                    end += 1
                ends.append(end)
            back = ends[-1] + 1
            whole = all(a < b for a, b in pairwise(ends))
            if whole and back < len(price) and moves[back] != "r":
                yield share, *(price[ends[i]] for i in (0, 2, 4, 6)), price[back]
                at = back + 1
            else:
                at += 1


def _move(before: float, now: float) -> str:
    return "f" if now < 0.98 * before else "r" if now > 1.02 * before else "-"


def guessed(seed: int) -> Iterator[tuple]:
    """Of failures that are too long ago, those within ten minutes count."""
    for account, mine in by(read(seed, "logins"), "account").items():
        failed: list[datetime] = []
        for login in mine:
            if not login.worked:
                failed.append(login.at)
                continue
            near = [at for at in failed if login.at - at <= 10 * MINUTES]
            if len(near) >= 3:
                yield account, len(near), login.at
            failed = []


def overheated(seed: int) -> Iterator[tuple]:
    for machine, mine in by(read(seed, "states"), "machine").items():
        hot = None
        for report in mine:
            if report.state == "reset":
                hot = None
            elif report.state == "hot":
                near = hot is not None and report.at - hot <= 10 * MINUTES
                if near:
                    yield machine, hot, report.at
                hot = None if near else report.at


DEFINED: dict[str, Callable[[int], Iterator[tuple]]] = {
    "dreams": dreams,
    "dreams_again": dreams,
    "pages": pages,
    "pages_again": pages,
    "jams": jams,
    "accidents": accidents,
    "eruptions": eruptions,
    "bottoms": bottoms,
    "bottoms_again": bottoms,
    "relaxed": relaxed,
    "guessed": guessed,
    "guessed_again": guessed,
    "overheated": overheated,
    "overheated_again": overheated,
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", DEFINED)
def test_a_pattern_finds_what_it_is_said_to_find(name: str, seed: int) -> None:
    table = answers(seed)[name]
    found = [tuple(row.values())[1:] for row in table.to_pylist()]
    assert sorted(found, key=repr) == sorted(DEFINED[name](seed), key=repr)
    assert len(found) > 1


def test_the_files_are_those_of_the_generator(tmp_path: Path) -> None:
    generator().write_all(tmp_path, SEEDS[0])
    for path in tmp_path.iterdir():
        assert path.read_text() == (HERE / path.name).read_text(), path.name
