"""The archive of Spark's classes: made once, put in place when it is whole, done without if not."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from millstream.cli.preparing import prepare
from millstream.spark.class_archive import ABANDONED, is_begun, is_there, java_options
from millstream.spark.java import find_java

JAVA = find_java()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MILLSTREAM_CACHE", str(tmp_path / "cache of mine"))
    return tmp_path / "cache of mine" / "java"


def part_of(options: str) -> Path:
    return Path(shlex.split(options)[0].partition("=")[2])


def say_version(options: str) -> subprocess.CompletedProcess[str]:
    command = [JAVA, *shlex.split(options), "-version"]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def test_the_first_process_writes_what_later_ones_read(folder: Path) -> None:
    making = java_options(JAVA)
    assert making.startswith("-XX:ArchiveClassesAtExit=") and folder.stat().st_mode & 0o77 == 0
    assert not say_version(making).stdout
    assert part_of(making).exists()
    reading = java_options(JAVA)
    assert (
        reading.startswith("-Xshare:auto -XX:SharedArchiveFile=") and java_options(JAVA) == reading
    )
    assert not say_version(reading).stdout
    assert [path.suffix for path in folder.iterdir()] == [".jsa"]


def test_a_file_that_is_not_whole_is_left_alone_and_later_removed(folder: Path) -> None:
    part = part_of(java_options(JAVA))
    part.write_bytes(bytes(4096))
    assert java_options(JAVA).startswith("-XX:ArchiveClassesAtExit=") and part.exists()
    os.utime(part, (0, part.stat().st_mtime - 2 * ABANDONED))
    java_options(JAVA)
    assert not part.exists()


def test_java_starts_with_an_archive_that_it_does_not_like(folder: Path) -> None:
    part_of(java_options(JAVA)).write_bytes(b"no archive" * 1000)
    done = say_version(java_options(JAVA))
    assert not done.stdout and "version" in done.stderr


def test_another_java_has_an_archive_of_its_own(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "java"
    other.write_text("#!/bin/sh\n")
    stems = {part_of(java_options(java)).name.split(".")[0] for java in (JAVA, str(other))}
    assert len(stems) == 2


def test_settings_of_spark_or_no_folder_leave_java_as_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", "/etc/spark")
    assert java_options(JAVA) == ""
    monkeypatch.delenv("SPARK_CONF_DIR")
    folder.rmdir()
    folder.write_text("not a folder")
    assert java_options(JAVA) == ""


def test_an_archive_is_begun_and_then_there(folder: Path) -> None:
    assert not is_begun(JAVA) and not is_there(JAVA)
    part_of(java_options(JAVA)).write_bytes(bytes(4096))
    assert is_begun(JAVA) and not is_there(JAVA)
    part_of(java_options(JAVA)).write_bytes(b"an archive")
    assert is_there(JAVA)


def test_prepare_says_what_is_there(folder: Path) -> None:
    part_of(java_options(JAVA)).write_bytes(b"an archive")
    assert prepare() == "Java's prepared classes are there already"
