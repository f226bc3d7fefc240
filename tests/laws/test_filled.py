"""A stream that queries fill is the stream whose rows the definition gives, in any cut.

The rows are computed here, from what the statements say, and put into a file; queries over the
stream that is filled must answer what they answer over a stream that is read from that file.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

from millstream.testing import run_script

QUERIES = {
    "last_two": "SELECT Rstream(k, v) FROM s [Rows 2]",
    "lasts": "SELECT Istream(k, at, v) FROM s [Partition By k Rows 1]",
    "groups": "SELECT STREAMED k, count(*) AS n, sum(v) AS total FROM s [Range 3] GROUP BY k",
    "ends": "SELECT STREAMED k, first(v) AS a, last(v) AS z FROM s [Range 2] GROUP BY k",
    "pairs": "SELECT Istream(x.k, x.v, y.v) FROM s [Rows 2] x, r0 [Range 2] y WHERE x.k = y.k",
    "copy": "SELECT k, at, v FROM s WHERE v <> 1",
}
Row = tuple[int, int, int]


@dataclass(frozen=True)
class Insert:
    """A query that fills the stream: from which source, the time it gives, and what it leaves."""

    source: int
    shift: int
    scaled: bool
    least: int

    @property
    def text(self) -> str:
        at = "t" + (f" + {self.shift}" if self.shift else "") + (" + v" if self.scaled else "")
        source = f"r{self.source} WHERE v >= {self.least}"
        if self.shift % 2:
            return f"INSERT INTO s (k, at, v) SELECT k, {at}, v FROM {source}"
        return f"INSERT INTO s SELECT {at} AS at, k, v FROM {source}"

    def puts(self, rows: list[Row]) -> list[tuple[int, int, Row]]:
        """The instant of every row that is put in, its place in the source, and what it is."""
        shifted = [(t, (t + self.shift + self.scaled * v, k, v)) for t, k, v in rows]
        return [(t, at, row) for at, (t, row) in enumerate(shifted) if row[2] >= self.least]


@dataclass(frozen=True)
class Case:
    sources: tuple[list[Row], ...]
    inserts: tuple[Insert, ...]
    ordered: bool

    @property
    def last(self) -> int:
        return max(t for rows in self.sources for t, _, _ in rows)

    @property
    def elements(self) -> list[tuple[int, Row]]:
        """The definition: the time that a row names, if it has not passed; by INSERT, arrival."""
        found = [
            (row[0] if self.ordered else t, side, place, row)
            for side, insert in enumerate(self.inserts)
            for t, place, row in insert.puts(self.sources[insert.source])
            if not self.ordered or row[0] >= t
        ]
        return [(at, row) for at, _, _, row in sorted(found) if at <= self.last]

    @property
    def late(self) -> list[tuple[int, ...]]:
        puts = (p for insert in self.inserts for p in insert.puts(self.sources[insert.source]))
        return sorted((t, *row) for t, _, row in puts if self.ordered and row[0] < t)


def random_case(chance: random.Random) -> Case:
    sources = tuple(_rows(chance) for _ in range(chance.randint(1, 3)))
    shifts = chance.choice([(0,), (0, 1, 2), (-1, 0, 1, 3)])
    inserts = tuple(
        Insert(
            chance.randrange(len(sources)),
            chance.choice(shifts),
            len(shifts) > 1 and chance.random() < 0.3,
            chance.randint(-3, 2),
        )
        for _ in range(chance.randint(1, 4))
    )
    return Case(sources, inserts, chance.random() < 0.7)


def _rows(chance: random.Random) -> list[Row]:
    times = sorted(chance.randint(0, 14) for _ in range(chance.randint(1, 16)))
    return [(t, chance.randint(1, 3), chance.randint(-3, 5)) for t in times]


def answers(
    case: Case, folder: Path, stream: str, settings: dict[str, str], turns: tuple[str, ...] = ()
) -> dict[str, pa.Table]:
    script = [stream, *(f"CREATE VIEW {name} AS {query}" for name, query in QUERIES.items())]
    for number, rows in enumerate(case.sources):
        lines = ["t,k,v", *(",".join(map(str, row)) for row in rows)]
        (folder / f"r{number}.csv").write_text("\n".join(lines) + "\n")
        columns = "(t int, k int, v int) ORDER BY t"
        script.append(f"CREATE STREAM r{number} {columns} SOURCE 'r{number}.csv'")
    return run_script(";\n".join(script), str(folder), settings, bool(turns), turns)


def by_definition(case: Case, folder: Path) -> dict[str, pa.Table]:
    lines = ["own,at,k,v", *(",".join(map(str, (at, *row))) for at, row in case.elements)]
    (folder / "s.csv").write_text("\n".join(lines) + "\n")
    read = "CREATE STREAM s (own int, at int, k int, v int) ORDER BY own SOURCE 's.csv'"
    return answers(case, folder, read, {})


def settings(chance: random.Random) -> dict[str, str]:
    return {
        "batch_rows": chance.choice(("1", "2", "5", "1000")),
        "buckets": chance.choice(("1", "3")),
        "rules": chance.choice(("on", "off")),
        "strategy": chance.choice(("negative", "direct", "update_pattern")),
    }


def rows(tables: dict[str, pa.Table], name: str) -> list[str]:
    table = tables.get(name)
    values = [] if table is None else list(zip(*(column.to_pylist() for column in table.columns)))
    return sorted(map(repr, values))


@pytest.mark.parametrize("seed", range(40))
def test_a_filled_stream_is_the_stream_of_the_definition(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    case = random_case(chance)
    wanted = by_definition(case, tmp_path)
    order = " ORDER BY at" if case.ordered else ""
    fills = [f"CREATE STREAM s (at int, k int, v int){order}", *(i.text for i in case.inserts)]
    for turns in ((), ("direct", "update_pattern", "negative")):
        found = answers(case, tmp_path, ";\n".join(fills), settings(chance), turns)
        for name in QUERIES:
            assert rows(found, name) == rows(wanted, name), (name, fills)
        assert rows(found, "s.late") == sorted(map(repr, case.late)), fills
