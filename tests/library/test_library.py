"""The aggregates that are shipped, over windows of generated rows, against an exact computation."""

from __future__ import annotations

import json
import math
import random
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from millstream.library import LIBRARY, meaning_of
from millstream.testing import run_script

STREAM = """
CREATE STREAM r (at int, x double, w double, item string, bit int, id int)
  ORDER BY at SOURCE 'rows.jsonl';
"""
ROWS = 240
FRAMES = {
    "ROWS 19 PRECEDING": lambda rows, i: rows[max(0, i - 19) : i + 1],
    "RANGE 25 PRECEDING": lambda rows, i: [
        row for row in rows[: i + 1] if row["at"] >= rows[i]["at"] - 25
    ],
    "ROWS UNBOUNDED PRECEDING": lambda rows, i: rows[: i + 1],
}


def rows_of(seed: int) -> list[dict[str, Any]]:
    chance, at, rows = random.Random(seed), 0, []
    for number in range(ROWS):
        at += chance.choice([0, 1, 1, 2, 5])
        rows.append(
            {
                "at": at,
                "x": chance.choice([None, *(chance.gauss(10, 20) for _ in range(9))]),
                "w": chance.choice([None, *(chance.uniform(0.5, 3) for _ in range(9))]),
                "item": chance.choice([None, *(f"i{chance.randrange(30)}" for _ in range(9))]),
                "bit": int(chance.random() < 0.6),
                "id": number,
            }
        )
    return rows


def values(rows: list[dict[str, Any]], name: str = "x") -> list[Any]:
    return [row[name] for row in rows if row[name] is not None]


def variance(rows: list[dict[str, Any]]) -> float | None:
    known = values(rows)
    return statistics.variance(known) if len(known) > 1 else None


def mean(rows: list[dict[str, Any]]) -> float | None:
    return statistics.fmean(values(rows)) if values(rows) else None


def weighted(rows: list[dict[str, Any]]) -> float | None:
    pairs = [(r["x"], r["w"]) for r in rows if r["x"] is not None and r["w"] is not None]
    return sum(x * w for x, w in pairs) / sum(w for _, w in pairs) if pairs else None


def decayed(rows: list[dict[str, Any]]) -> float | None:
    known = values(rows)
    weights = [0.8**age for age in range(len(known))][::-1]
    return sum(map(math.prod, zip(known, weights))) / sum(weights) if known else None


def nth(rows: list[dict[str, Any]]) -> float | None:
    return rows[2]["x"] if len(rows) > 2 else None


def occurrences(rows: list[dict[str, Any]]) -> int | None:
    item = rows[-1]["item"]
    return None if item is None else sum(row["item"] == item for row in rows)


def middle(rows: list[dict[str, Any]]) -> float | None:
    known = sorted(values(rows))
    return known[math.ceil(0.5 * len(known)) - 1] if known else None


@dataclass(frozen=True)
class Case:
    """A call, what it must give over the rows of a window, and how far it may be off."""

    call: str
    exact: Callable[[list[dict[str, Any]]], Any]
    off: float = 1e-9
    apart: float = 1e-9


CASES = [
    Case("moving_variance(x)", variance, 1e-6, 1e-6),
    Case("weighted_avg(x, w)", weighted),
    Case("joined(item, '-')", lambda rows: "-".join(values(rows, "item")) or None),
    Case("earliest(x)", lambda rows: next(iter(values(rows)), None)),
    Case("latest(x)", lambda rows: next(iter(values(rows)[::-1]), None)),
    Case("nth(x, 3)", nth),
    Case("frequency(item)", occurrences),
    Case("about_distinct(item)", lambda rows: len(set(values(rows, "item"))), 0.07, 1),
    Case("about_quantile(x, 0.5)", middle, 0.011),
]
"""Those that give one value over any window."""


@pytest.fixture(scope="module", params=[1, 2])
def stream(request, tmp_path_factory):
    rows = rows_of(request.param)
    folder = tmp_path_factory.mktemp("library")
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder, rows


def answers(folder: Path, select: str, **settings: str) -> list[dict[str, Any]]:
    results = run_script(f"{STREAM}CREATE VIEW v AS {select};", folder, settings)
    return results["v"].to_pylist()


def near(given: Any, expected: Any, off: float, apart: float = 1e-9) -> bool:
    if isinstance(expected, str) or expected is None or given is None:
        return given == expected
    return math.isclose(given, expected, rel_tol=off, abs_tol=apart)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.call)
