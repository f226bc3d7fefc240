"""The auction house: answers that are kept, agree with the oracle, and follow from no setting."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.answers import EXAMPLES, answers_of, script_of, texts_of
from examples.auction_spec import QUERIES, auction
from millstream.testing import run_script
from oracle.compare import differences, read_result
from oracle.evaluate import Result, evaluate
from spark.command import run
from spark.running import run_on_spark

SCRIPT = script_of("auction")
SETTINGS = [
    pytest.param({}, id="default"),
    pytest.param({"rules": "off", "batch_rows": "17"}, id="as written"),
    pytest.param({"buckets": "7", "batch_rows": "9"}, id="seven buckets", marks=pytest.mark.slow),
    pytest.param({"batch_rows": "1"}, id="row by row", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module")
def oracle() -> dict[str, Result]:
    return evaluate(auction())


@pytest.mark.parametrize("settings", SETTINGS)
def test_the_answers_are_as_kept(settings: dict[str, str]) -> None:
    results = run_script(SCRIPT.read_text(), SCRIPT.parent, settings)
    assert texts_of(results) == answers_of("auction")


def test_the_command_writes_them(tmp_path: Path) -> None:
    run("run", SCRIPT, "--host", "local", "--out", tmp_path, "--changes")
    found = {path.name.removesuffix(".csv"): path.read_text() for path in tmp_path.glob("*.csv")}
    kept = answers_of("auction")
    assert kept == {name: text for name, text in found.items() if name in kept}
    assert all(text.count("\n") == 1 for name, text in found.items() if name not in kept)


@pytest.mark.slow
def test_the_answers_survive_a_restart_after_every_batch() -> None:
    results = run_script(SCRIPT.read_text(), SCRIPT.parent, {"batch_rows": "20"}, restart=True)
    assert texts_of(results) == answers_of("auction")


@pytest.mark.spark
@pytest.mark.slow
def test_the_answers_on_spark(spark) -> None:
    results = run_on_spark(spark, SCRIPT.read_text(), SCRIPT.parent, {"batch_rows": "40"})
    assert texts_of(results) == answers_of("auction")


@pytest.mark.slow
def test_the_oracle_knows_every_answer(oracle: dict[str, Result]) -> None:
    names = {name for name, result in oracle.items() if result.kind != "rows"}
    assert names == set(answers_of("auction"))


@pytest.mark.slow
@pytest.mark.parametrize("name", QUERIES)
def test_the_oracle_agrees(oracle: dict[str, Result], name: str) -> None:
    folder = EXAMPLES / "auction" / "answers"
    for result in (name, f"{name}.changes"):
        if result in oracle:
            kept = read_result(folder, result, oracle[result])
            assert differences(oracle[result], kept) is None


def test_two_ways_to_ask_one_question() -> None:
    kept = answers_of("auction")
    assert kept["valuable"] == kept["valuable_now"]
    assert kept["lively"] == kept["lively_filtered"]
    assert kept["lively.changes"] == kept["lively_filtered.changes"]
    assert kept["hammer"] == kept["hammer_by_default"]
    assert kept["from_dunmere"] != kept["from_dunmere_ever"]
