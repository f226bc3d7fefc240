"""A plan does not change under its state: neither when rules do, nor by what is measured."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest

from engine.checkpointed import Checkpointed
from files.conftest import *  # noqa: F403
from millstream import rules
from millstream.algebra.node import Node
from millstream.engine.checkpoint import Checkpoint
from millstream.errors import MillstreamError
from millstream.files import Folder

SCRIPT = """
CREATE STREAM a (ts int, k int, v int) ORDER BY ts SOURCE 'a.csv';
CREATE STREAM b (ts int, k int, v int) ORDER BY ts SOURCE 'b.csv';
CREATE TABLE names (k int, name string);
INSERT INTO names VALUES (1, 'one'), (2, 'two'), (3, 'three');
CREATE VIEW sums AS SELECT k, count(*) AS n, sum(v) AS total FROM a [Range 9] WHERE v > 3
  GROUP BY k;
CREATE VIEW pairs AS SELECT STREAMED a.k, b.v, name FROM a [Range 6] a, b [Range 6] b, names n
  WHERE a.k = b.k AND n.k = a.k AND a.v > 2
  AND NOT EXISTS (SELECT 1 FROM b [Range 2] c WHERE c.v = a.v);
SELECT STREAMED DISTINCT k FROM b [Range 5] WHERE v > 1;
SELECT k, total FROM sums WHERE total > 20;
"""
SETTINGS = {"batch_rows": "30", "buckets": "2"}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    for name, factor in (("a", 7), ("b", 5)):
        rows = [f"{n // 3},{n * factor % 6},{n * factor % 11}" for n in range(150)]
        (folder / f"{name}.csv").write_text("\n".join(["ts,k,v", *rows]) + "\n")
    return folder


def plans(run: Checkpointed) -> dict[str, tuple[Node, ...]]:
    job = run.driver.job
    return {q.name: job.roots_of(q.name) for q in job.queries}


def answers(*runs: Checkpointed) -> dict[str, list]:
    found: dict[str, list] = {}
    for run in runs:
        for name, table in run.kept.tables().items():
            found.setdefault(name, []).extend(table.to_pylist())
    return found


def without(*names: str):
    """Other rules: some are gone."""

    def change(monkeypatch: pytest.MonkeyPatch) -> None:
        for family in ("FIRST", "MAIN", "LAST"):
            kept = [rule for rule in getattr(rules, family) if rule.__name__ not in names]
            monkeypatch.setattr(rules, family, tuple(kept))

    return change


def with_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other rules: one more, which puts filters back where they came from."""
    fewer = [rule for rule in rules.MAIN if rule.__name__ != "push_filter_below_window"]
    monkeypatch.setattr(rules, "MAIN", (*fewer, *rules.OTHER_WAY))


@pytest.mark.parametrize(
    "change",
    [
        without("push_filter_below_window", "prune_columns", "push_filter_into_source"),
        without("aggregate_in_two_phases", "coalesce_before_distinct", "order_joins"),
        with_another,
    ],
)
def test_changed_rules_change_no_plan_under_its_state(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change
) -> None:
    whole = Checkpointed(SCRIPT, base, tmp_path / "whole", SETTINGS)
    whole.go()
    first = Checkpointed(SCRIPT, base, tmp_path / "checkpoint", SETTINGS)
    first.go(4)
    before = plans(first)
    change(monkeypatch)
    fresh = Checkpointed(SCRIPT, base, tmp_path / "fresh", SETTINGS)
    assert plans(fresh) != before, "the rules make other plans by now"
    second = Checkpointed(SCRIPT, base, tmp_path / "checkpoint", SETTINGS)
    assert second.notices == [] and plans(second) == before
    second.go()
    assert answers(first, second) == answers(whole)


def test_another_strategy_takes_up_the_same_plans(base: Path, tmp_path: Path) -> None:
    whole = Checkpointed(SCRIPT, base, tmp_path / "whole", SETTINGS)
    whole.go()
    runs = []
    for strategy in ("update_pattern", "negative", "direct", "update_pattern"):
        settings = {**SETTINGS, "strategy": strategy}
        runs.append(Checkpointed(SCRIPT, base, tmp_path / "checkpoint", settings))
        runs[-1].go(3 if len(runs) < 4 else 1000)
        assert runs[-1].driver.job.plan_texts == runs[0].driver.job.plan_texts
    found, wanted = answers(*runs), answers(whole)
    assert found.keys() == wanted.keys()
    assert all(sorted(map(str, found[n])) == sorted(map(str, wanted[n])) for n in wanted)


def test_a_plan_of_another_version_starts_fresh(base: Path, tmp_path: Path) -> None:
    first = Checkpointed(SCRIPT, base, tmp_path / "checkpoint", SETTINGS)
    first.go(3)
    path = max((tmp_path / "checkpoint" / "commits").glob("*.json"))
    fields = json.loads(path.read_bytes().partition(b"\n")[2])
    fields["plans"]["sums"] = [t.replace("GroupBy", "Cluster") for t in fields["plans"]["sums"]]
    body = json.dumps(fields).encode()
    path.write_bytes(b"%08x\n" % zlib.crc32(body) + body)
    with pytest.raises(MillstreamError, match="it has a plan there that this version"):
        Checkpointed(SCRIPT, base, tmp_path / "checkpoint", SETTINGS)
    second = Checkpointed(SCRIPT, base, tmp_path / "checkpoint", SETTINGS, restart=("sums", "q2"))
    assert second.notices == [
        f'query "{name}" begins with the content it has now; its earlier result is kept'
        for name in ("sums", "q2")
    ]
    assert plans(second)["pairs"] == plans(first)["pairs"]
    second.go()


def test_a_run_goes_on_in_any_folder(base: Path, folder: Folder, tmp_path: Path) -> None:
    if folder.url.startswith(("local:", "subtree:")):
        pytest.skip("workers open states by URL")
    whole = Checkpointed(SCRIPT, base, tmp_path / "whole", SETTINGS)
    whole.go()
    first = Checkpointed(SCRIPT, base, folder, SETTINGS)
    first.go(4)
    second = Checkpointed(SCRIPT, base, folder, SETTINGS)
    second.go()
    assert answers(first, second) == answers(whole)
    commit = Checkpoint(folder).last()
    assert commit is not None and commit.plans.keys() == {"sums", "pairs", "q1", "q2"}
