"""What operators hold: the rows, chunks and bytes of their states after a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from millstream.algebra.node import Node
from millstream.engine.checkpoint import Checkpoint, decided, fingerprints, settled, understood
from millstream.engine.job import Job
from millstream.engine.measures import Measures
from millstream.engine.store import BucketStore
from millstream.errors import MillstreamError
from millstream.files import Folder
from millstream.plan.statistics import Statistics
from millstream.state.chunks import Chunk, Log, Part, State


@dataclass(frozen=True)
class Holding:
    """A sum of rows, of the chunks they lie in, and of the bytes these take."""

    rows: int = 0
    chunks: int = 0
    bytes: int = 0

    @staticmethod
    def of(part: Part) -> Holding:
        if isinstance(part, Log):
            size = sum(map(_bytes_of, part.chunks))
            return Holding(part.rows, len(part.chunks), size)
        return Holding(part.num_rows, 1 if part.num_rows else 0, part.nbytes)

    def __add__(self, other: Holding) -> Holding:
        return Holding(self.rows + other.rows, self.chunks + other.chunks, self.bytes + other.bytes)


@dataclass(frozen=True)
class Held:
    """The states that a job left after a batch, one mapping for every level and bucket; and what
    it has measured."""

    job: Job
    batch: int
    states: tuple[Mapping[str, State], ...]
    measures: Measures = field(default_factory=Measures)

    @cached_property
    def statistics(self) -> Statistics:
        """What the measures say, for those who choose between plans."""
        return self.measures.statistics(self.job.graph)

    @cached_property
    def found(self) -> dict[tuple[str, str], Holding]:
        """What is held, by the names of operators and of the parts of their states."""
        sums: dict[tuple[str, str], Holding] = {}
        for states in self.states:
            for name, state in states.items():
                for part, value in state.items():
                    at = name, part
                    sums[at] = sums.get(at, Holding()) + Holding.of(value)
        return sums

    def of(self, node: Node, part: str) -> Holding:
        return self.found.get((node.state_name, part), Holding())


def read_states(
    state: Folder, levels: int, buckets: int, batch: int
) -> tuple[Mapping[str, State], ...]:
    """The states of all levels and buckets after a batch. Chunks are not read, only described."""
    return tuple(
        BucketStore.at(state, level, bucket).read(batch)
        for level in range(1, levels + 1)
        for bucket in range(buckets)
    )


def held_in(folder: str | Path | Folder, job: Job) -> Held:
    """What the last finished batch of a checkpoint left; nothing in the folder is touched."""
    checkpoint = Checkpoint.at(folder)
    commit = checkpoint.last()
    if commit is None:
        raise MillstreamError(
            f'"{checkpoint.folder.shown}" holds no finished batch',
            hint="Name a folder that was given to millstream run --checkpoint.",
        )
    checkpoint.check_format(commit)
    commit = understood(commit, job)
    known = fingerprints(job)
    queries = tuple(q for q in job.queries if commit.queries.get(q.name) == known[q.name])
    settings = job.settings.with_ending(commit.ending)
    same = Job(job.streams, queries, settings, frozenset(commit.changes))
    states = read_states(checkpoint.state, commit.levels, commit.buckets, commit.batch)
    same = decided(settled(same, commit, checkpoint), commit)
    return Held(same, commit.batch, states, Measures.from_json(commit.measures))


def _bytes_of(chunk: Chunk) -> int:
    return chunk.changes.to_batch().nbytes if chunk.reference is None else chunk.reference[2]
