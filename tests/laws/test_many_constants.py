"""Many queries that compare a value of synchronized rows with constants: each is told, at every
point, what has changed among the rows that it asks for, by definition."""

from __future__ import annotations

import operator
from functools import partial
from pathlib import Path
from random import Random

import pytest

from millstream.database import Database
from millstream.engine.index_over_constants import Index
from millstream.local.host import LocalHost
from millstream.testing.run import KeptResults

COMPARISONS = {">": operator.lt, ">=": operator.le, "<": operator.gt, "<=": operator.ge}
"""How the constant is compared with the value."""

ROW = operator.itemgetter(1, 2)
PERIODS = (2, 4, 6)
SCRIPT = """
CREATE STREAM readings (t int, room int, degrees {kind}, floor int)
  ORDER BY t SOURCE 'readings.csv';
CREATE STREAM rooms OVER readings KEY room;
"""
CLOCK = "CREATE VIEW every{0} AS SELECT Timepoint FROM clockStr WHERE Timepoint % {0} = 0;"
QUERY = (
    "CREATE VIEW {name} AS SELECT STREAMED {columns} FROM R(rooms, every{period}) "
    "WHERE degrees {comparison} {constant};"
)

Reading = tuple[int, int, int, int]


def readings(rng: Random) -> list[Reading]:
    t, found = 0, []
    for _ in range(rng.randrange(20, 60)):
        t += rng.choice((0, 0, 1, 1, 2, 5))
        found.append((t, rng.randrange(4), rng.randrange(6), rng.randrange(2)))
    return found


def there(rows: list[Reading], at: int, holds) -> dict[int, tuple[int, int]]:
    """The last reading of every room up to an instant, where it meets the condition."""
    last = {room: (degrees, floor) for t, room, degrees, floor in rows if t <= at}
    return {room: values for room, values in last.items() if holds(values[0])}


def expected(rows: list[Reading], period: int, holds, narrow: bool) -> list[tuple]:
    """What is told at every point: rows that come, change or go, each with its room."""
    told, before = [], dict[int, tuple]()
    for point in range(0, rows[-1][0] + 1, period):
        if point < rows[0][0]:
            continue
        now = {
            room: values[1:] if narrow else values
            for room, values in there(rows, point, holds).items()
        }
        empty = (None,) if narrow else (None, None)
        told += [("-", point, room, *empty) for room in before.keys() - now.keys()]
        told += [("+", point, room, *now[room]) for room in now.keys() - before.keys()]
        both = (room for room in now.keys() & before.keys() if now[room] != before[room])
        told += [("u", point, room, *now[room]) for room in both]
        before = now
    return told


@pytest.mark.parametrize("batch_rows", ["3", "20", "auto"])
@pytest.mark.parametrize("kind", ["int", "double"])
@pytest.mark.parametrize("many", [1, 10**9], ids=["in an index", "by operators"])
@pytest.mark.parametrize("seed", range(3))
def test_queries_with_constants_of_their_own(
    seed: int, many: int, kind: str, batch_rows: str, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr("millstream.plan.choices.MANY", many)
    monkeypatch.setattr("millstream.sharing.common._pays", lambda *given: True)
    found_in_index: list[object] = []
    tell = Index.told
    monkeypatch.setattr(
        Index, "told", lambda index, choice: found_in_index.append(choice) or tell(index, choice)
    )
    rng = Random(f"constants {seed}")
    rows = readings(rng)
    lines = ["t,room,degrees,floor", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "readings.csv").write_text("\n".join(lines) + "\n")
    database = Database(base=str(tmp_path))
    database.pin("batch_rows", batch_rows)
    database.execute(SCRIPT.format(kind=kind) + "".join(map(CLOCK.format, PERIODS)))
    asked, texts = {}, []
    for number in range(20):
        comparison, constant = rng.choice([*COMPARISONS]), rng.randrange(-1, 7)
        period, narrow = rng.choice(PERIODS), rng.random() < 0.4
        columns = "room, floor" if narrow else "room, degrees, floor"
        shown = f"{constant}.0" if kind == "double" else constant
        name = f"q{number}"
        texts.append(
            QUERY.format(
                name=name, columns=columns, period=period, comparison=comparison, constant=shown
            )
        )
        asked[name] = (comparison, constant, period, narrow)
    database.execute("".join(texts))
    kept = KeptResults()
    LocalHost(database.job(), database.sources(False), [kept]).run()
    for name, (comparison, constant, period, narrow) in asked.items():
        found = kept.tables().get(name)
        told = [] if found is None else list(zip(*(c.to_pylist() for c in found.columns)))
        holds = partial(COMPARISONS[comparison], constant)
        wanted = expected(rows, period, holds, narrow)
        assert sorted(told, key=ROW) == sorted(wanted, key=ROW), (name, asked[name])
    assert bool(found_in_index) == (many == 1)
