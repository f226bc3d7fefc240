"""The command line: exit codes, messages on the error output, and never a traceback."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli.shell import Shell
from errors.cases import CASES, DATA, PRELUDE

STREAM = "CREATE STREAM s (item bigint, name string) SOURCE 'items.csv';\n"
SAMPLE = random.Random(7).sample(CASES, 60)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Shell:
    return Shell(monkeypatch, capfd)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "items.csv").write_text("item,name\n1,lamp\n")
    path = tmp_path / "script.sql"
    path.write_text(STREAM + "SELECT Istream(*) FROM s [Now];")
    return path


@pytest.mark.parametrize(("text", "expected"), SAMPLE, ids=[text for text, _ in SAMPLE])
def test_wrong_script(shell: Shell, tmp_path: Path, text: str, expected: str) -> None:
    for file in DATA.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    path = tmp_path / "script.sql"
    path.write_text(PRELUDE + text)
    shifted = PRELUDE.count("\n")
    wanted = re.sub(r"^ *(\d+) \|", lambda m: f"{int(m[1]) + shifted:>4} |", expected, flags=re.M)
    wanted = re.sub(r"\(line (\d+)\)", lambda m: f"(line {int(m[1]) + shifted})", wanted)
    wanted = wanted.replace("<folder>", str(tmp_path))
    for command in (("run", path, "--host", "local"), ("explain", path)):
        assert shell(*command) == 1
        assert "\n".join(line.rstrip() for line in shell.err.strip("\n").splitlines()) == wanted


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.sql", None, 'script "{path}" does not exist'),
        ("latin.sql", b"SELECT 1;\n-- caf\xe9", 'script "{path}" is not text in UTF-8: see line 2'),
        ("zero.sql", b"SELECT \0", "the script holds a zero byte and is not text"),
        (
            "long.sql",
            b" " * 10_000_000,
            'script "{path}" has 10,000,000 bytes; the limit is 4,000,000',
        ),
        (
            "wide.sql",
            b" " * 2_000_000,
            "the script is 2,000,000 characters long; the limit is 1,000,000",
        ),
        (
            "deep.sql",
            b"SELECT " + b"(" * 1000 + b"1" + b")" * 1000,
            "the script is nested more than 200 deep here",
        ),
        (
            "chain.sql",
            b"SELECT " + b"1+" * 9000 + b"1 FROM s",
            "the query is more than 500 operators deep",
        ),
    ],
)
def test_unreadable_script(
    shell: Shell, tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    for command in ("run", "explain"):
        assert shell(command, path) == 1
        assert shell.err.splitlines()[0] == message.format(path=path)


def test_a_folder_is_no_script(shell: Shell, tmp_path: Path) -> None:
    assert shell("run", tmp_path) == 1
    assert shell.err == f'"{tmp_path}" is a folder, not a script\nhint: Name a file in it.\n'
    assert shell("run", tmp_path / "no" / "x.sql") == 1
    assert "does not exist either" in shell.err


@pytest.mark.parametrize("text", ["", "  \n", "-- nothing\n/* at all */", ";;", "SET rules = off;"])
def test_nothing_to_run(shell: Shell, tmp_path: Path, text: str) -> None:
    path = tmp_path / "script.sql"
    path.write_text(text)
    assert shell("run", path, "--host", "local") == 0
    assert "the script declares no stream: there is nothing to run" in shell.err
    assert shell("explain", path) == 0
    assert shell.out == "the script registers no query\n"


def test_streams_without_queries_or_sources(shell: Shell, script: Path) -> None:
    script.write_text(STREAM)
    assert (shell("run", script, "--host", "local"), shell.out) == (0, "")
    script.write_text("CREATE STREAM s (a bigint);\nSELECT Istream(*) FROM s [Now];")
    assert shell("run", script, "--host", "local") == 0
    assert 'stream "s" has no SOURCE, and no INSERT fills it: it stays empty' in shell.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--host", "locl"), '--host cannot be "locl"\nhint: Did you mean "local"?'),
        (
            ("--format", "xml"),
            '--format cannot be "xml"\nhint: Write one of csv, jsonl, parquet, table.',
        ),
        (
            ("--format", "table", "--out", "answers"),
            "--format table is for standard output, and --out writes files\n"
            "hint: Leave out --out, or write --format csv.",
        ),
        (
            ("--format", "parquet"),
            "--format parquet needs a folder: its files cannot be printed\n"
            "hint: Add --out DIR, or write --format csv.",
        ),
        (
            ("--query", "q1", "--out", "answers"),
            "--query chooses what is printed, and --out writes all results to files\n"
            "hint: Leave out one of them.",
        ),
        (("--query", "q2"), 'query "q2" does not exist\nhint: Write one of q1.'),
        (
            ("--log", "no/run.log"),
            '--log cannot write "no/run.log": no such file or directory\nhint: Name another file.',
        ),
        (
            ("--set", "batch_rows"),
            '--set takes key=value, and this is "batch_rows"\n'
            "hint: Write for example --set batch_rows=1000.",
        ),
        (
            ("--set", "batch_row=1"),
            'setting "batch_row" does not exist\nhint: Did you mean "batch_rows"?',
        ),
        (
            ("--set", "batch_rows=-1"),
            'setting "batch_rows" cannot be "-1"\n'
            "hint: Write a whole number from 1 to 100,000,000, or auto.",
        ),
        (
            ("--set", "rules=maybe"),
            'setting "rules" cannot be "maybe"\nhint: Write on or fixed or off.',
        ),
        (
            ("--host", "local", "--restart", "q1"),
            "--restart is for a run on a checkpoint: without one, every query starts fresh\n"
            "hint: Name the checkpoint as well: --checkpoint DIR.",
        ),
        (
            ("--host", "local", "--close", "--follow"),
            "--close is for the end of bounded input, and with --follow there is none\n"
            "hint: Leave one of the two out.",
        ),
        (
            ("--host", "local", "--out", "items.csv"),
            '--out needs a folder, and "items.csv" is a file\nhint: Name another folder.',
        ),
        (
            ("--host", "local", "--out", "items.csv/x"),
            '--out cannot use the folder "items.csv/x": not a directory\n'
            "hint: Name another folder.",
        ),
    ],
)
def test_wrong_values(
    shell: Shell,
    script: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(script.parent)
    assert shell("run", script, *arguments) == 1
    assert shell.err.strip() == message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rum",), 'command "rum" does not exist\nhint: Did you mean run?'),
        (
            ("launch",),
            'command "launch" does not exist\nhint: Write one of run, read, check, explain, '
            "functions, demo, prepare.",
        ),
        (("run",), "missing argument 'SCRIPT.sql', or -e 'SQL'\nhint: Write millstream run --help"),
        (
            ("run", "a.sql", "--hots", "local"),
            "option --hots does not exist\nhint: Did you mean --host?",
        ),
        (("run", "a.sql", "--host"), "option --host needs a value"),
        (("run", "a.sql", "b.sql"), 'argument "b.sql" has no meaning here'),
        (("demo", "--seconds", "long"), "option --seconds: "),
    ],
)
def test_wrong_command(shell: Shell, arguments: tuple[str, ...], message: str) -> None:
    assert shell(*arguments) == 2
    assert shell.err.startswith(message)
    assert "\nhint: " in shell.err and "nvalid" not in shell.err.splitlines()[0]


def test_explain(shell: Shell, script: Path) -> None:
    assert shell("explain", script, "--stage", "phsical") == 1
    assert shell.err == '--stage cannot be "phsical"\nhint: Did you mean "physical"?\n'
    for stage in ("bound", "Optimized", "physical"):
        assert (shell("explain", script, "--stage", stage), shell.err) == (0, "")
        assert shell.out.startswith(f"-- q1: stream, {stage.lower()} plan")
    assert (shell("explain", script, "--stage", "patterns"), shell.err) == (0, "")
    assert shell.out.startswith("-- q1: stream, update patterns")
    assert (shell("explain", script, "--stage", "state"), shell.err) == (0, "")
    assert "\n-- it has not run: what it holds is not known\n" in shell.out


def test_explain_ends_with_a_legend(shell: Shell, script: Path) -> None:
    assert shell("explain", script, "--no-legend") == 0
    plain = shell.out
    for arguments in ((), ("--stage", "legend"), ("--stage", "legend", "--no-legend")):
        assert (shell("explain", script, *arguments), shell.err) == (0, "")
        assert shell.out.startswith(plain + "\n-- at the right of a line, ")
        assert "\n--   MON  rows never leave\n" in shell.out


def test_explain_draws(shell: Shell, script: Path) -> None:
    file = script.with_suffix(".svg")
    assert (shell("explain", script, "--picture", file), shell.err) == (0, "")
    assert shell.out == f"1 plan drawn into {file}\n" and file.read_text().startswith("<svg ")
    assert shell("explain", script, "--picture", script.parent) == 1
    assert shell.err.startswith(
        f'--picture needs a file, and "{script.parent}" is a folder\nhint: '
    )
    assert shell("explain", script, "--picture", file.with_suffix(".png")) == 1
    assert shell.err == (
        f'--picture draws SVG, and "{file.with_suffix(".png")}" ends in .png\n'
        f"hint: Write --picture {file}.\n"
    )
    assert shell("explain", script, "--query", "q2") == 1
    assert shell.err == 'query "q2" does not exist\nhint: Write one of q1.\n'
    assert shell("explain", script, "--stage", "state", "--checkpoint", script.parent / "no") == 1
    assert "holds no finished batch\nhint: " in shell.err


def test_a_process_of_its_own(script: Path) -> None:
    script.write_text(STREAM + "SELECT nam FROM s [Now];")
    command = [Path(sys.executable).with_name("millstream"), "run", script, "--host", "local"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        'column "nam" does not exist in "s"\n   2 | SELECT nam FROM s [Now];\n'
        '     |        ^^^\nhint: Did you mean "name"?\n'
    )


def test_statements_tell_notices_and_the_last_definition_answers(
    shell: Shell, script: Path, tmp_path: Path
) -> None:
    table = "CREATE TABLE t (name string); INSERT INTO t VALUES ('lamp'), ('vase');"
    script.write_text(
        f'{STREAM}{table}\nDELETE FROM t WHERE name = "vase";\n'
        "CREATE VIEW v AS SELECT Istream(item) FROM s [Now];\n"
        "CREATE OR REPLACE VIEW v AS SELECT Istream(s.name) FROM s [Now], t WHERE s.name = t.name;"
    )
    assert shell("run", script, "--host", "local", "--out", tmp_path / "out") == 0
    said = " ".join(shell.err.split())
    assert "t: no column is called \"vase\": it is taken as the string 'vase'" in said
    assert (tmp_path / "out" / "v.csv").read_text() == "ts,name\n1,lamp\n"
