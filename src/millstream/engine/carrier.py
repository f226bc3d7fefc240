"""Carriers: who carries out a batch. In this process here; Spark's executors have another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

from millstream.engine.messages import Message, Sent, TimeTold
from millstream.engine.placement import DRIVER
from millstream.engine.work import Work


class Carrier(Protocol):
    """Carries out a planned batch: messages for the driver out, states in the store.

    Law: who carries a batch changes no answer and no state. `place` is where it does.
    """

    @property
    def place(self) -> str: ...

    def carry(self, work: Work) -> Iterable[Message]: ...


@dataclass(frozen=True)
class InProcess:
    """Carries a batch out in this process, one part after the other."""

    place: ClassVar[str] = DRIVER

    def carry(self, work: Work) -> Iterator[Message]:
        mail: dict[tuple[int, int], list[Sent]] = {}

        def sorted_out(messages: Iterable[Message]) -> Iterator[Message]:
            """The messages for the driver; what is sent to buckets is kept for them."""
            for message in messages:
                if isinstance(message, Sent):
                    mail.setdefault((message.level, message.bucket), []).append(message)
                else:
                    yield message

        headers = []
        for task in work.batch.tasks:
            for message in sorted_out(work.read(task)):
                if isinstance(message, TimeTold):
                    headers.append(message.header)
                yield message
        for again in work.batch.again.tasks:
            yield from sorted_out(work.read_again(*again))
        for level in range(1, work.job.graph.depth + 1):
            for bucket in range(work.buckets):
                sent = mail.pop((level, bucket), [])
                yield from sorted_out(work.run(level, bucket, headers, sent))
        yield from work.samples()
