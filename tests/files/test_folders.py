"""What every folder must promise, whatever is below it: docs/design/files.md."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import fs

from files.conftest import s3_url
from millstream.errors import MillstreamError
from millstream.files import (
    ArrowFolder,
    Folder,
    LocalFolder,
    MissingFile,
    StoreError,
    open_file,
    open_folder,
)
from millstream.files.opening import spark_url


def test_what_was_put_is_read_at_once(folder: Folder) -> None:
    assert folder.list() == [] and not folder.has("a")
    folder.put("a", [b"one ", pa.py_buffer(b"two")])
    assert folder.get("a").to_pybytes() == b"one two"
    assert folder.has("a") and folder.list() == ["a"]
    folder.put("a", [b"three"])
    assert folder.get("a").to_pybytes() == b"three"
    folder.put("empty", [])
    assert folder.get("empty").to_pybytes() == b"" and folder.has("empty")


def test_a_range_ends_where_the_file_ends(folder: Folder) -> None:
    folder.put("a", [bytes(range(100))])
    for start, size, there in (
        (0, 10, range(10)),
        (90, 50, range(90, 100)),
        (200, 5, range(0)),
        (-10, 4, range(90, 94)),
        (-10, 50, range(90, 100)),
        (-500, 500, range(100)),
        (-500, 3, range(3)),
    ):
        assert folder.get_range("a", start, size).to_pybytes() == bytes(there)


def test_a_missing_file_is_missing(folder: Folder) -> None:
    for read in (folder.get, lambda name: folder.get_range(name, 0, 1)):
        with pytest.raises(MissingFile, match='nowhere" does not exist'):
            read("nowhere")
    folder.remove("nowhere")
    folder.folder("nowhere either").remove_all()


def test_a_list_has_the_files_of_the_folder_sorted(folder: Folder) -> None:
    for name in ("b.json", "a.json", ".0.crc", "c.txt"):
        folder.put(name, [b"x"])
    folder.folder("below/deeper").put("d.json", [b"x"])
    assert folder.list() == [".0.crc", "a.json", "b.json", "c.txt"]
    assert folder.list("a") == ["a.json"]
    assert folder.folder("below").list() == []
    assert folder.folder("below").folder("deeper").list() == ["d.json"]


def test_what_is_removed_is_gone(folder: Folder) -> None:
    below = folder.folder("below")
    folder.put("a", [b"x"])
    below.put("b", [b"x"])
    below.folder("deeper").put("c", [b"x"])
    folder.remove("a")
    assert folder.list() == []
    below.remove_all()
    assert below.list() == [] and below.folder("deeper").list() == []
    below.put("b", [b"y"])
    assert below.get("b").to_pybytes() == b"y"


def test_what_is_left_unfinished_is_not_seen_and_tidied_up(folder: Folder) -> None:
    below = folder.folder("below")
    below.put("a", [b"x"])
    below.put(".a.1.unfinished", [b"half"])
    assert below.list() == ["a"]
    folder.tidy()
    assert below.list() == ["a"]
    if "s3" not in folder.url:
        assert not below.has(".a.1.unfinished")


@pytest.mark.parametrize("again", [False, True], ids=["new names", "one name"])
def test_a_reader_finds_all_of_a_file_or_nothing(folder: Folder, again: bool) -> None:
    """Law: whatever a reader finds while somebody writes is whole."""
    if again and "s3" in folder.url:
        pytest.skip("the size of a file and its bytes are two requests, between which it changes")
    sizes = (10, 300_000, 70_000)
    stop = threading.Event()
    found: set[int] = set()
    torn: list[str] = []

    def read() -> None:
        while not stop.is_set():
            for turn in range(12):
                try:
                    data = folder.get("a" if again else f"a{turn}").to_pybytes()
                except MissingFile:
                    continue
                found.add(len(data))
                if len(set(data)) > 1 or len(data) not in sizes:
                    torn.append(f"{len(data)} bytes, {data[:20]!r}")

    reader = threading.Thread(target=read)
    reader.start()
    for turn in range(12):
        size = sizes[turn % 3]
        name = "a" if again else f"a{turn}"
        folder.put(name, [bytes([turn]) * (size // 10)] * 10)
        assert name in folder.list()
    stop.set()
    reader.join()
    assert found and not torn


def test_a_stream_writes_all_of_a_file_or_nothing(folder: Folder) -> None:
    def half(stream: pa.NativeFile) -> None:
        stream.write(b"half")
        raise ValueError("no more")

    folder.write("a", lambda stream: stream.write(b"all of it"))
    assert folder.get("a").to_pybytes() == b"all of it" and folder.list() == ["a"]
    with pytest.raises(ValueError, match="no more"):
        folder.write("b", half)
    if "s3" not in folder.url:  # there a process writes all of a file or dies
        assert folder.list() == ["a"]


def test_a_writer_that_fails_leaves_nothing(folder: Folder) -> None:
    folder.put("a", [b"before"])
    with pytest.raises((TypeError, ValueError)):
        folder.put("a", [object()])  # type: ignore[list-item]
    assert folder.list() == ["a"]
    if "s3" not in folder.url:  # there a process writes all of a file or dies
        assert folder.get("a").to_pybytes() == b"before"


@pytest.mark.slow
def test_other_processes_open_it_by_its_url(folder: Folder) -> None:
    if folder.url.startswith(("local:", "subtree:")):
        assert pickle.loads(pickle.dumps(folder)) == folder
        return
    below = folder.folder("below 100%")
    below.put("a file", [b"x"])
    assert open_folder(below.url) == below
    place, name = open_file(below.address("a file"))
    assert (place.shown, name) == (below.shown, "a file")
    code = "import sys; from millstream.files import *; print(open_folder(sys.argv[1]).list())"
    words = (sys.executable, "-c", code, below.url)
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ)
    assert done.stdout == "['a file']\n", done.stderr


def test_the_url_chooses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_folder("here") == LocalFolder(tmp_path / "here")
    assert open_folder("here:1") == LocalFolder(tmp_path / "here:1")
    assert open_folder(f"file:{tmp_path}") == open_folder(f"file://{tmp_path}")
    assert open_folder(LocalFolder(tmp_path)) == LocalFolder(tmp_path)
    there = open_folder("s3a://key:secret@bucket/a/b?region=eu-west-1")
    assert isinstance(there, ArrowFolder) and there.path == "bucket/a/b"
    assert there.folder("c").shown == "s3://bucket/a/b/c"
    assert spark_url(there.folder("c")) == "s3a://bucket/a/b/c"
    assert "secret" in there.url and "secret" not in there.shown
    assert spark_url(open_folder(f"arrow+file://{tmp_path}")) == f"file://{tmp_path}"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://host/x", '"ftp://host/x" cannot be opened: there is no kind of folder "ftp:"'),
        ("file://host/x", '"file://host/x" cannot be opened: it names a machine, "host"'),
        ("s3://k:secret@b/x?colour=red", '"s3://b/x" cannot be opened: '),
    ],
)
def test_a_url_that_cannot_be_opened(url: str, message: str) -> None:
    with pytest.raises(MillstreamError) as refused:
        open_folder(url)
    assert refused.value.message.startswith(message) and refused.value.hint
    assert "secret" not in refused.value.message


def test_a_store_without_the_bucket(s3: str) -> None:
    there = open_folder(s3_url(s3, "x").replace("mill", "elsewhere"))
    with pytest.raises(StoreError, match=r'"s3://elsewhere/x/a" cannot be written: .*bucket'):
        there.put("a", [b"x"])


@pytest.mark.slow
def test_a_store_that_cannot_be_reached() -> None:
    there = open_folder(
        "s3://a:b@mill/x?endpoint_override=127.0.0.1:9&scheme=http&region=eu-west-1"
    )
    with pytest.raises(StoreError, match=r'"s3://mill/x" cannot be listed: .*connect') as problem:
        there.list()
    assert not isinstance(problem.value, MissingFile)


def test_a_file_system_that_moves_nothing_over_a_file(tmp_path: Path) -> None:
    """As HDFS does."""

    system = fs.LocalFileSystem()
    folder = ArrowFolder.over(system, str(tmp_path / "folder"))
    folder.put("a", [b"one"])
    tried: list[str] = []

    class Refusing:
        type_name = "hdfs"

        def __getattr__(self, name: str) -> object:
            return getattr(system, name)

        def move(self, source: str, target: str) -> None:
            tried.append(target)
            if Path(target).exists():
                raise OSError("it exists")
            system.move(source, target)

    other = ArrowFolder(folder.url, folder.path, Refusing())
    other.put("a", [b"two"])
    assert other.get("a").to_pybytes() == b"two" and len(tried) == 2
    assert other.list() == ["a"]
