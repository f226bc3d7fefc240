"""The host of a connection: this process, or Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from millstream.database import Database
from millstream.database.events import BatchFinished, Noticed
from millstream.database.run import Host
from millstream.engine.checkpoint import Checkpoint, Commit
from millstream.engine.driver import Driver
from millstream.engine.job import Job
from millstream.engine.receivers import Receiver
from millstream.engine.waiting import Watch
from millstream.local.host import LocalHost

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HOSTS = ("spark", "local")


class RunningHost(Host, Protocol):
    """What a connection asks of a host."""

    @property
    def driver(self) -> Driver: ...

    @property
    def is_active(self) -> bool: ...

    def run(self) -> None: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def close(self) -> None: ...

    def content(self, name: str) -> pa.RecordBatch: ...


@dataclass(frozen=True)
class Asked:
    """What a run was asked for: to follow its sources, to close its windows at the end, to start
    queries fresh."""

    follow: bool
    closes: bool = False
    restart: Iterable[str] = ()


def host_for(
    database: Database,
    job: Job,
    receivers: Callable[[Commit | None], list[Receiver]],
    asked: Asked,
    spark: SparkSession | None,
    foreign: dict[str, DataFrame],
) -> RunningHost:
    """A host on the checkpoint of the run that the database has begun; on Spark if there is a
    session."""
    events = database.events
    assert database.checkpoint is not None, "every run of a connection has a checkpoint"

    def report(batch: Any) -> None:
        with database.delivery.under_way():
            events.tell(BatchFinished(batch))

    def tell(notice: Any) -> None:
        events.publish(Noticed(notice))

    def waiting(notice: Any) -> None:
        with database.delivery.under_way():
            events.tell(Noticed(notice))

    if spark is None:
        host = _local_host(database, database.checkpoint, job, receivers, asked, tell)
        host.progress, host.watch = report, Watch(waiting)
        return host
    from millstream.spark.host import SparkHost

    return SparkHost(
        spark,
        job,
        receivers,
        database.checkpoint,
        asked.follow,
        foreign=foreign,
        progress=report,
        tell=tell,
        waits=waiting,
        restart=asked.restart,
        closes=asked.closes,
    )


def _local_host(
    database: Database,
    checkpoint: Checkpoint,
    job: Job,
    receivers: Callable[[Commit | None], list[Receiver]],
    asked: Asked,
    tell: Callable[[Any], None],
) -> LocalHost:
    sources = database.sources(asked.follow)
    return LocalHost.on(
        checkpoint, job, sources, receivers, asked.follow, asked.closes, asked.restart, tell
    )
