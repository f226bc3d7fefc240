"""State, commits and logs in folders of every kind: what one batch leaves, the next one finds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from files.conftest import *  # noqa: F403
from millstream.algebra.changes import Changes
from millstream.connect.statements.appended import append_batch, read_batches
from millstream.engine.checkpoint import Checkpoint, Commit
from millstream.engine.clock import Clock
from millstream.engine.log import ResultLog, last_batch, read_log
from millstream.engine.store import END, BucketStore, DamagedState
from millstream.errors import MillstreamError
from millstream.files import Folder, StoreError
from millstream.state.chunks import Chunk, Log

COLUMNS = pa.schema([("n", pa.int64())])


def numbers(first: int, count: int) -> pa.RecordBatch:
    return pa.record_batch({"n": pa.array(np.arange(first, first + count))})


def chunk(first: int, count: int) -> Chunk:
    ones = np.ones(count, np.int64)
    rows = numbers(first, count)
    return Chunk.of(Changes(rows, ones, ones * 100, ones, ones), ones * 100)


def write(folder: Folder, batches: int) -> None:
    """Batches of a bucket; each adds a chunk to those of before, and two stay."""
    checkpoint = Checkpoint(folder)
    for batch in range(batches):
        store = BucketStore.at(checkpoint.state, 1, 0)
        before = store.read(batch - 1)
        log = before["join"]["left"].chunks if before else ()
        state = {"join": {"left": Log((*log[-1:], chunk(batch, 5))), "sum": numbers(batch, 3)}}
        assert store.write(batch, state, batch - 1) > 0
        checkpoint.write(Commit(batch, Clock.start(), 1, levels=1))


def test_state_is_found_again_and_swept(folder: Folder) -> None:
    write(folder, 7)
    checkpoint = Checkpoint(folder)
    store = BucketStore.at(checkpoint.state, 1, 0)
    state = store.read(6)["join"]
    assert state["sum"] == numbers(6, 3)
    assert [c.changes.rows.column("n")[0].as_py() for c in state["left"].chunks] == [5, 6]
    assert store.folder.list() == [store.file(batch) for batch in (3, 4, 5, 6)]
    assert checkpoint.commits.list() == [f"{batch:012d}.json" for batch in (4, 5, 6)]
    commit, notices = checkpoint.take_up()
    assert commit is not None and commit.batch == 6 and not notices


def test_a_footer_of_any_size_is_read(folder: Folder) -> None:
    store = BucketStore(folder)
    rows = numbers(0, 1)
    store.write(0, {f"operator {i}": {"part": rows} for i in range(1000)})
    assert folder.get(store.file(0)).size > 2 * END
    assert len(store.footer(0)["operators"]) == 1000 == len(store.read(0))
    store.check(0)


def test_damage_is_gone_back_on(folder: Folder) -> None:
    write(folder, 4)
    store = BucketStore.at(Checkpoint(folder).state, 1, 0)
    data = folder.folder("state/level1/bucket0").get(store.file(3)).to_pybytes()
    for damaged in (data[:-1], data[:40] + b"\0\0\0" + data[43:], b"", data[:5]):
        store.folder.put(store.file(3), [damaged])
        with pytest.raises(DamagedState):
            store.check(3)
    store.folder.remove(store.file(3))
    commit, (notice,) = Checkpoint(folder).take_up()
    assert commit is not None and commit.batch == 2
    assert notice.message.startswith(f'state file "{store.file(3)}" in "{store.folder.shown}"')


def test_a_folder_that_cannot_be_read_is_not_a_damaged_one(folder: Folder, monkeypatch) -> None:
    write(folder, 3)

    def fails(self: Folder, name: str) -> pa.Buffer:
        raise StoreError(f'"{self.shown}/{name}" cannot be read: it is away')

    with monkeypatch.context() as away:
        away.setattr(BucketStore, "_own", lambda store, batch: fails(store.folder, str(batch)))
        with pytest.raises(MillstreamError, match="cannot be read: it is away"):
            Checkpoint(folder).take_up()
    commit, notices = Checkpoint(folder).take_up()
    assert commit is not None and commit.batch == 2 and not notices


def test_the_log_of_a_result(folder: Folder) -> None:
    log = ResultLog(folder)
    assert last_batch(folder) == -1
    for number in range(3):
        log.rows("a b", numbers(number, number), number)
        log.sizes()
    log.rows("a b", numbers(9, 1), 3)  # not finished
    assert last_batch(folder) == 2
    if not folder.url.startswith(("local:", "subtree:")):  # these have no URL
        found = read_log(folder, "a b", COLUMNS)
        assert found.column("n").to_pylist() == [1, 2, 3]
    log.forget("a b")
    assert read_log(folder, "a b", COLUMNS).num_rows == 0


def test_batches_are_appended(folder: Folder) -> None:
    assert list(read_batches(folder)) == []
    for number in range(3):
        append_batch(folder, numbers(number, 2))
    assert [end for end, _ in read_batches(folder)] == [1, 2, 3]
    assert [rows.column("n")[0].as_py() for _, rows in read_batches(folder, 1)] == [1, 2]
