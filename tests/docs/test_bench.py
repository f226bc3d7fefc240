"""The benchmark keeps step with the code: its modules import, and its operators run."""

from __future__ import annotations

import importlib
import sys

import pytest

from docs.layers import ROOT

MODULES = sorted(path.stem for path in (ROOT / "bench").glob("[a-z]*.py"))


@pytest.fixture(autouse=True)
def from_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    sys.modules.pop("bench", None)


@pytest.mark.parametrize("name", [*MODULES, "__main__"])
def test_a_module_of_the_benchmark_imports(name: str) -> None:
    assert importlib.import_module(f"bench.{name}").__doc__


def test_a_query_runs_in_the_operators_alone() -> None:
    operators = importlib.import_module("bench.in_operators")
    strategies = importlib.import_module("bench.strategies")
    text = strategies.QUERIES["4"].replace("{form}", "COMPLETE").replace("{window}", "50")
    run = operators.Run.of(text, 50, strategies.STRATEGIES["update_pattern"])
    for _ in range(3):
        assert run.batch(20) >= 0
    assert run.figures()["state rows"] > 0
