"""Tagged streams, R( ) and views on views against their definition, whatever must not matter."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from laws.scale import SCALE
from laws.tagged import QUERIES, Case, check_results, random_case
from millstream.database import Database
from millstream.local.host import LocalHost
from millstream.testing import run_script
from oracle.tagged import frozen

CASES = 40 * SCALE
SETTINGS = (
    {"batch_rows": "1"},
    {"batch_rows": "3", "buckets": "7"},
    {"batch_rows": "5", "rules": "off"},
    {"batch_rows": "4", "buckets": "1", "strategy": "negative"},
    {"batch_rows": "2", "strategy": "direct"},
    {},
)


def check(case: Case, folder: Path, settings: dict[str, str], restart: bool) -> None:
    script = case.script(folder)
    tables = run_script(script, str(folder), settings, restart)
    known = Database(base=str(folder), tell=lambda text: None)
    known.execute(script)
    keys = {name: known.queries[name].plan.key for name in QUERIES}
    try:
        check_results(case, tables, keys)
    except AssertionError as error:
        rows = (folder / "s.csv").read_text()
        raise AssertionError(f"{error}\n{settings}\n{script}\n{rows}") from None


@pytest.mark.parametrize("seed", range(4))
def test_a_few_cases_quickly(seed: int, tmp_path: Path) -> None:
    check(random_case(seed), tmp_path, SETTINGS[seed], restart=seed == 2)


def content(case: Case, folder: Path, settings: dict[str, str]) -> None:
    """Stored results whose changes nobody reads: what they hold at the end is what is meant."""
    database = Database(base=str(folder), tell=lambda text: None)
    for name, value in settings.items():
        database.pin(name, value)
    database.execute(case.script(folder).replace("STREAMED", "COMPLETE"))
    host = LocalHost(database.job(frozenset()), database.sources(follow=False), [])
    host.run()
    for name, (_, meaning) in QUERIES.items():
        found = Counter(map(frozen, host.content(name).to_pylist()))
        assert found == Counter(map(frozen, meaning(case.held[-1][1]))), name


@pytest.mark.slow
def test_stored_results_hold_the_same(tmp_path: Path) -> None:
    for seed in range(12 * SCALE):
        content(random_case(3_000 + seed), tmp_path, SETTINGS[seed % len(SETTINGS)])


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, CASES, 20))
def test_tagged_streams_are_what_their_elements_make(start: int, tmp_path: Path) -> None:
    for seed in range(100 + start, 100 + start + 20):
        check(random_case(seed), tmp_path, SETTINGS[seed % len(SETTINGS)], restart=seed % 4 == 0)


def test_the_cases_have_what_matters() -> None:
    cases = [random_case(seed) for seed in range(100)]
    assert sum(case.keys is None for case in cases) > 10
    assert sum(case.says and case.keys is not None for case in cases) > 20
    for name, (_, meaning) in QUERIES.items():
        moved = sum(len({repr(meaning(held)) for _, held in case.held}) > 2 for case in cases)
        assert moved > 20, f"{name} stays the same"
