"""A result whose changes nobody reads is brought up to date once a batch: same content."""

import random
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

from laws.scale import SCALE
from millstream.algebra.node import walk
from millstream.database import Database
from millstream.engine.outputs import COMPLETE
from millstream.local.host import LocalHost
from oracle.generate import FOCUSES, random_case, write

STRATEGIES = ("update_pattern", "negative", "direct")
PER_FOCUS = 2 * SCALE


def same(left: pa.RecordBatch, right: pa.RecordBatch) -> bool:
    """Equal rows; NaN is equal to itself."""
    return repr(left.to_pylist()) == repr(right.to_pylist())


def hosts(database: Database, told: frozenset[str]) -> list[LocalHost]:
    """One that tells every change, one that tells none."""
    every = (database.job(told), database.job(frozenset()))
    return [LocalHost(job, database.sources(follow=False), []) for job in every]


def check(case, seed: int, folder: Path) -> int:
    """Compare the contents after every batch; gives how many parts were evaluated at once."""
    rng = random.Random(seed)
    script = write(case, folder)
    database = Database(base=str(folder), tell=lambda text: None)
    database.execute(f"SET batch_rows = {rng.choice((1, 3, 8, 30))}; SET buckets = 2;")
    database.execute(f"SET strategy = {STRATEGIES[seed % 3]};")
    database.execute(script.read_text())
    stored = frozenset(q.name for q in database.queries.values() if q.form == COMPLETE)
    told, lazy = hosts(database, stored)
    flips = LocalHost(database.job(frozenset()), database.sources(follow=False), [])
    while not told.is_done:
        some = frozenset(name for name in sorted(stored) if rng.random() < 0.3)
        for host in (told, lazy, flips):
            host.batch()
        for name in stored:
            expected = told.content(name)
            for host in (lazy, flips):
                found = host.content(name)
                assert same(found, expected), f"{seed}, {name}: {found} is not {expected}"
        flips.change(database.job(some))
    nodes = [n for root in lazy.job.materialized_roots.values() for n in walk(root)]
    return sum(n.state_layout.at_once or n.state_layout.subtotals is not None for n in nodes)


@pytest.mark.slow
@pytest.mark.parametrize("focus", FOCUSES)
def test_generated_results(focus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Subtotals are made here of every group of two rows."""
    monkeypatch.setattr("millstream.operators.subtotals.WORTH", 0)
    for seed in range(PER_FOCUS):
        with tempfile.TemporaryDirectory() as folder:
            check(random_case(seed + 700_000, focus), seed, Path(folder))


def test_parts_are_evaluated_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millstream.operators.subtotals.WORTH", 0)
    with tempfile.TemporaryDirectory() as folder:
        assert check(random_case(700_001, "set"), 1, Path(folder))
