"""The local host on a checkpoint: killed at any moment, it ends with the same bytes."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from local.script import Script, files, write_bids

SETTINGS = ("--changes", "--set", "batch_rows=20")


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole")
    write_bids(folder, 600)
    done = Script(folder).start(*SETTINGS, "--close")
    assert done.wait(60) == 0, done.stdout and done.stdout.read()
    return files(folder / "out")


@pytest.mark.slow
def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(tmp_path: Path, whole) -> None:
    write_bids(tmp_path, 600)
    script, kills = Script(tmp_path), 0
    commits, words = script.checkpoint / "commits", (*SETTINGS, "--close")
    for turn in range(8):
        run, before = script.start(*words), _last(commits)
        until = time.monotonic() + 30
        while run.poll() is None and _last(commits) < before + 1 + turn % 3:
            assert time.monotonic() < until
            time.sleep(0.001)
        time.sleep(0.003 * (turn % 5))
        if run.poll() is not None:
            break
        run.send_signal(signal.SIGKILL)
        run.wait()
        kills += 1
    run = script.start(*words)
    assert run.wait(60) == 0, run.stdout and run.stdout.read()
    assert kills >= 5
    assert files(script.out) == whole


def _last(commits: Path) -> int:
    return max((int(path.stem) for path in commits.glob("*.json")), default=-1)


def test_a_run_that_ended_goes_on_with_what_is_new(tmp_path: Path, capfd) -> None:
    """One run reads half of the rows, one the rest, one lets time go on. The rows are in order: the
    end of bounded input is a promise, and what lies before it is late afterwards."""
    halves, whole = Script(tmp_path / "halves"), Script(tmp_path / "whole")
    rows = [f"{i * i % 11},{i * 37 % 101 / 10},{i}\n" for i in range(300)]
    for script in (halves, whole):
        script.folder.mkdir()
        write_bids(script.folder, 1)
        (script.folder / "bids.csv").write_text("item,price,ts\n" + "".join(rows))
    assert whole.run(capfd, *SETTINGS, "--close")[0] == 0
    (halves.folder / "bids.csv").write_text("item,price,ts\n" + "".join(rows[:150]))
    assert halves.run(capfd, *SETTINGS)[0] == 0
    (halves.folder / "bids.csv").write_text("item,price,ts\n" + "".join(rows))
    code, said = halves.run(capfd, *SETTINGS)
    assert code == 0 and "7 windows are still open at the end of the input" in said
    code, said = halves.run(capfd, *SETTINGS, "--close")
    assert code == 0 and "still open" not in said
    assert files(halves.out) == files(whole.out)


def test_a_batch_that_was_planned_is_read_again_as_it_was(tmp_path: Path, capfd) -> None:
    """The plan of a batch is on the checkpoint before the batch begins."""
    write_bids(tmp_path, 100)
    script = Script(tmp_path)
    assert script.run(capfd, *SETTINGS)[0] == 0
    first = files(script.out)
    last = _last(script.checkpoint / "commits")
    (script.checkpoint / "commits" / f"{last:012d}.json").unlink()
    assert (script.checkpoint / "plans" / f"{last:012d}.json").exists()
    assert script.run(capfd, *SETTINGS)[0] == 0
    assert files(script.out) == first


def test_another_host_is_refused_by_name_before_it_starts(tmp_path: Path, capfd) -> None:
    write_bids(tmp_path, 50)
    script = Script(tmp_path)
    assert script.run(capfd)[0] == 0
    code, said = script.run(capfd, "--host", "spark")
    assert code == 1
    assert "was made by the local host, and the spark host cannot go on from it" in said
    assert "hint: Write --host local, or start anew with another --checkpoint." in said


def test_a_stream_without_a_source_does_not_keep_windows_open(tmp_path: Path, capfd) -> None:
    (tmp_path / "bids.csv").write_text("t\n1\n")
    empty = "CREATE STREAM empty (t int) ORDER BY t;"
    bids = "CREATE STREAM bids (t int) ORDER BY t SOURCE 'bids.csv';"
    script = Script(tmp_path, empty + bids + "SELECT Dstream(t) FROM bids [Range 4];")
    code, said = script.run(capfd)
    assert code == 0 and "1 window is still open at the end of the input" in said
    assert script.rows("q1") == []
    assert script.run(capfd, "--close")[0] == 0
    assert script.rows("q1") == ["6,1"]


def test_tables_that_statements_change_go_on(tmp_path: Path, capfd) -> None:
    (tmp_path / "bids.csv").write_text("t,k\n1,1\n2,2\n")
    declared = (
        "CREATE TABLE names (k int, name string);"
        "INSERT INTO names VALUES (1, 'lamp') AT 0; INSERT INTO names VALUES (2, 'vase') AT 3;"
        "CREATE STREAM bids (t int, k int) ORDER BY t SOURCE 'bids.csv';"
    )
    join = "SELECT STREAMED b.t, name FROM bids b, names n WHERE b.k = n.k;"
    script = Script(tmp_path, declared + join)
    assert script.run(capfd)[0] == 0
    with open(tmp_path / "bids.csv", "a") as file:
        file.write("4,1\n")
    assert script.run(capfd)[0] == 0
    assert script.rows("q1") == ["+,1,1,lamp", "+,3,2,vase", "+,4,4,lamp"]