def test_over_windows(case: Case, frame: str, stream) -> None:
    folder, rows = stream
    given = answers(folder, f"SELECT id, {case.call} OVER ({frame}) AS v FROM r")
    assert [row["id"] for row in given] == [row["id"] for row in rows]
    for at, row in enumerate(given):
        expected = case.exact(FRAMES[frame](rows, at))
        assert near(row["v"], expected, case.off, case.apart), (at, row["v"], expected)


@pytest.mark.parametrize("native", ["on", "off"])
@pytest.mark.parametrize(
    "case",
    [Case("decay_avg(x, 0.8)", decayed), Case("cumulative_avg(x)", mean)],
    ids=lambda case: case.call,
)
def test_so_far(case: Case, native: str, stream) -> None:
    folder, rows = stream
    given = answers(folder, f"SELECT {case.call} AS v FROM r", native=native, batch_rows="70")
    assert len(given) == len(rows)
    for at, row in enumerate(given):
        assert near(row["v"], case.exact(rows[: at + 1]), case.off), at


def test_the_largest_values_of_a_window(stream) -> None:
    folder, rows = stream
    given = answers(folder, "SELECT id, largest(x, 3) OVER (ROWS 19 PRECEDING) AS v FROM r")
    for at, row in enumerate(rows):
        window = FRAMES["ROWS 19 PRECEDING"](rows, at)
        mine = [g["v"] for g in given if g["id"] == row["id"]]
        assert sorted(mine) == sorted(values(window))[-3:]


@pytest.mark.parametrize("frame", FRAMES)
def test_a_sample_by_priority_holds_the_largest_chances(frame: str, stream) -> None:
    folder, rows = stream
    call = f"priority_sample(id, hash(id, 3), 4) OVER ({frame})"
    given = answers(folder, f"SELECT id, hash(id, 3) AS chance, {call} AS v FROM r")
    chances = {row["id"]: row["chance"] for row in given}
    for at, row in enumerate(rows):
        window = [r["id"] for r in FRAMES[frame](rows, at)]
        best = sorted(window, key=chances.__getitem__, reverse=True)[:4]
        assert sorted(g["v"] for g in given if g["id"] == row["id"]) == sorted(map(float, best))


def test_a_reservoir_holds_some_of_all_values_each_once(stream) -> None:
    folder, rows = stream
    call = "reservoir(id, 10) OVER (ROWS UNBOUNDED PRECEDING)"
    given = answers(folder, f"SELECT id, {call} AS v FROM r")
    samples: Counter[float] = Counter()
    for at in range(len(rows)):
        mine = [g["v"] for g in given if g["id"] == at]
        assert len(mine) == len(set(mine)) == min(10, at + 1)
        assert all(value <= at for value in mine)
        samples.update(mine if at == len(rows) - 1 else [])
    assert max(samples) > ROWS / 2, "later values are taken as well"


def test_ones_are_counted_to_a_tenth(tmp_path: Path) -> None:
    chance = random.Random(4)
    bits = [int(chance.random() < (0.9 if at % 900 < 450 else 0.1)) for at in range(1_500)]
    lines = (json.dumps({"at": at, "bit": bit}) + "\n" for at, bit in enumerate(bits))
    (tmp_path / "rows.jsonl").write_text("".join(lines))
    given = answers(tmp_path, "SELECT recent_ones(bit, 500) AS v FROM r")
    assert len(given) == len(bits)
    for at, row in enumerate(given):
        exact = sum(bits[max(0, at - 499) : at + 1])
        assert abs(row["v"] - exact) <= max(1, 0.1 * exact), (at, row["v"], exact)


def test_sessions_are_numbered(tmp_path: Path) -> None:
    times = ["10:00:00", "10:04:00", "10:09:00", "10:09:00", "10:14:01"]
    rows = "".join(f"2024-05-01 {time}\n" for time in times)
    (tmp_path / "clicks.csv").write_text("at\n" + rows)
    script = """
    CREATE STREAM clicks (at timestamp) ORDER BY at SOURCE 'clicks.csv';
    CREATE VIEW v AS SELECT session_number(at, INTERVAL '5' MINUTE) AS n FROM clicks;
    CREATE VIEW u AS SELECT unique_visitors(CAST(n AS string), at, INTERVAL '5' MINUTE) AS n
      FROM (SELECT at, minute(at) % 5 AS n FROM clicks);
    """
    results = run_script(script, tmp_path)
    assert results["v"].column("n").to_pylist() == [1, 1, 1, 1, 2]
    assert results["u"].column("n").to_pylist() == [1, 2, 1, 1, 1]


def test_unique_visitors_are_counted_within_the_span(stream) -> None:
    folder, rows = stream
    timed = "(SELECT id, item, timestamp_seconds(at) AS t FROM r)"
    call = "unique_visitors(item, t, INTERVAL '25' SECOND)"
    given = answers(folder, f"SELECT {call} AS n FROM {timed}")
    for at, row in enumerate(given):
        window = FRAMES["RANGE 25 PRECEDING"](rows, at)
        assert row["n"] == len(set(values(window, "item")))


