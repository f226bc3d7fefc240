"""Sharing changes no answer: with it, without it, and by the oracle, on queries that have much in
common; also where it would not pay."""

from random import Random

import pytest

from laws.engine import outcome, shrunk
from laws.scale import SCALE
from oracle.generate_sharing import sharing_case

FEW, MANY = 60, 2_000
CASES = FEW if SCALE == 1 else MANY
SETTINGS = (
    {"batch_rows": "5"},
    {"batch_rows": "3", "buckets": "5", "strategy": "negative"},
    {"batch_rows": "50", "strategy": "direct"},
    {"batch_rows": "4", "rules": "off"},
    {"batch_rows": "4", "sharing": "off"},
)


@pytest.fixture
def shared(monkeypatch) -> list[str]:
    """Everything is shared that can be; gives the queries that are."""
    found: list[str] = []

    def pays(plan, shared, *others) -> bool:
        found.extend(shared.over)
        return True

    def in_common(group, *others) -> bool:
        found.append("common")
        return True

    monkeypatch.setattr("millstream.sharing.rewriting.is_cheaper", pays)
    monkeypatch.setattr("millstream.sharing.common._pays", in_common)
    return found


def check(
    seed: int, settings: dict[str, str], restart: bool = False, synchronized: bool = False
) -> None:
    case = sharing_case(Random(f"sharing {seed}"), synchronized)
    if outcome(case, settings, restart) is not None:
        pytest.fail(f"{seed}, {settings}: {shrunk(case, settings, restart)}")


def test_a_few_queries_that_contain_others(shared: list[str]) -> None:
    for seed in range(50_000, 50_012):
        check(seed, SETTINGS[seed % len(SETTINGS)])
    assert len(shared) > 3


def test_a_few_queries_at_points_of_others(shared: list[str]) -> None:
    for seed in range(60_000, 60_016):
        check(seed, SETTINGS[seed % len(SETTINGS)], synchronized=True)
    assert len(shared) > 3


@pytest.mark.slow
def test_sharing_of_synchronized_queries_agrees_with_the_oracle(shared: list[str]) -> None:
    for seed in range(CASES):
        check(seed, SETTINGS[seed % len(SETTINGS)], seed % 7 == 0, synchronized=True)
    assert len(shared) > CASES // 6


@pytest.mark.slow
def test_sharing_agrees_with_the_oracle(shared: list[str]) -> None:
    for seed in range(CASES):
        check(seed, SETTINGS[seed % len(SETTINGS)])
    assert len(shared) > CASES // 6


@pytest.mark.slow
def test_a_restart_after_every_batch_does_not_matter_to_sharing(shared: list[str]) -> None:
    for seed in range(100_000, 100_000 + CASES // 8):
        check(seed, {"batch_rows": "4"}, restart=True)
