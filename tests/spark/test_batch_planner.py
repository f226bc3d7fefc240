"""The batch planner: what a client says, or does not say, never ends a run."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from millstream.database import Database
from millstream.spark.batch_planner import BatchPlanner
from millstream.spark.job_snapshot import JobSnapshot

NONSENSE = [
    b"\n",
    b"what is next?\n",
    b"{}\n",
    b"17\n",
    b'"not a plan"\n',
    b'"[]"\n',
    b'"{}"\n',
    json.dumps(json.dumps({"positions": {"bids": 3}, "now": 0})).encode() + b"\n",
    json.dumps(json.dumps({"positions": {}, "now": "noon"})).encode() + b"\n",
    b"\xff\xfe\n",
]


@pytest.fixture
def snapshot(tmp_path: Path) -> JobSnapshot:
    (tmp_path / "bids.csv").write_text("item,ts\n1,1\n2,2\n")
    session = Database(base=str(tmp_path))
    session.execute(
        "CREATE STREAM bids (item bigint, ts bigint) ORDER BY ts SOURCE 'bids.csv';"
        "SELECT item FROM bids;"
    )
    return JobSnapshot(session.job(), False, 2, "", frozenset())


@pytest.fixture
def failures() -> list[BaseException]:
    return []


@pytest.fixture
def planner(snapshot: JobSnapshot, failures: list[BaseException]):
    planner = BatchPlanner(lambda: snapshot, failures.append, lambda: 1_000_000)
    yield planner
    planner.close()


def talk(planner: BatchPlanner) -> socket.socket:
    line = socket.socket(socket.AF_UNIX)
    line.settimeout(10)
    line.connect(planner.address)
    return line


def ask(planner: BatchPlanner, question: bytes) -> dict[str, str]:
    with talk(planner) as line, line.makefile("rb") as heard:
        line.sendall(question)
        return json.loads(heard.readline())


def reads(planner: BatchPlanner) -> list:
    """The read tasks of the first batch, as a client of good manners gets them."""
    start = ask(planner, b"null\n")["plan"]
    plan = ask(planner, json.dumps(start).encode() + b"\n")["plan"]
    return json.loads(plan)["tasks"]


@pytest.mark.parametrize("question", NONSENSE)
def test_nonsense_is_answered_by_an_error_and_ends_nothing(planner, failures, question) -> None:
    assert "error" in ask(planner, question)
    assert failures == []
    assert len(reads(planner)) == 1


def test_a_client_that_is_gone_before_it_has_asked_is_ignored(planner, failures) -> None:
    for said in (b"", b"nul", b'"{'):
        with talk(planner) as line:
            line.sendall(said)
    assert len(reads(planner)) == 1 and failures == []


def test_a_client_that_is_gone_before_the_answer_is_ignored(planner, failures, capfd) -> None:
    for _ in range(20):
        line = talk(planner)
        line.sendall(b"null\n")
        line.close()
    assert len(reads(planner)) == 1 and failures == []
    assert capfd.readouterr().err == ""


def test_a_client_that_says_nothing_keeps_nobody_waiting(snapshot, failures) -> None:
    planner = BatchPlanner(lambda: snapshot, failures.append, lambda: 1_000_000)
    with talk(planner), talk(planner):
        assert len(reads(planner)) == 1
        planner.close()
    assert failures == []


def test_a_source_that_cannot_be_planned_ends_the_run_with_its_reason(
    planner, failures, tmp_path: Path
) -> None:
    start = ask(planner, b"null\n")["plan"]
    (tmp_path / "bids.csv").unlink()
    answer = ask(planner, json.dumps(start).encode() + b"\n")
    assert len(failures) == 1 and answer["error"] == str(failures[0])
