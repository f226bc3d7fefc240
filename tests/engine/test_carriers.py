"""Carrying a batch: where states lie does not matter, and no message is lost on the wire."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.algebra.changes import Changes
from millstream.database import Database
from millstream.engine.carrier import SIDE_BY_SIDE, InProcess
from millstream.engine.clock import Header
from millstream.engine.hot_keys import KeySample
from millstream.engine.messages import (
    LATE,
    Answer,
    Counted,
    Message,
    Refused,
    Sampled,
    Sent,
    TimeTold,
    Worked,
)
from millstream.engine.states import FileStates, MemoryStates
from millstream.engine.work import Work
from millstream.errors import MillstreamError
from millstream.files import LocalFolder
from millstream.local.host import LocalHost
from millstream.spark.wire import DRIVER, KINDS, Wire, messages_in
from millstream.testing.run import KeptResults

SCRIPT = """
CREATE STREAM bids (ts bigint, item bigint, price bigint) ORDER BY ts SOURCE 'bids.csv';
SELECT STREAMED item, sum(price) AS total FROM bids [Range 9] GROUP BY item;
SELECT item, price FROM bids [Range 4] WHERE price > 50;
"""
MANY = 10_000
ROWS = Changes.elements(
    pa.RecordBatch.from_pydict({"item": np.arange(MANY)}), np.arange(MANY), np.arange(MANY)
)
MESSAGES: list[Message] = [
    TimeTold(Header("bids", first=1, largest=4, rows=3, now=17)),
    Sent(2, 1, "box", 7, ROWS.slice(0, 5)),
    Sent(1, 0, "box", 8, ROWS),
    Answer("q", ROWS.slice(0, 2)),
    Refused("bids", LATE, ROWS.rows.slice(0, 3)),
    Counted(1, {"node": [1, 2, 3]}),
    Sampled(KeySample("m", "left", 5, 3, 9, ((11, 4), (12, 1)))),
    Worked(1, 0, 5, 6, 7, 0.1, 0.2, 0.3),
]


def test_states_in_memory_and_in_files_give_the_same(tmp_path: Path) -> None:
    rows = [f"{t},{t * 7 % 5},{t * t % 101}" for t in range(1, 61)]
    (tmp_path / "bids.csv").write_text("\n".join(["ts,item,price", *rows]) + "\n")
    found = []
    for states in (MemoryStates(), FileStates(str(tmp_path / "state"))):
        session = Database(base=str(tmp_path))
        session.pin("batch_rows", "7")
        session.execute(SCRIPT)
        kept = KeptResults()
        job = session.job(frozenset(session.queries))
        host = LocalHost(job, session.sources(follow=False), [kept])
        host.driver.states = states
        host.run()
        found.append({name: table.to_pylist() for name, table in kept.tables().items()})
    assert found[0] == found[1] and len(found[0]["q1"]) >= 60


def test_threads_change_no_answer(tmp_path: Path) -> None:
    rows = 2 * SIDE_BY_SIDE
    for part in range(4):
        t = np.arange(part * rows, (part + 1) * rows)
        columns = {"ts": t, "item": t * 7 % 5003, "price": t * t % 101}
        pq.write_table(pa.table(columns), tmp_path / f"bids-{part}.parquet")
    found, used = [], []
    for threads in (1, 3):
        session = Database(base=str(tmp_path))
        session.pin("batch_rows", str(4 * rows))
        session.execute(SCRIPT.replace("bids.csv", "*.parquet"))
        kept = KeptResults()
        job = session.job(frozenset(session.queries))
        host = LocalHost(job, session.sources(follow=False), [kept])
        host.carrier = InProcess(threads)
        with ThreadNames() as names:
            host.run()
        used.append(names.seen)
        found.append(kept.tables())
    assert found[0] == found[1] and found[0]["q1"].num_rows > rows
    assert used[0] == {"MainThread"} and all(n.startswith("millstream-part") for n in used[1])


class ThreadNames:
    """Notes on which threads read tasks and buckets are carried out."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.patch = pytest.MonkeyPatch()

    def __enter__(self) -> ThreadNames:
        for name in ("read", "run"):
            self.patch.setattr(Work, name, self._noting(getattr(Work, name)))
        return self

    def __exit__(self, *problem: object) -> None:
        self.patch.undo()

    def _noting(self, carried):
        def noted(*arguments):
            self.seen.add(threading.current_thread().name)
            return carried(*arguments)

        return noted


def test_what_breaks_on_a_thread_breaks_the_batch(tmp_path: Path) -> None:
    """Also where another part is well."""
    good = pa.table({"ts": np.arange(SIDE_BY_SIDE), "item": np.arange(SIDE_BY_SIDE)})
    pq.write_table(good, tmp_path / "1.parquet")
    pq.write_table(good, tmp_path / "2.parquet")
    session = Database(base=str(tmp_path))
    session.pin("batch_rows", str(4 * SIDE_BY_SIDE))
    session.execute(
        "CREATE STREAM bids (ts bigint, item bigint) ORDER BY ts SOURCE '*.parquet';"
        "SELECT STREAMED sum(item) AS n FROM bids;"
    )
    host = LocalHost(session.job(), session.sources(follow=False), [])
    host.carrier = InProcess(2)
    (tmp_path / "2.parquet").write_bytes(b"PAR1 and no more PAR1")
    with pytest.raises(MillstreamError, match="cannot be read as Parquet"):
        host.run()


@pytest.mark.parametrize("shared", [False, True])
def test_messages_are_the_same_after_the_wire(tmp_path: Path, shared: bool) -> None:
    wire = Wire(2, 3, LocalFolder(tmp_path / "scratch") if shared else None)
    rows = wire.batch(MESSAGES).to_pylist()
    told = [row for row in rows if row["kind"] == "TimeTold"]
    assert len(told) == 1 + 2 * 3, "every bucket of every level hears of the time"
    once = [row for row in rows if row["kind"] != "TimeTold" or row["level"] == DRIVER]
    assert [_plain(m) for m in messages_in(once)] == [_plain(m) for m in MESSAGES]
    assert {type(m).__name__ for m in MESSAGES} == KINDS.keys()
    assert len(list(tmp_path.glob("scratch/*"))) == (1 if shared else 0), "large rows are a file"


def _plain(message: Message) -> tuple:
    fields = dict(vars(message))
    for name, value in fields.items():
        if isinstance(value, Changes):
            fields[name] = value.to_batch().to_pylist()
        elif isinstance(value, pa.RecordBatch):
            fields[name] = value.to_pylist()
    return type(message).__name__, fields


def test_threads_say_how_long_they_had_no_core() -> None:
    carrier = InProcess(2)
    assert carrier.waited == 0.0
    parts = [lambda: [], lambda: []]
    assert not list(carrier._carried(parts, SIDE_BY_SIDE))
    assert len(carrier.waits) == 2 and 0 <= carrier.waited < 60
