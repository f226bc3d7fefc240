"""Which queries are contained in which views: a table of pairs, half of them traps, whose verdicts
were worked out by reasoning; and where one is contained, the answers are those of the query."""

from pathlib import Path
from random import Random

import pytest

from millstream.database import Database
from millstream.local.host import LocalHost
from millstream.sharing import rewriting
from millstream.sharing.containment import WhyNot, over
from millstream.sharing.skinned import skinned

SCRIPT = """
CREATE STREAM s (t int, k int, x int, w string, d double) ORDER BY t SOURCE 's.csv';
CREATE STREAM r (t int, k int, y int) ORDER BY t SOURCE 'r.csv';
CREATE STREAM rooms OVER s KEY k;
CREATE VIEW e2 AS SELECT Timepoint FROM clockStr WHERE Timepoint % 2 = 0;
CREATE VIEW e3 AS SELECT Timepoint FROM clockStr WHERE Timepoint % 3 = 0;
CREATE VIEW e4 AS SELECT Timepoint FROM clockStr WHERE Timepoint % 4 = 0;
CREATE VIEW e6 AS SELECT Timepoint FROM clockStr WHERE Timepoint % 6 = 0;
CREATE VIEW u23 AS SELECT Timepoint FROM e2 UNION SELECT Timepoint FROM e3;
CREATE VIEW i23 AS SELECT Timepoint FROM e2 INTERSECT SELECT Timepoint FROM e3;
CREATE VIEW late4 AS SELECT Timepoint FROM clockStr WHERE Timepoint % 4 = 0 AND Timepoint > 5;
CREATE VIEW hot AS SELECT t FROM s WHERE x > 3;
CREATE VIEW hotter AS SELECT t FROM s WHERE x > 5;
"""
PAIRS = [
    [part.strip() for part in line.split(" | ")]
    for line in (Path(__file__).parent / "pairs.txt").read_text().splitlines()
    if not line.startswith("#")
]
CONTAINED = [pair for pair in PAIRS if pair[0] == "yes"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Readings of a few rooms: numbers around the constants of the table, and NULL."""
    path = tmp_path_factory.mktemp("pairs")
    rng, t, readings, others = Random("pairs"), 0, ["t,k,x,w,d"], ["t,k,y"]
    for _ in range(90):
        t += rng.choice((0, 0, 1, 1, 2))
        x = rng.choice(("", 0, 1, 2, 3, 4, 5, 6, 8, 9, 79, 81, 99, 101, 102))
        d = rng.choice(("", "-0.0", "0.0", "2.0", "3.5", "4.0"))
        readings.append(f"{t},{rng.randrange(4)},{x},{rng.choice('abAB')},{d}")
        if rng.random() < 0.5:
            others.append(f"{t},{rng.randrange(4)},{rng.randrange(6)}")
    (path / "s.csv").write_text("\n".join(readings) + "\n")
    (path / "r.csv").write_text("\n".join(others) + "\n")
    return path


def database(folder: Path, view: str, query: str, sharing: str = "on") -> Database:
    made = Database(base=str(folder))
    made.pin("sharing", sharing)
    made.execute(SCRIPT)
    for name, text in (("v", view), ("q", query)):
        made.execute(f"CREATE VIEW {name} AS {text.replace('SELECT', 'SELECT STREAMED', 1)};")
    return made


def test_the_table_has_enough_pairs_of_both_kinds() -> None:
    assert len(CONTAINED) >= 40
    assert len(PAIRS) - len(CONTAINED) >= 40


@pytest.mark.parametrize("verdict, view, query, why", PAIRS)
def test_the_verdict(verdict: str, view: str, query: str, why: str, folder: Path) -> None:
    made = database(folder, view, query, "off").contents.queries
    v, q = made.find("v"), made.find("q")
    found = over(skinned(q.plan), skinned(v.plan), v.plan)
    inside = rewriting.Rewriting(views_of(v), "q")
    inside.rewritten(q.plan)
    contained = not isinstance(found, WhyNot) or bool(inside.used)
    assert contained == (verdict == "yes"), getattr(found, "words", "")


def views_of(query) -> rewriting.Views:
    views = rewriting.Views()
    form = skinned(query.plan)
    views.by_signature[rewriting.signature_of(form)] = {"v": rewriting.View("v", query.plan)}
    return views


@pytest.mark.parametrize("verdict, view, query, why", CONTAINED)
def test_what_is_contained_has_the_same_answer(
    verdict: str, view: str, query: str, why: str, folder: Path, monkeypatch
) -> None:
    monkeypatch.setattr("millstream.sharing.rewriting.is_cheaper", lambda *given: True)
    monkeypatch.setattr("millstream.sharing.rewriting.has_state", lambda node: True)
    shared, alone = (database(folder, view, query, sharing) for sharing in ("on", "off"))
    over_it = shared.contents.queries.find("q").shared
    assert over_it is not None and over_it.over == ("v",)
    assert answer(shared) == answer(alone)


def answer(made: Database) -> list[str]:
    rows: list[dict] = []

    class Taking:
        def rows(self, name, batch, number) -> None:
            rows.extend(batch.to_pylist() if name == "q" else [])

        def whole(self, name, content) -> None: ...

        def sizes(self) -> dict[str, int]:
            return {}

        def close(self) -> None: ...

    LocalHost(made.job(), made.sources(False), [Taking()]).run()
    assert rows
    return sorted(map(repr, rows))
