"""`millstream run`: where scripts come from, and what is printed where."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import STREAM
from cli.shell import Shell

LOCAL = ("--host", "local")
DEAR = "SELECT Istream(item, price) FROM bids [Now] WHERE price > 30"
TOPS = "SELECT item, max(price) AS top FROM bids GROUP BY item"
COMMAND = [sys.executable, "-m", "millstream.cli.main"]


def test_statements_of_the_command_line(shell: Shell, bids: Path) -> None:
    assert shell("run", *LOCAL, "-e", STREAM, "-e", DEAR) == 0
    assert shell.out == "ts,item,price\n2,clock,35.0\n8,kite,40.0\n"
    assert shell("run", bids, *LOCAL, "-e", f"{DEAR} -- no semicolon") == 0
    assert shell.out == "ts,item,price\n2,clock,35.0\n8,kite,40.0\n"


def test_lines_of_the_command_line_count_by_themselves(shell: Shell, bids: Path) -> None:
    assert shell("run", bids, *LOCAL, "-e", "SELECT pric FROM bids") == 1
    assert shell.err.splitlines()[1:3] == ["   1 | SELECT pric FROM bids", "     |        ^^^^"]


def test_paths_are_relative_to_the_script(
    shell: Shell, bids: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bids.parent / "other").mkdir()
    monkeypatch.chdir(bids.parent / "other")
    assert shell("run", bids, *LOCAL, "-e", DEAR) == 0
    assert shell("run", *LOCAL, "-e", STREAM, "-e", DEAR) == 1
    assert "does not exist" in shell.err and "^^" in shell.err


@pytest.mark.parametrize("command", ["run", "explain", "check"])
def test_a_script_on_standard_input(
    shell: Shell, bids: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    given = io.TextIOWrapper(io.BytesIO(f"{STREAM}SELECT pric FROM bids;".encode()))
    monkeypatch.setattr(sys, "stdin", given)
    assert shell(command, "-") == 1
    assert 'column "pric" does not exist' in shell.out + shell.err
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff")))
    assert shell(command, "-") == 1
    assert shell.err.startswith("the script on standard input is not text in UTF-8: see line 1\n")


def test_lines_of_several_results_say_whose_they_are(shell: Shell, bids: Path) -> None:
    assert shell("run", bids, *LOCAL, "-e", DEAR, "-e", TOPS) == 0
    assert shell.out == (
        "q1,ts,item,price\nq1,2,clock,35.0\nq1,8,kite,40.0\n"
        "q2,item,top\nq2,clock,35.0\nq2,kite,40.0\nq2,lamp,25.0\n"
    )
    assert shell("run", bids, *LOCAL, "-e", DEAR, "-e", TOPS, "--format", "jsonl") == 0
    assert shell.out.splitlines()[:2] == [
        '{"query":"q1","ts":2,"item":"clock","price":35.0}',
        '{"query":"q1","ts":8,"item":"kite","price":40.0}',
    ]
    assert shell("run", bids, *LOCAL, "-e", DEAR, "-e", TOPS, "--query", "Q2") == 0
    assert shell.out == "item,top\nclock,35.0\nkite,40.0\nlamp,25.0\n"


def test_a_result_without_rows_has_its_head(shell: Shell, bids: Path) -> None:
    nothing = f"{DEAR} AND price > 99"
    assert shell("run", bids, *LOCAL, "-e", nothing) == 0
    assert shell.out == "ts,item,price\n"
    assert shell("run", bids, *LOCAL, "-e", nothing, "--format", "table") == 0
    assert shell.out == "q1\nts  item  price\n--  ----  -----\n(no rows)\n"


def test_changes_of_a_stored_result_are_printed_if_asked_for(shell: Shell, bids: Path) -> None:
    assert shell("run", bids, *LOCAL, "-e", TOPS, "--changes") == 0
    lines = shell.out.splitlines()
    assert lines[:3] == ["q1.changes,op,ts,item,top", "q1.changes,+,1,lamp,20.0",
                         "q1.changes,+,2,clock,35.0"]  # fmt: skip
    assert lines[-4:] == ["q1,item,top", "q1,clock,35.0", "q1,kite,40.0", "q1,lamp,25.0"]


def test_tables(shell: Shell, bids: Path) -> None:
    assert shell("run", bids, *LOCAL, "-e", DEAR, "-e", TOPS, "--format", "table") == 0
    assert shell.out == (
        "q1\n"
        "ts  item   price\n"
        "--  -----  -----\n"
        " 2  clock   35.0\n"
        " 8  kite    40.0\n"
        "\n"
        "q2\n"
        "item    top\n"
        "-----  ----\n"
        "clock  35.0\n"
        "kite   40.0\n"
        "lamp   25.0\n"
    )


def test_rows_of_later_batches_go_on_below_those_before(shell: Shell, bids: Path) -> None:
    small = ("--set", "batch_rows=1")
    assert shell("run", bids, *LOCAL, *small, "-e", DEAR, "--format", "table") == 0
    assert shell.out.count("ts  item   price\n") == 1


def test_a_pipe_gets_every_row(shell: Shell, bids: Path) -> None:
    rows = "".join(f"{i},item{i},1\n" for i in range(5_000))
    (bids.parent / "bids.csv").write_text(f"at,item,price\n{rows}")
    for form, others in (("csv", 1), ("jsonl", 0), ("table", 3)):
        assert shell("run", bids, *LOCAL, "-e", "SELECT item FROM bids", "--format", form) == 0
        assert len(shell.out.splitlines()) == 5_000 + others and "…" not in shell.out


@pytest.mark.slow
def test_a_reader_that_goes_away_ends_the_run_quietly(bids: Path) -> None:
    rows = "".join(f"{i},item{i},1\n" for i in range(50_000))
    (bids.parent / "bids.csv").write_text(f"at,item,price\n{rows}")
    words = [*COMMAND, "run", bids, *LOCAL, "-e", "SELECT item FROM bids", "--set", "batch_rows=99"]
    run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert run.stdout is not None and run.stderr is not None
    assert run.stdout.readline() == "ts,item\n"
    run.stdout.close()
    told = run.stderr.read()
    assert run.wait(60) == 141
    assert "Broken" not in told and "Traceback" not in told and "fault" not in told
    assert '-- query "q1": ' in told


@pytest.mark.slow
def test_a_terminal_gets_tables_of_forty_rows(bids: Path) -> None:
    rows = "".join(f"{i},item{i},1\n" for i in range(100))
    (bids.parent / "bids.csv").write_text(f"at,item,price\n{rows}")
    ours, theirs = pty.openpty()
    words = [*COMMAND, "run", bids, *LOCAL, "-e", "SELECT item FROM bids"]
    run = subprocess.Popen(words, stdout=theirs, stderr=subprocess.PIPE, text=True)
    os.close(theirs)
    told = b""
    while piece := _read(ours):
        told += piece
    assert run.wait(60) == 0
    lines = told.decode().replace("\r\n", "\n").splitlines()
    assert lines[:4] == ["q1", "ts  item", "--  ------", " 0  item0"]
    assert lines[-1] == "… and 60 more rows: --out DIR or a pipe has them all"
    assert len(lines) == 3 + 40 + 1


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # the other end is closed
        return b""


def test_version_and_completion(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shell("--version") == 0
    assert shell.out.startswith("millstream 0.") and "pyspark 4" in shell.out
    begun = {"_MILLSTREAM_COMPLETE": "complete_bash", "COMP_CWORD": "1"}
    for written, wanted in (("ru", "run"), ("--ver", "--version")):
        for name, value in (begun | {"COMP_WORDS": f"millstream {written}"}).items():
            monkeypatch.setenv(name, value)
        assert shell() == 0 and shell.out.split() == [wanted]


def test_what_needs_no_engine_does_not_load_it() -> None:
    code = (
        "import sys, millstream, millstream.cli.main\n"
        "assert not {'numba', 'pyspark', 'pyarrow', 'rich'} & set(sys.modules)\n"
        "import millstream.connect.files\n"
        "for _ in range(2):\n"
        "    assert millstream.connect.__module__ == 'millstream.api.connecting'\n"
        "from millstream import connect, Connection, Database\n"
        "assert connect is millstream.connect and Database is Connection\n"
        "assert 'pyspark' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("command", [(), ("run",), ("check",), ("explain",), ("functions",)])
def test_both_names_of_help(shell: Shell, command: tuple[str, ...]) -> None:
    assert shell(*command, "--help") == 0
    text = shell.out
    assert shell(*command, "-h") == 0
    assert shell.out == text and "Usage:" in text
