"""Scripts and data for the tests of the command line."""

from pathlib import Path

import pytest

from cli.shell import Shell

BIDS = """\
at,item,price
1,lamp,20
2,clock,35
4,lamp,25
3,vase,12
5,vase,cheap
6,clock
7,kite,dear
8,kite,40
"""
STREAM = "CREATE STREAM bids (at int, item string, price double) ORDER BY at SOURCE 'bids.csv';\n"


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Shell:
    return Shell(monkeypatch, capfd)


@pytest.fixture
def bids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script that declares a stream, in the current folder; its data has late and bad rows."""
    (tmp_path / "bids.csv").write_text(BIDS)
    script = tmp_path / "bids.sql"
    script.write_text(STREAM)
    monkeypatch.chdir(tmp_path)
    return script