def test_points_go_to_the_nearest_center(tmp_path: Path) -> None:
    chance = random.Random(6)
    homes = [(0.0, 0.0), (10.0, 0.0), (0.0, 10.0)]
    points = [homes[at % 3] if at < 3 else homes[chance.randrange(3)] for at in range(200)]
    moved = [(x + chance.gauss(0, 1), y + chance.gauss(0, 1)) for x, y in points]
    (tmp_path / "rows.csv").write_text(
        "at,x,y\n" + "".join(f"{at},{x},{y}\n" for at, (x, y) in enumerate(moved))
    )
    script = """
    CREATE STREAM p (at int, x double, y double) ORDER BY at SOURCE 'rows.csv';
    CREATE VIEW v AS SELECT nearest_center(x, y, 3) FROM p;
    """
    given = run_script(script, tmp_path)["v"].to_pylist()
    centers: list[list[float]] = []
    for (x, y), row in zip(moved, given):
        if len(centers) < 3:
            centers.append([x, y, 0])
        best = min(range(len(centers)), key=lambda c: math.dist((x, y), centers[c][:2]))
        cx, cy, n = centers[best]
        centers[best] = [cx + (x - cx) / (n + 1), cy + (y - cy) / (n + 1), n + 1]
        assert row["center"] == best + 1
        assert near(row["center_x"], centers[best][0], 1e-9)
        assert near(row["center_y"], centers[best][1], 1e-9)


def test_the_classifier_gives_the_most_likely_label(tmp_path: Path) -> None:
    chance = random.Random(7)
    rows = []
    for at in range(300):
        play = chance.random() < 0.6
        first = chance.choice("aab" if play else "abb")
        second = chance.choice("xxy" if play else "xyy")
        label = None if at > 50 and at % 3 == 0 else ("yes" if play else "no")
        rows.append({"at": at, "label": label, "f": first, "s": second, "t": chance.choice("pq")})
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    script = """
    CREATE STREAM r (at int, label string, f string, s string, t string)
      ORDER BY at SOURCE 'rows.jsonl';
    CREATE VIEW v AS SELECT at, naive_bayes(label, f, s, t) AS guess FROM r;
    """
    given = {g["at"]: g["guess"] for g in run_script(script, tmp_path)["v"].to_pylist()}
    assert len(given) == sum(row["label"] is None for row in rows) > 50
    for at, guess in given.items():
        known = [row for row in rows[:at] if row["label"] is not None]
        assert guess == _likely(known, rows[at])


def _likely(known: list[dict[str, Any]], row: dict[str, Any]) -> str:
    def score(label: str) -> float:
        mine = [k for k in known if k["label"] == label]
        shares = [
            math.log(sum(k[f] == row[f] for k in mine) + 1) - math.log(len(mine) + 2)
            for f in ("f", "s", "t")
        ]
        return math.log(len(mine)) + sum(shares)

    return max(("no", "yes"), key=score)


def test_elements_on_a_path_are_counted(tmp_path: Path) -> None:
    tokens = "<shop><item></item><box><item></item></box><item><item></item></item></shop>"
    names = [t.strip("</>") for t in tokens.replace("><", "> <").split()]
    kinds = ["end" if "</" in t else "start" for t in tokens.replace("><", "> <").split()]
    lines = "".join(f"{at},{k},{n}\n" for at, (k, n) in enumerate(zip(kinds, names)))
    (tmp_path / "rows.csv").write_text("at,kind,name\n" + lines)
    script = """
    CREATE STREAM tokens (at int, kind string, name string) ORDER BY at SOURCE 'rows.csv';
    CREATE VIEW v AS SELECT xml_count(kind, name, '/shop/item') AS n FROM tokens;
    """
    assert run_script(script, tmp_path)["v"].column("n").to_pylist() == [1, 2]


def test_every_aggregate_says_what_it_computes() -> None:
    assert len(LIBRARY) >= 19
    assert all(meaning_of(name).endswith(".") for name in LIBRARY)


def test_a_script_may_define_the_name_of_one_anew(stream) -> None:
    folder, _ = stream
    own = "AGGREGATE cumulative_avg(x double) : int { INSERT INTO RETURN VALUES (7); }\n"
    view = "CREATE VIEW v AS SELECT cumulative_avg(x) AS n FROM r;"
    results = run_script(STREAM + own + view, folder)
    assert set(results["v"].column("n").to_pylist()) == {7}
