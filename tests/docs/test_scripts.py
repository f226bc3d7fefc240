"""The scripts in examples/ run, and give what stands in tests/docs/answers/."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.examples import ROOT, as_csv
from millstream.testing import run_script

SCRIPTS = sorted((ROOT / "examples").glob("*.sql"))
ANSWERS = Path(__file__).with_name("answers")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_script_gives_its_answers(script: Path) -> None:
    results = run_script(script.read_text(), script.parent)
    kept = {path.name.removesuffix(".csv"): path for path in (ANSWERS / script.stem).glob("*.csv")}
    assert kept, f"no answers are kept for {script.name}"
    for name, path in kept.items():
        assert as_csv(results[name]) == path.read_text(), name


def test_the_list_of_examples_is_whole() -> None:
    listed = (ROOT / "examples" / "README.md").read_text()
    assert all(f"({script.name})" in listed for script in SCRIPTS)
