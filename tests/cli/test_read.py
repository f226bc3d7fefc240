"""`millstream read`: what a run holds on its checkpoint, as it is and as it was."""

from pathlib import Path

from cli.shell import Shell

TOPS = "CREATE VIEW tops AS SELECT item, max(price) AS top FROM bids GROUP BY item;"


def held(shell: Shell, bids: Path, *options: str) -> tuple[str, ...]:
    """Run a script on a checkpoint; gives the arguments with which it is read."""
    bids.write_text(f"{bids.read_text()}\n{TOPS}")
    checkpoint = str(bids.parent / "kept")
    run = ("run", bids, "--host", "local", "--checkpoint", checkpoint, "--query", "tops", *options)
    assert shell(*run) == 0
    return "read", str(bids), "--checkpoint", checkpoint


def test_answers(shell: Shell, bids: Path) -> None:
    read = held(shell, bids)
    assert shell(*read, "-e", "SELECT item FROM tops ORDER BY top DESC LIMIT 2") == 0
    assert shell.out == "item\nkite\nclock\n"
    assert shell(*read, "-e", "tops UNION tops", "-e", "SELECT count(*) AS n FROM tops") == 0
    lines = shell.out.splitlines()
    assert lines[0] == "read1,item,top" and lines[-2:] == ["read2,n", "read2,3"]
    assert shell(*read, "-e", "SELECT top FROM tops WHERE item = 'kite'", "--format", "jsonl") == 0
    assert shell.out == '{"top":40.0}\n'
    assert shell(*read, "-e", "SELECT top FROM tops WHERE item = 'cup'") == 0
    assert shell.out == "top\n"


def test_as_of(shell: Shell, bids: Path) -> None:
    history = ("--set", "history=100")
    read = (*held(shell, bids, *history), *history, "-e", "SELECT item FROM tops")
    assert shell(*read, "--as-of", "1") == 0
    assert shell.out == "item\nlamp\n"
    assert shell(*read, "--as-of", "9") == 1
    assert shell.err.splitlines()[-4] == 'AS OF 9 lies ahead: view "tops" stands at 8'
    assert shell(*read, "--as-of", "noon") == 1
    assert "AS OF 'noon' is no number" in shell.err


def test_what_can_go_wrong(shell: Shell, bids: Path) -> None:
    read = held(shell, bids)
    assert shell(*read, "-e", "SELECT * FROM top") == 1
    assert 'view or table "top" does not exist' in shell.err
    assert 'hint: Did you mean "tops"?' in shell.err
    assert shell(*read, "-e", "SELECT * FROM tops", "--format", "parquet") == 1
    assert '--format cannot be "parquet"' in shell.err
    nothing = str(bids.parent / "nothing")
    assert shell("read", bids, "--checkpoint", nothing, "-e", "SELECT * FROM tops") == 1
    assert "holds no finished batch" in shell.err
    assert shell("read", bids, "-e", "SELECT 1") == 2
