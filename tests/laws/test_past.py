"""AS OF gives what a replay of the changes gives, as far back as the history reaches."""

import random
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from laws.scale import SCALE
from millstream.database import Database
from millstream.engine.outputs import COMPLETE, Query
from millstream.local.host import LocalHost
from millstream.testing.run import KeptResults
from oracle.generate import FOCUSES, random_case, write

STRATEGIES = ("update_pattern", "negative", "direct")
PER_FOCUS = SCALE
LENGTHS = ("1", "4", "1000", "1 second", "3 minutes", "1000 days", "off")


def replayed(query: Query, changes: list[tuple], instant: int) -> Counter:
    """The rows that the changes up to an instant leave, op and instant first."""
    key = query.changes_root.key
    places = None if key is None else [query.plan.schema.names.index(name) for name in key]
    by_key: dict[tuple, tuple] = {}
    whole: Counter = Counter()
    for op, ts, *rest in changes:
        row = tuple(map(repr, rest))
        if ts > instant:
            break
        if places is None:
            whole[row] += 1 if op == "+" else -1
            continue
        name = tuple(row[i] for i in places)
        if op == "-":
            del by_key[name]
        else:
            by_key[name] = row
    return +whole if places is None else Counter(by_key.values())


def told_so_far(kept: KeptResults, query: Query) -> list[tuple]:
    """The changes of a query in order, instants as integers."""
    rows: list[tuple] = []
    for batch in kept.parts.get(f"{query.name}.changes", []):
        columns = [batch.column(0), batch.column(1).cast("int64"), *batch.columns[2:]]
        rows += zip(*(column.to_pylist() for column in columns))
    return rows


def check(case, seed: int, folder: Path) -> int:
    """Compare random instants after every batch; gives how many were before the last one."""
    rng, earlier = random.Random(seed), 0
    script = write(case, folder)
    database = Database(base=str(folder), tell=lambda text: None)
    database.execute(f"SET batch_rows = {rng.choice((1, 4, 20))}; SET buckets = 2;")
    database.execute(script.read_text())
    stored = [q for q in database.queries.values() if q.form == COMPLETE]
    kept = KeptResults()
    every = database.job(frozenset(q.name for q in stored))
    told = LocalHost(every, database.sources(follow=False), [kept])
    host = LocalHost(database.job(frozenset()), database.sources(follow=False), [])
    while not told.is_done:
        if rng.random() < 0.3:
            job = database.job(frozenset())
            settings = replace(host.job.settings, history=rng.choice(LENGTHS))
            host.change(replace(job, settings=settings))
        if rng.random() < 0.3:
            host = host.restarted(folder / "state", rng.choice(STRATEGIES))
        told.batch()
        host.batch()
        snapshot = host.driver.snapshot
        for query in stored:
            beat, begins = snapshot.instant(query.name), snapshot.kept_since(query.name)
            changes = told_so_far(kept, query)
            instants = {ts for _, ts, *_ in changes if begins <= ts <= beat}
            some = rng.sample(sorted(instants), min(4, len(instants)))
            for instant in {beat, max(begins, beat - 1), *some, *(at - 1 for at in some)}:
                if begins <= instant <= beat:
                    rows = snapshot.content(query.name, instant=instant)
                    cells = zip(*(column.to_pylist() for column in rows.columns))
                    found = Counter(tuple(map(repr, row)) for row in cells)
                    expected = replayed(query, changes, instant)
                    assert found == expected, f"{seed} {query.name} at {instant} of {beat}"
                    earlier += instant < beat
    return earlier


@pytest.mark.slow
@pytest.mark.parametrize("focus", FOCUSES)
def test_generated_results(focus: str) -> None:
    for seed in range(PER_FOCUS):
        with tempfile.TemporaryDirectory() as folder:
            check(random_case(seed + 800_000, focus), seed, Path(folder))


def test_earlier_instants_are_looked_at() -> None:
    with tempfile.TemporaryDirectory() as folder:
        cases = ((random_case(seed, "scalar"), seed) for seed in range(800_000, 800_002))
        assert sum(check(case, seed - 800_000, Path(folder)) for case, seed in cases) > 10
