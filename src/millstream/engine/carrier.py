"""Carriers: who carries out a batch. In this process here; Spark's executors have another."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Protocol

from millstream.engine.clock import Header
from millstream.engine.effort import waited_here
from millstream.engine.messages import Message, Sent, TimeTold
from millstream.engine.placement import DRIVER, planned_rows
from millstream.engine.work import Work

Part = Callable[[], Iterable[Message]]

SIDE_BY_SIDE = 50_000
"""Rows from which on parts of a batch are carried out side by side. For fewer, threads that wait
for each other's Python cost more than they save."""

MOST_THREADS = 4
"""More only wait for each other."""


def threads_here(cores: int | None = None) -> int:
    """How many threads carry a batch in this process, which may use so many cores."""
    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(mine or 1, MOST_THREADS, cores or MOST_THREADS)


class Carrier(Protocol):
    """Carries out a planned batch: messages for the driver out, states in the store.

    Law: who carries a batch changes no answer and no state. `place` is where it does; `waited` says
    for how many seconds threads of this process, beside the one that asks, had no core.
    """

    @property
    def place(self) -> str: ...

    @property
    def waited(self) -> float: ...

    def carry(self, work: Work) -> Iterable[Message]: ...


@dataclass(frozen=True)
class InProcess:
    """Carries a batch out in this process: read tasks, and then the buckets of every level, on
    some threads, or one after the other where that is as fast.

    Law: the messages come in the order of the parts, however many threads there are.
    """

    place: ClassVar[str] = DRIVER

    threads: int = 1
    waits: list[float] = field(default_factory=list, compare=False)

    @property
    def waited(self) -> float:
        return sum(self.waits)

    def carry(self, work: Work) -> Iterator[Message]:
        self.waits.clear()
        mail: dict[tuple[int, int], list[Sent]] = {}

        def sorted_out(messages: Iterable[Message]) -> Iterator[Message]:
            """The messages for the driver; what is sent to buckets is kept for them."""
            for message in messages:
                if isinstance(message, Sent):
                    mail.setdefault((message.level, message.bucket), []).append(message)
                else:
                    yield message

        headers = []
        for message in sorted_out(self._read(work)):
            if isinstance(message, TimeTold):
                headers.append(message.header)
            yield message
        for again in work.batch.again.tasks:
            yield from sorted_out(work.read_again(*again))
        for level in range(1, work.job.graph.depth + 1):
            sent = [mail.pop((level, bucket), []) for bucket in range(work.buckets)]
            yield from sorted_out(self._run(work, level, headers, sent))
        yield from work.samples()

    def _read(self, work: Work) -> Iterator[Message]:
        tasks = work.batch.tasks
        return self._carried([partial(work.read, t) for t in tasks], planned_rows(tasks, 0))

    def _run(
        self, work: Work, level: int, headers: list[Header], sent: list[list[Sent]]
    ) -> Iterator[Message]:
        parts = [partial(work.run, level, bucket, headers, s) for bucket, s in enumerate(sent)]
        return self._carried(parts, sum(len(m.changes) for some in sent for m in some))

    def _carried(self, parts: Sequence[Part], rows: int) -> Iterator[Message]:
        if self.threads == 1 or len(parts) == 1 or rows < SIDE_BY_SIDE:
            for part in parts:
                yield from part()
            return
        with ThreadPoolExecutor(self.threads, "millstream-part") as pool:
            for found, waited in pool.map(_done, parts):
                self.waits.append(waited)
                yield from found


def _done(part: Part) -> tuple[list[Message], float]:
    """The messages of a part, and the seconds for which its thread had no core."""
    before = waited_here()
    return list(part()), waited_here() - before
