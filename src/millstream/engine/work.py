"""The work of a batch: read tasks, and buckets of levels, wherever they are carried out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from millstream.algebra.changes import Changes
from millstream.algebra.node import BROADCAST, Node
from millstream.algebra.time import DAWN, Span
from millstream.connect.source import Source
from millstream.engine.clock import Clock, Header
from millstream.engine.hot_keys import HotKeys
from millstream.engine.job import Job
from millstream.engine.level import Bucket, Level
from millstream.engine.messages import (
    ERRORS,
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
from millstream.engine.opening import Opening, after_opening, open_bucket
from millstream.engine.read_tasks import ReadResult, ReadTask, run_read_task
from millstream.engine.rereading import Rereading
from millstream.engine.sending import Sender
from millstream.engine.states import StateStore, rows_in
from millstream.engine.trail import Mark
from millstream.operators import Exchange, SkewSplit, Tagged
from millstream.plan.graph import Graph
from millstream.plan.late import kept_by


@dataclass(frozen=True)
class Batch:
    """One planned batch: its read tasks, and where the batch before has left the job.

    `left` says for every level which batch left its state, −1 for a level that is new; `opening`
    which queries are new, and begin with what is there; `again` what is read once more for them.
    """

    number: int
    tasks: tuple[ReadTask, ...]
    clock: Clock
    hot: HotKeys
    left: tuple[int, ...]
    opening: Opening = field(default_factory=Opening)
    again: Rereading = field(default_factory=Rereading)


@dataclass(frozen=True, eq=False)
class Work:
    """A batch with all that is needed to carry out any part of it.

    Law: the messages are the same wherever, in whatever order and however often its parts are
    carried out, as long as every level comes after those below it.
    """

    job: Job
    batch: Batch
    buckets: int
    wanted: frozenset[str]
    open_sources: Callable[[], Mapping[str, Source]]
    states: StateStore
    _known_spans: dict[tuple[Header, ...], dict[Node, Span]] = field(default_factory=dict)

    @cached_property
    def sources(self) -> Mapping[str, Source]:
        """The sources, opened by who reads them."""
        return self.open_sources()

    @cached_property
    def sender(self) -> Sender:
        groups = self.job.graph.watermark_groups
        alone = frozenset(name for name, group in groups.items() if len(group) == 1)
        return Sender(self.job.graph, self.buckets, self.batch.hot, alone)

    def samples(self) -> Iterator[Message]:
        """What was sent to meetings since this was last asked."""
        taken = [Sampled(sample) for sample in self.sender.samples]
        self.sender.samples.clear()
        return iter(taken)

    def read(self, task: ReadTask) -> Iterator[Message]:
        """Carry out a read task; one for a stream that the job no longer has gives nothing."""
        if task.source in self.job.streams:
            stream = self.job.streams[task.source]
            source = self.sources.get(task.source) if task.slices else None
            read = run_read_task(task, stream, source, self.sender, self.batch.clock)
            yield from self.messages_of(task.source, read)

    def read_again(self, task: ReadTask, mark: Mark) -> Iterator[Message]:
        """Carry out a read task once more, for the queries that open: nobody else hears of it."""
        stream, floors = self.job.streams[task.source], self._floors
        read = run_read_task(
            task, stream, self.sources[task.source], self._sender_again, mark.clock(stream.name)
        )
        for box, bucket, changes, turn in read.sent:
            exchange = box.input if isinstance(box, SkewSplit) else box
            floor = floors.get((exchange, task.source), DAWN)
            rows = changes if floor == DAWN else changes.keep(changes.ts > floor)
            yield from self._sent(box, bucket, rows, turn)

    @cached_property
    def _sender_again(self) -> Sender:
        roots = [root for name in self.batch.again.floors for root in self.job.roots_of(name)]
        return Sender(Graph(tuple(dict.fromkeys(roots))), self.buckets, self.batch.hot)

    @cached_property
    def _floors(self) -> dict[tuple[Node, str], int]:
        """For exchanges and streams, after which instant rows count."""
        return {
            (exchange, stream): floor
            for name, floors in self.batch.again.floors.items()
            for exchange in Graph(self.job.roots_of(name)).exchanges
            for stream, floor in floors.items()
        }

    def messages_of(self, stream: str, read: ReadResult) -> Iterator[Message]:
        """What was read, as messages."""
        for box, bucket, changes, turn in read.sent:
            yield from self._sent(box, bucket, changes, turn)
        for header in read.headers:
            yield TimeTold(header)
        for kind, rows in ((LATE, read.late), (ERRORS, read.errors)):
            if rows.num_rows:
                yield Refused(stream, kind, rows)
        if read.counts:
            yield Counted(0, read.counts)

    def run(
        self, number: int, place: int, headers: Sequence[Header], sent: Iterable[Sent]
    ) -> Iterator[Message]:
        """Carry out one bucket of a level, with all that was sent there; its state is stored."""
        started = time.perf_counter()
        batch, graph = self.batch, self.job.graph
        before = batch.left[number - 1]
        spans = self._spans(tuple(headers))
        saved = self.states.read(number, place, before)
        bucket = Bucket(graph, number, place, self.buckets, spans, saved, batch.hot)
        mail = _mail(bucket.boxes, sent)
        loaded = time.perf_counter()
        emitted = 0
        if batch.opening.queries:
            whole = {box: Changes.concat(parts, box.schema) for box, parts in mail.items()}
            yield from self._opened(bucket, whole)
            mail = {box: [rest] for box, rest in after_opening(bucket, whole).items()}
        for level in bucket.steps(mail):
            yield from self._sent_up(number, level)
            for answer in self._answers(number, level):
                emitted += len(answer.changes)
                if answer.query in self.wanted and len(answer.changes):
                    yield answer
        computed = time.perf_counter()
        written = self.states.write(number, place, batch.number, bucket.states, before)
        ended = time.perf_counter()
        seconds = loaded - started, computed - loaded, ended - computed
        yield Worked(number, place, emitted, rows_in(bucket.states), written, *seconds)
        yield Counted(number, bucket.counts)
        for stream, rows in bucket.failed:
            yield Refused(stream, ERRORS, rows)

    def _opened(self, bucket: Bucket, mail: Mapping[Node, Changes]) -> Iterator[Message]:
        """Let new nodes begin with the rows that are there; gives what they send, and the first
        answers of their queries."""
        job, graph, opening = self.job, self.job.graph, self.batch.opening
        level = open_bucket(bucket, mail, opening)
        changelogs = {n: r for n, r in job.changelog_roots.items() if n in opening.queries}
        kept = [r for n, r in job.materialized_roots.items() if n in opening.queries]
        for exchange in opening.feeds(graph, changelogs.values()):
            if graph.level[exchange.input] == bucket.number:
                yield from self._sent_through(exchange, level)
        for root in dict.fromkeys((*changelogs.values(), *kept)):
            if opening.is_new(root) and graph.level[root] == bucket.number:
                level.output(root)
        for name, root in changelogs.items():
            if isinstance(root, Tagged) and graph.level[root] == bucket.number:
                answer = Answer(name, level.first_answer(root))
                if name in self.wanted and len(answer.changes):
                    yield answer
        bucket.states.update(level.states)

    def _spans(self, headers: tuple[Header, ...]) -> dict[Node, Span]:
        """For every node, the instants that the batch adds."""
        if headers not in self._known_spans:
            after = self.job.advance(self.batch.clock, list(headers))
            self._known_spans[headers] = self.job.spans(self.batch.clock, after)
        return self._known_spans[headers]

    def _sent_up(self, number: int, level: Level) -> Iterator[Message]:
        """What a level sends to the levels above."""
        graph = self.job.graph
        for exchange in graph.exchanges:
            if graph.level[exchange.input] == number and level.gives(exchange.input):
                yield from self._sent_through(exchange, level)

    def _sent_through(self, exchange: Exchange, level: Level) -> Iterator[Message]:
        if level.bucket and self.job.graph.distributions[exchange.input] == BROADCAST:
            return
        out = level.output(exchange.input)
        for box, bucket, part in self.sender.parts(exchange, out, level.bucket):
            yield from self._sent(box, bucket, part, level.bucket)

    def _answers(self, number: int, level: Level) -> Iterator[Answer]:
        """The changes of every answer that comes out of a level; stored results are kept there."""
        graph = self.job.graph
        for name, root in self.job.changelog_roots.items():
            if graph.level[root] == number and level.gives(root):
                yield Answer(name, level.output(root))
        for root in self.job.materialized_roots.values():
            if graph.level[root] == number and level.gives(keeper := kept_by(root)):
                level.output(keeper)

    def _sent(self, box: Node, bucket: int, changes: Changes, turn: int) -> Iterator[Message]:
        for landing in self.job.graph.landings[box]:
            yield Sent(landing, bucket, box.fingerprint, turn, changes)


def _mail(boxes: Iterable[Node], sent: Iterable[Sent]) -> dict[Node, list[Changes]]:
    """What was sent to every exchange and skew split of a bucket, in the order of arrival."""
    parts: dict[str, list[Changes]] = {}
    for message in sorted(sent, key=lambda message: message.turn):
        parts.setdefault(message.box, []).append(message.changes)
    return {box: parts.get(box.fingerprint, []) for box in boxes}
