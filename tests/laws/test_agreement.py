"""The engine agrees with the oracle on generated scripts, whatever must not matter."""

import pytest

from laws.engine import outcome, shrunk
from laws.scale import SCALE
from oracle.generate import FOCUSES, random_case

CHUNK = 50
CASES = 200 * SCALE
STRATEGIES = ("update_pattern", "negative", "direct")
CONFIGURATIONS = {
    "one row per batch": {"batch_rows": "1"},
    "batches of three, seven buckets": {"batch_rows": "3", "buckets": "7"},
    "one bucket, cleared early": {"buckets": "1", "batch_rows": "9", "lazy": "1"},
    "rules off": {"rules": "off", "batch_rows": "5"},
    "negations told by negative rows": {"negation": "negative", "batch_rows": "4"},
}
PER_CONFIGURATION = 20 * SCALE
PER_FOCUS = 9 * SCALE


def check(seed: int, settings: dict[str, str], restart=False, only: str | None = None) -> None:
    """Compare one case; a failing one is shrunk and shown as a script with its files."""
    case = random_case(seed, only)
    if outcome(case, settings, restart) is not None:
        pytest.fail(f"{only or 'any'} {seed}, {settings}: {shrunk(case, settings, restart)}")


@pytest.mark.parametrize("focus", FOCUSES)
def test_a_few_cases_quickly(focus: str) -> None:
    for seed in range(90_000, 90_004):
        check(seed, {"batch_rows": "7"}, only=focus)


def test_streams_in_seconds_beside_timestamps() -> None:
    """Few of the cases have them, so some are sought out."""
    cases = ((seed, random_case(seed)) for seed in range(500_000, 500_200))
    found = [seed for seed, case in cases if any(s.in_seconds for s in case.streams)]
    assert len(found) > 5
    for seed in found[:5]:
        check(seed, {"batch_rows": "3"})


@pytest.mark.slow
@pytest.mark.parametrize("focus", FOCUSES)
def test_every_construct_agrees(focus: str) -> None:
    for seed in range(PER_FOCUS):
        check(seed, {"batch_rows": "6", "strategy": STRATEGIES[seed % 3]}, only=focus)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, CASES, CHUNK))
def test_the_engine_agrees_with_the_oracle(start: int) -> None:
    for seed in range(start, start + CHUNK):
        check(seed, {"strategy": STRATEGIES[seed % 3]})


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_what_must_not_matter_does_not(name: str) -> None:
    first = 10_000 + 1_000 * list(CONFIGURATIONS).index(name)
    for seed in range(first, first + PER_CONFIGURATION):
        check(seed, CONFIGURATIONS[name])


@pytest.mark.slow
def test_steps_inside_a_batch_do_not_matter(monkeypatch) -> None:
    monkeypatch.setattr("millstream.engine.level.STEP_ROWS", 3)
    monkeypatch.setattr("millstream.engine.level.SEARCHING", 1)
    for seed in range(30_000, 30_000 + PER_CONFIGURATION):
        check(seed, {"batch_rows": "20"})


@pytest.mark.slow
def test_a_restart_after_every_batch_does_not_matter() -> None:
    for seed in range(20_000, 20_000 + PER_CONFIGURATION):
        check(seed, {"batch_rows": "4"}, restart=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "turns", ["negative direct", "direct update_pattern update_pattern", "all"]
)
def test_another_strategy_after_every_batch_does_not_matter(turns: str) -> None:
    chosen = STRATEGIES[::-1] if turns == "all" else tuple(turns.split())
    for seed in range(40_000, 40_000 + PER_CONFIGURATION):
        negation = ("negative", "ends", "measured")[seed % 3]
        check(seed, {"batch_rows": "5", "negation": negation}, restart=chosen)


@pytest.mark.slow
def test_large_structures_are_the_same_as_small_ones(monkeypatch) -> None:
    for name, value in (("PAGE_ROWS", 2), ("FEWEST_PAGES", 1), ("MOST_CHUNKS", 2)):
        monkeypatch.setattr(f"millstream.state.waiting.{name}", value)
    monkeypatch.setattr("millstream.state.emitted_values.MANY", 3)
    monkeypatch.setattr("millstream.operators.coalesce.FEW", 1)
    monkeypatch.setattr("millstream.state.index.SMALL", 2)
    for name, value in (("MUCH", 1), ("RARELY", 0), ("OFTEN", 0)):
        monkeypatch.setattr(f"millstream.state.by_key.{name}", value)
    monkeypatch.setattr("millstream.operators.retract.MANY", 1)
    for seed in range(50_000, 50_000 + PER_CONFIGURATION):
        check(seed, {"batch_rows": "6"})
