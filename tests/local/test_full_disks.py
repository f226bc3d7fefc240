"""A disk that is full, a folder that cannot be written: ordinary errors, after which a run goes on.

The limit on the sizes of files stands for a full disk, since it holds for every user, root too.
"""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from pathlib import Path

import pytest

from local.script import Script, command, files, write_bids
from millstream.files import LocalFolder

SETTINGS = ("--changes", "--set", "batch_rows=100")


def limited(*words: str, most: int) -> subprocess.CompletedProcess:
    """Run a command that may write no file larger than so many bytes."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    return subprocess.run(words, capture_output=True, text=True, preexec_fn=limit, timeout=60)


@pytest.mark.slow
def test_a_run_goes_on_once_there_is_room(tmp_path: Path) -> None:
    whole, script = Script(tmp_path / "whole"), Script(tmp_path / "tight")
    for one in (whole, script):
        one.folder.mkdir()
        write_bids(one.folder, 400)
    assert whole.start(*SETTINGS).wait(60) == 0
    for most in (2_000, 8_000):
        done = limited(*script.words(*SETTINGS), most=most)
        assert done.returncode == 1, done.stderr
        assert "fault in Millstream" not in done.stderr and "Traceback" not in done.stderr
        assert "cannot be written: file too large\nhint: Make room there" in done.stderr
    assert script.start(*SETTINGS).wait(60) == 0
    assert files(script.out) == files(whole.out)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["results", "parquet", "checkpoint", "output"])
def test_a_full_disk_is_an_ordinary_error(tmp_path: Path, where: str) -> None:
    write_bids(tmp_path, 400)
    words = {
        "results": ("--out", tmp_path / "out"),
        "parquet": ("--out", tmp_path / "out", "--format", "parquet"),
        "checkpoint": ("--checkpoint", tmp_path / "checkpoint"),
        "output": (),
    }[where]
    every = command("run", tmp_path / "script.sql", "--host", "local", *words)
    if where == "output":
        with open("/dev/full", "w") as full:
            done = subprocess.run(every, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        assert "no space left on device\nhint: Make room" in done.stderr
    else:
        done = limited(*every, most=900)
        named = {"results": "out/", "parquet": "out/", "checkpoint": "checkpoint/"}[where]
        assert f'"{tmp_path}/{named}' in done.stderr
    assert done.returncode == 1, done.stderr
    assert "fault in Millstream" not in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_folder_that_cannot_be_written(tmp_path: Path, capfd, monkeypatch, number: int) -> None:
    write_bids(tmp_path, 50)
    script = Script(tmp_path)

    def refused(path, mode="r", *more, **others):
        if "w" in mode and str(path).startswith(str(script.checkpoint)):
            raise OSError(number, os.strerror(number), str(path))
        return open(path, mode, *more, **others)

    monkeypatch.setattr("millstream.files.local.open", refused, raising=False)
    code, said = script.run(capfd)
    assert code == 1
    assert f'"{script.checkpoint}' in said and os.strerror(number).lower()[1:] in said
    assert "hint: " in said and "fault" not in said
    monkeypatch.undo()
    assert script.run(capfd)[0] == 0


def test_an_error_of_a_folder_has_a_hint(tmp_path: Path, monkeypatch) -> None:
    def refused(*given, **named):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("millstream.files.local.open", refused, raising=False)
    with pytest.raises(Exception, match="no space left on device") as error:
        LocalFolder(tmp_path).put("a", [b"b"])
    assert error.value.hint.startswith("Make room there")
