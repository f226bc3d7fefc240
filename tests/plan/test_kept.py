"""Plans as a checkpoint keeps them come back as they were, with their types."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from golden.test_golden import FILES, name_of
from laws.scale import SCALE
from millstream.algebra.node import Node, walk
from millstream.database import Database
from millstream.engine.outputs import Query
from millstream.errors import MillstreamError
from millstream.plan.kept import kept_text, logical, read_kept
from millstream.plan.strategy import chosen, distributed
from millstream.plan.tables import with_time
from millstream.settings import Settings
from millstream.testing.golden import Definitions
from millstream.testing.golden_file import read_golden
from oracle.generate import random_case, write
from plan.table import read_table
from rules.random_plans import trials

MARKS = ("", "after batch 7")


def check(query: Query) -> None:
    """Law: text and back is the same plan, and without exchanges it is what was distributed."""
    bound = with_time(query.plan, query.domain)
    for root in replace(query, plan=bound).roots:
        for rules in ("on", "off", "fixed"):
            optimized = chosen(root, Settings(rules=rules), query.views)
            for mark in MARKS:
                plan = distributed(optimized, mark)
                again = read_kept(kept_text(plan), bound, mark)
                assert again == plan, kept_text(plan)
                same_types(plan, again)
                assert logical(plan) == optimized


def same_types(one: Node, other: Node) -> None:
    pairs = list(zip(walk(one), walk(other)))
    assert all(a.schema == b.schema and a.key == b.key for a, b in pairs)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_plans_of_golden_files(path: Path, tmp_path: Path) -> None:
    defined = Definitions.of(read_golden(path), str(tmp_path))
    for query in defined.database.queries.values():
        check(query)


def test_plans_of_the_table_of_patterns() -> None:
    script, entries = read_table()
    for text in dict.fromkeys(entry.query for entry in entries):
        session = Database(tell=lambda text: None)
        session.execute(script)
        check(session.execute(text)[-1])


def test_random_plans() -> None:
    for trial in trials(range(40_000, 40_000 + 60 * SCALE)):
        plan = distributed(chosen(trial.plan, Settings()))
        again = read_kept(kept_text(plan), trial.plan)
        assert again == plan, plan.text
        same_types(plan, again)


@pytest.mark.slow
def test_generated_queries(tmp_path: Path) -> None:
    for seed in range(60 * SCALE):
        folder = tmp_path / str(seed)
        folder.mkdir()
        session = Database(base=str(folder), tell=lambda text: None)
        session.execute(write(random_case(seed), folder).read_text())
        for query in session.queries.values():
            check(query)


def session_of(tmp_path: Path, script: str) -> Database:
    session = Database(base=str(tmp_path), tell=lambda text: None)
    session.execute(f"CREATE STREAM s (ts int, k int, name string) ORDER BY ts; {script}")
    return session


def test_a_part_that_is_read_often_is_written_once(tmp_path: Path) -> None:
    views = ["CREATE VIEW v0 AS SELECT k, count(*) AS n FROM s [Range 5] GROUP BY k;"]
    for i in range(1, 12):
        views.append(
            f"CREATE VIEW v{i} AS SELECT k, max(n) AS n FROM (SELECT k, n FROM v{i - 1} "
            f"WHERE n > {i} UNION ALL SELECT k, n + 1 AS n FROM v{i - 1}) GROUP BY k;"
        )
    session = session_of(tmp_path, " ".join(views))
    query = session.queries["v11"]
    plan = distributed(chosen(query.changes_root, Settings(), query.views))
    assert len(kept_text(plan).splitlines()) < 300
    assert read_kept(kept_text(plan), query.plan) == plan


def test_strings_of_several_lines(tmp_path: Path) -> None:
    (query,) = session_of(
        tmp_path, "SELECT k FROM s WHERE name = 'a\nb: \u2028 ''c''\n#0:\n';"
    ).queries.values()
    check(query)


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    (query,) = session_of(tmp_path, "SELECT k FROM s WHERE k > 1;").queries.values()
    text = kept_text(distributed(query.changes_root))
    for other in ("", "Filter", text.replace("Filter", "Sieve"), text.replace("s (", "t (")):
        with pytest.raises(MillstreamError):
            read_kept(other, query.plan)
