"""The run of a job, as the database core sees it: a host whose queries can change."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from millstream.catalog import Stream
from millstream.engine.clock import Clock
from millstream.engine.holdings import Held
from millstream.engine.job import Job
from millstream.engine.summary import Summary
from millstream.errors import MillstreamError


class Host(Protocol):
    """What a host must offer, so that queries can come and go while it runs a job."""

    @property
    def job(self) -> Job: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def summary(self) -> Summary:
        """What the run has read and emitted so far."""

    def change(self, job: Job) -> Any:
        """Go on with other queries from the next batch on."""

    def held(self) -> Held | None:
        """What operators hold after the last batch."""


@dataclass(frozen=True)
class Run:
    """A host that runs the job of a database.

    `read` are the streams of the run, with those that were dropped: the host knows a position and a
    time under their names.
    """

    host: Host
    read: dict[str, Stream] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.read.update(self.host.job.streams)

    def change(self, job: Job) -> None:
        """Go on with another job."""
        self.host.change(job)
        self.read.update(job.streams)


class Delivery(threading.local):
    """Which threads a host has lent to somebody for the rows or the report of a batch.

    Such a thread cannot change the job: that would wait for the end of the batch, which waits for
    the thread.
    """

    depth = 0

    @contextmanager
    def under_way(self) -> Iterator[None]:
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1

    def check(self) -> None:
        """An error in a thread that was lent, instead of waiting for ever."""
        if self.depth:
            raise MillstreamError(
                "the job cannot be changed by a function that it has called with rows or an event",
                hint="Do it in another thread, for example threading.Thread(target=…).start().",
            )
