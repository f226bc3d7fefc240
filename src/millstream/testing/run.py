"""Run a script on the local host, with results in memory or in a folder."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from millstream.database import Database
from millstream.database.contents import Contents
from millstream.engine.receivers import Callbacks, Receiver
from millstream.local.host import LocalHost


def run_script(
    script: str,
    base: str | Path = ".",
    settings: Mapping[str, str] | None = None,
    restart: bool = False,
    strategies: Sequence[str] = (),
    close: bool = False,
) -> dict[str, pa.Table]:
    """The results of a script over bounded sources, by name.

    A stored result stands under its name, its changes under `<name>.changes`; late and bad rows
    under `<stream>.late` and `<stream>.errors`. With `restart`, everything the job knows goes to
    disk and is read again after every batch; `strategies` are taken in turn then. With `close`,
    time goes on after the last row until every window is closed.
    """
    database = Database(str(base), lambda text: None, contents=Contents(allows_python=True))
    for name, value in (settings or {}).items():
        database.pin(name, value)
    database.execute(script)
    job = database.job(frozenset(database.queries))
    kept = KeptResults()
    receivers: list[Receiver] = [kept]
    host = LocalHost(job, database.sources(follow=False), receivers, closes=close)
    if restart:
        with tempfile.TemporaryDirectory() as folder:
            turns = itertools.cycle(strategies or [None])
            while not host.is_done:
                host.batch()
                host = host.restarted(Path(folder), next(turns))
            host.finish()
    else:
        host.run()
    return kept.tables()


class KeptResults(Callbacks):
    """Keeps every result in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: dict[str, list[pa.RecordBatch]] = {}

    def rows(self, name: str, batch: pa.RecordBatch, number: int) -> None:
        self.parts.setdefault(name, []).append(batch)

    def whole(self, name: str, content: pa.RecordBatch) -> None:
        self.parts[name] = [content]

    def tables(self) -> dict[str, pa.Table]:
        return {name: pa.Table.from_batches(parts) for name, parts in self.parts.items()}
