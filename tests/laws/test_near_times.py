"""Joins of rows that come near each other, and the view over the clock, against their meaning.

The content of every result is worked out at every instant, and compared with the replay of its
changes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from laws.scale import SCALE
from millstream.testing import run_script

CASES = 60 * SCALE
Rows = list[tuple[int, int, int]]
"""Time, number and key."""


@dataclass(frozen=True)
class Case:
    left: Rows
    right: Rows
    x: int
    y: int
    z: int
    every: int
    clock: str
    keyed: bool
    recent: bool
    asked: bool

    @property
    def script(self) -> str:
        clock = f"{self.clock}clockStr"
        keyed = "l.k = r.k AND " if self.keyed else ""
        recent = f" AND Now - {self.z} < l.TS" if self.recent else ""
        asked = " AND l.TS <= n.at" if self.asked else ""
        return f"""
CREATE STREAM lefts (t int, a int, k int) ORDER BY t SOURCE 'lefts.csv';
CREATE STREAM rights (t int, b int, k int) ORDER BY t SOURCE 'rights.csv';
CREATE STREAMED VIEW now_view AS SELECT 1 AS key, max(c.Timepoint) AS at FROM R({clock}) c;
CREATE STREAMED VIEW points AS
  SELECT c.Timepoint FROM R({clock}) c WHERE c.Timepoint % {self.every} = 0;
CREATE STREAMED VIEW last_point AS SELECT 1 AS key, max(c.Timepoint) AS at FROM R(points) c;
CREATE STREAMED VIEW near AS SELECT a, b FROM R(lefts) l, R(rights) r
  WHERE {keyed}r.TS - {self.x} < l.TS <= r.TS + {self.y}{recent};
CREATE STREAMED VIEW written AS SELECT a FROM R(lefts) l, R(now_view) n
  WHERE n.at - {self.x} < l.TS{asked};
CREATE STREAMED VIEW slid AS SELECT a FROM R(lefts, points) l, R(last_point) n
  WHERE n.at - {self.x} < l.TS{asked};
CREATE STREAMED VIEW stepped AS SELECT a FROM R(lefts) l, R(last_point) n
  WHERE n.at - {self.x} < l.TS{asked};
"""

    def near(self, at: int) -> list[tuple[int, ...]]:
        return sorted(
            (a, b)
            for lt, a, lk in self.left
            for rt, b, rk in self.right
            if max(lt, rt) <= at
            and (lk == rk or not self.keyed)
            and rt - self.x < lt <= rt + self.y
            and (at - self.z < lt or not self.recent)
        )

    def tick(self, at: int, every: int) -> int | None:
        """The last tick of the clock up to an instant that is a multiple."""
        begins = [self.left[0][0], *([] if self.clock else [self.right[0][0]])]
        last = at // every * every
        return last if last >= min(begins) else None

    def beside(self, at: int, tick: int | None, upto: int | None) -> list[tuple[int, ...]]:
        """The left rows up to an instant that meet the condition with the tick."""
        if tick is None or upto is None:
            return []
        return sorted(
            (a,)
            for t, a, _ in self.left
            if t <= upto and tick - self.x < t and (t <= tick or not self.asked)
        )

    def written(self, at: int) -> list[tuple[int, ...]]:
        return self.beside(at, self.tick(at, 1), at)

    def slid(self, at: int) -> list[tuple[int, ...]]:
        return self.beside(at, self.tick(at, self.every), at // self.every * self.every)

    def stepped(self, at: int) -> list[tuple[int, ...]]:
        return self.beside(at, self.tick(at, self.every), at)


def case_of(seed: int) -> Case:
    rng = Random(seed)

    def rows(number: int) -> Rows:
        times = sorted(rng.randint(0, 25) for _ in range(rng.randint(1, 14)))
        return [(t, number + i, rng.randint(0, 2)) for i, t in enumerate(times)]

    numbers = [rng.randint(0, 6) for _ in range(3)]
    flags = [rng.random() < 0.5 for _ in range(3)]
    clock = rng.choice(("", "lefts.", "lefts."))
    return Case(rows(0), rows(100), *numbers, rng.randint(1, 4), clock, *flags)


def replayed(table: pa.Table, at: int) -> list[tuple[int, ...]]:
    """The content at an instant, by the changes up to it: the numbers of rows are a key."""
    there: set[tuple[int, ...]] = set()
    for op, ts, *values in zip(*(column.to_pylist() for column in table.columns)):
        if ts <= at:
            (there.discard if op == "-" else there.add)(tuple(values))
    return sorted(there)


@pytest.mark.parametrize("seed", range(CASES))
def test_what_is_there_is_what_the_condition_says(seed: int) -> None:
    case = case_of(seed)
    settings = {
        "rules": ("on", "on", "off")[seed % 3],
        "strategy": ("update_pattern", "negative", "direct")[seed // 3 % 3],
        "batch_rows": ("1", "3", "auto")[seed // 2 % 3],
        "buckets": ("1", "3")[seed % 2],
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, column, rows in (("lefts", "a", case.left), ("rights", "b", case.right)):
            lines = [f"t,{column},k", *(",".join(map(str, row)) for row in rows)]
            (Path(folder) / f"{name}.csv").write_text("\n".join(lines) + "\n")
        found = run_script(case.script, folder, settings, seed % 5 == 0, ())
    end = max(case.left[-1][0], case.right[-1][0])
    meanings: dict[str, Callable[[int], list[tuple[int, ...]]]] = {
        "near": case.near,
        "written": case.written,
        "slid": case.slid,
        "stepped": case.stepped,
    }
    for name, meaning in meanings.items():
        for at in range(end + 1):
            assert replayed(found[name], at) == meaning(at), (name, at, settings, case)
