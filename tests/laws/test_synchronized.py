"""Synchronized relations agree with their definition, whatever must not matter."""

import pytest

from laws.engine import outcome, shrunk
from laws.scale import SCALE
from oracle.generate_syncs import synchronized_case

CHUNK = 50
CASES = 100 if SCALE == 1 else 1_000
STRATEGIES = ("update_pattern", "negative", "direct")


def settings_of(seed: int) -> dict[str, str]:
    return {
        "strategy": STRATEGIES[seed % 3],
        "batch_rows": ("1", "4", "9", "auto")[seed % 4],
        "buckets": ("1", "2", "7")[seed // 3 % 3],
        "rules": ("on", "on", "off")[seed // 2 % 3],
        "placement": ("auto", "driver", "executors")[seed // 5 % 3],
    }


def check(seed: int, restart=False) -> None:
    case = synchronized_case(seed)
    settings = settings_of(seed)
    if outcome(case, settings, restart) is not None:
        pytest.fail(f"{seed}, {settings}: {shrunk(case, settings, restart)}")


def test_a_few_quickly() -> None:
    for seed in range(900_000, 900_012):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, CASES, CHUNK))
def test_synchronized_relations_agree_with_the_oracle(start: int) -> None:
    for seed in range(start, start + CHUNK):
        check(seed, restart=seed % 7 == 0)


@pytest.mark.slow
def test_steps_inside_a_batch_do_not_matter(monkeypatch) -> None:
    monkeypatch.setattr("millstream.engine.level.STEP_ROWS", 3)
    monkeypatch.setattr("millstream.operators.sync.FEW", 1)
    for seed in range(50_000, 50_000 + CHUNK):
        check(seed)
