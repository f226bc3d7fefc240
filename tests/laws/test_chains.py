"""Views on views over tagged streams and synchronized relations, against their meaning."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from laws.scale import SCALE
from millstream.database import Database
from millstream.local.host import LocalHost
from millstream.testing import run_script
from oracle.chains import Bag, Chain, random_chain

CASES = 60 * SCALE
STRATEGIES = ("update_pattern", "negative", "direct")


def settings_of(seed: int) -> dict[str, str]:
    return {
        "strategy": STRATEGIES[seed % 3],
        "batch_rows": ("1", "3", "8", "auto")[seed % 4],
        "buckets": ("1", "2", "7")[seed // 3 % 3],
        "rules": ("on", "on", "off")[seed // 2 % 3],
        "sharing": ("on", "on", "off")[seed // 5 % 3],
    }


def replayed(rows: list[tuple], key: tuple[int, ...] | None, at: int) -> Bag:
    """The relation after the changes up to an instant."""
    found: Bag = Counter()
    by_key: dict[tuple, tuple] = {}
    for op, ts, *row in rows:
        if ts > at:
            continue
        if key is None:
            found[tuple(row)] += -1 if op == "-" else 1
            continue
        named = tuple(row[i] for i in key)
        assert (named in by_key) == (op != "+"), (op, ts, row)
        by_key.pop(named, None)
        if op != "-":
            by_key[named] = tuple(row)
    return +found if key is None else Counter(by_key.values())


def check_changes(chain: Chain, folder: Path, settings: dict[str, str], restart: bool) -> None:
    """What every view emits, replayed up to any instant, is what it holds then."""
    script = chain.write(folder)
    tables = run_script(script, str(folder), settings, restart)
    try:
        check_tables(chain, tables, folder, script)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{settings}\n{script}") from None


def check_tables(chain: Chain, tables: Mapping[str, pa.Table], folder: Path, script: str) -> None:
    """Hold the changes of every view, at every instant, against what it holds."""
    known = Database(base=str(folder), tell=lambda text: None)
    known.execute(script)
    for name in chain.views:
        query = known.queries[name]
        told = tables.get(name if query.form == "streamed" else f"{name}.changes")
        rows = [] if told is None else list(zip(*(c.to_pylist() for c in told.columns)))
        names = query.plan.schema.names
        key = None if query.plan.key is None else tuple(map(names.index, query.plan.key))
        for at, bag in zip(chain.instants, chain.held[name]):
            assert replayed(rows, key, at) == bag, f"{name} at {at}"


def check_content(chain: Chain, folder: Path, settings: dict[str, str], seed: int) -> int:
    """What stored results hold, at the heartbeat and before, whenever somebody looks."""
    rng, looked = random.Random(seed), 0
    script = chain.write(folder).replace("STREAMED", "COMPLETE")
    database = Database(base=str(folder), tell=lambda text: None)
    for name, value in {**settings, "history": rng.choice(("off", "3", "100"))}.items():
        database.pin(name, value)
    database.execute(script)
    host = LocalHost(database.job(frozenset()), database.sources(follow=False), [])
    while not host.is_done:
        host.batch()
        if rng.random() < 0.3:
            host = host.restarted(folder / "state", rng.choice(STRATEGIES))
        snapshot = host.driver.snapshot
        for name in chain.views:
            beat, begins = snapshot.instant(name), snapshot.kept_since(name)
            for at, bag in zip(chain.instants, chain.held[name]):
                if at == beat or begins <= at < beat:
                    rows = snapshot.content(name, instant=None if at == beat else at)
                    found = Counter(zip(*(c.to_pylist() for c in rows.columns)))
                    assert found == bag, f"{name} at {at} of {beat}\n{settings}\n{script}"
                    looked += 1
    return looked


def check_joining(chain: Chain, folder: Path, settings: dict[str, str], seed: int) -> int:
    """Stored results that join a running job hold what they mean from then on; what a notice says
    begins with a part of the rows, and who reads that, is left out."""
    rng, looked = random.Random(seed), 0
    chain.write(folder)
    texts = [text.replace("STREAMED", "COMPLETE") for text in chain.statements]
    database = Database(base=str(folder), tell=lambda text: None)
    for name, value in settings.items():
        database.pin(name, value)
    waiting = len(texts) - rng.randint(1, 6)
    database.execute("\n".join(texts[:waiting]))
    host = LocalHost(database.job(frozenset()), database.sources(follow=False), [])
    joined: dict[str, int] = {}
    in_part: set[str] = set()
    while not host.is_done:
        host.batch()
        if rng.random() < 0.3:
            host = host.restarted(folder / "state", rng.choice(STRATEGIES))
        snapshot = host.driver.snapshot
        for name in set(chain.views) & set(database.queries) - in_part:
            beat = snapshot.instant(name) if snapshot.holds(database.queries[name]) else -1
            if beat in chain.instants and beat > joined.get(name, -1):
                rows = snapshot.content(name)
                found = Counter(zip(*(c.to_pylist() for c in rows.columns)))
                bag = chain.held[name][beat - chain.instants[0]]
                assert found == bag, f"{name} at {beat}\n{settings}\n{texts[waiting:]}\n{texts}"
                looked += name in joined
        if waiting < len(texts) and rng.random() < 0.6:
            text, name = texts[waiting], re.findall(r"(?:VIEW|STREAM) (\w+)", texts[waiting])[0]
            database.execute(text)
            told = host.change(database.job(frozenset()))
            if told or any(re.search(rf"\b{other}\b", text) for other in in_part):
                in_part.add(name)
            joined[name] = max(host.clock.beats.values())
            waiting += 1
    return looked


def test_a_few_quickly(tmp_path: Path) -> None:
    for seed in range(6):
        check_changes(random_chain(seed), tmp_path, settings_of(seed), restart=seed == 2)
        assert check_content(random_chain(seed), tmp_path, settings_of(seed), seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100, 100 + CASES, 20))
def test_views_on_views_are_what_they_mean(start: int, tmp_path: Path) -> None:
    for seed in range(start, start + 20):
        check_changes(random_chain(seed), tmp_path, settings_of(seed), restart=seed % 4 == 0)


@pytest.mark.slow
def test_views_that_join_a_running_job_hold_what_they_mean(tmp_path: Path) -> None:
    looked = 0
    for seed in range(90_000, 90_000 + 20 * SCALE):
        settings = settings_of(seed) | {"batch_rows": ("1", "2", "3")[seed % 3]}
        looked += check_joining(random_chain(seed), tmp_path / str(seed), settings, seed)
    assert looked > 20


@pytest.mark.slow
@pytest.mark.parametrize("start", range(50_000, 50_000 + CASES, 20))
def test_stored_results_hold_what_they_mean(start: int, tmp_path: Path) -> None:
    for seed in range(start, start + 20):
        check_content(random_chain(seed), tmp_path, settings_of(seed), seed)


def test_the_cases_have_what_matters() -> None:
    chains = [random_chain(seed) for seed in range(200)]
    contents = [chain.held[name] for chain in chains for name in chain.views]
    moves = [sum(a != b for a, b in pairwise(c)) for c in contents]
    assert sum(count > 2 for count in moves) > len(moves) / 3
    texts = [text for chain in chains for text in chain.statements]
    for word in ("R(v", ", y", "SELECT TS", "INTERSECT SELECT * FROM y", "EXISTS", "[Range"):
        assert sum(word in text for text in texts) > 10, word
