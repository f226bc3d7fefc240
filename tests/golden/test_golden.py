"""Every golden file, under every configuration that must not matter."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.database import Database
from millstream.engine.outputs import COMPLETE
from millstream.engine.receivers import Folder
from millstream.local.host import LocalHost
from millstream.plan.distribute import distribute
from millstream.plan.text import parse_plan
from millstream.rules import optimize
from millstream.testing.bounded import Bounded, as_bounded_script, is_bounded
from millstream.testing.golden import check_golden
from millstream.testing.golden_file import read_golden
from millstream.testing.stage import Definitions

ROOT = Path(__file__).parents[2] / "golden"
FILES = sorted(ROOT.rglob("*.test"))
BOUNDED = [path for path in FILES if is_bounded(read_golden(path))]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_file_is_as_expected(path):
    failures = check_golden(path)
    assert not failures, "\n\n".join(failures)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_plans_are_read_as_they_are_printed(path, tmp_path):
    defined = Definitions.of(read_golden(path), str(tmp_path))
    for query in defined.database.queries.values():
        bound = query.content_root or query.changes_root
        for plan in (bound, optimize(bound), distribute(optimize(bound))):
            assert parse_plan(plan.text, defined.database.catalog) == plan


@pytest.mark.parametrize("path", BOUNDED, ids=name_of)
def test_bounded_script_gives_the_same(path, tmp_path):
    bounded = as_bounded_script(read_golden(path), tmp_path)
    run_to_folder(bounded, tmp_path / "out")
    assert not bounded.differences(tmp_path / "out")


def test_most_files_can_run_on_another_host():
    assert len(BOUNDED) >= 25


def run_to_folder(bounded: Bounded, out: Path) -> None:
    """What `millstream run --host local --changes --out` does with a script."""
    database = Database(base=str(bounded.script.parent), tell=lambda text: None)
    database.execute(bounded.script.read_text())
    stored = frozenset(q.name for q in database.queries.values() if q.form == COMPLETE)
    schemas = {name: shape.schema for name, shape in bounded.shapes.items() if name not in stored}
    host = LocalHost(database.job(stored), database.sources(False), [Folder(out, "csv", schemas)])
    host.run()
