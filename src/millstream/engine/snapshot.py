"""Snapshots: what relations of a job hold, as a finished batch has left them, read by anybody."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from millstream.algebra.changes import concat_rows
from millstream.algebra.node import NOTHING, Node, Wanted
from millstream.engine.checkpoint import Checkpoint
from millstream.engine.finished import Finished
from millstream.engine.holdings import held_in
from millstream.engine.job import Job
from millstream.engine.outputs import COMPLETE, Query
from millstream.engine.states import FileStates, States, StateStore
from millstream.engine.store import DamagedState
from millstream.files import Folder
from millstream.operators import Stored
from millstream.state.chunks import Chunk, Log, Part

Reference = tuple[str, int, int, int]
Known = dict[Reference, Chunk]


class Moved(Exception):
    """The states that were to be read are no more: the job has gone on."""


@dataclass
class Snapshot:
    """What the relations of a job hold after a finished batch; all of them are of that batch.

    Law: it is the same whenever it is looked at, as long as its states are there: those of the last
    batch are, and one before it. It waits for nobody, and nobody for it.
    State: what was read of it, and chunks of the snapshot before that are the same still.
    """

    job: Job
    last: Finished
    states: StateStore
    buckets: int
    before: Known = field(default_factory=dict)
    read: Known = field(default_factory=dict)
    _states: dict[tuple[int, int], States] = field(default_factory=dict)
    _contents: dict[tuple[str, int], pa.RecordBatch] = field(default_factory=dict)

    def after(self, job: Job, last: Finished) -> Snapshot:
        """The snapshot of the next batch. Chunks that were read lately need not be read again."""
        return Snapshot(job, last, self.states, self.buckets, self.read)

    def query(self, name: str) -> Query | None:
        """A query of the job that the batch was of."""
        return next((q for q in self.job.queries if q.name.lower() == name.lower()), None)

    def holds(self, query: Query) -> bool:
        """Whether the content of this query, and no other of its name, can be read here."""
        mine = self.query(query.name)
        if mine is None or mine.form != COMPLETE or self.last.number < 0:
            return False
        level = self.job.graph.level[self.job.materialized_roots[mine.name]]
        return mine.text == query.text and level <= self.last.levels

    def instant(self, name: str) -> int:
        """The heartbeat of a stored result: the last instant whose answer is final."""
        return self._beat(self.job.materialized_roots[name])

    def kept_since(self, name: str) -> int:
        """The first instant at which the content of a stored result can be told."""
        root = self.job.materialized_roots[name]
        beat, stored = self._beat(root), _stored(root)
        level = self.job.graph.level[root]
        found = (stored.remembers_from(self._load(level, bucket)) for bucket in range(self.buckets))
        marks = [mark for mark in found if mark is not None]
        if not marks or stored.is_read_last:
            return beat
        begins = max(marks)
        return min(beat, max(begins, beat - stored.state_layout.history))

    def content(
        self, name: str, wanted: Wanted = NOTHING, instant: int | None = None
    ) -> pa.RecordBatch:
        """The rows of a stored result; those that are not wanted may be left out."""
        root = self.job.materialized_roots[name]
        at = self._beat(root) if instant is None else instant
        if not wanted and (name, at) in self._contents:
            return self._contents[name, at]
        try:
            rows = concat_rows(self._parts(root, at, wanted), root.schema)
        except (KeyError, DamagedState) as gone:
            raise Moved from gone
        if not wanted:
            self._contents[name, at] = rows
        return rows

    def _parts(self, root: Node, instant: int, wanted: Wanted) -> list[pa.RecordBatch]:
        level = self.job.graph.level[root]
        return [
            _stored(root).content(self._load(level, bucket), instant, wanted)
            for bucket in range(self.buckets)
        ]

    def _beat(self, root: Node) -> int:
        return self.last.clock.beats.get(min(self.job.graph.sources[root]), 0)

    def _load(self, level: int, bucket: int) -> States:
        """The states of a bucket; chunks that were loaded before are not loaded again."""
        at = level, bucket
        if at not in self._states:
            try:
                found = self.states.read(level, bucket, self.last.number)
            except (KeyError, DamagedState) as gone:
                raise Moved from gone
            self._states[at] = {
                name: {part: self._known(value) for part, value in state.items()}
                for name, state in found.items()
            }
        return self._states[at]

    def _known(self, part: Part) -> Part:
        """A part with the chunks that are known already."""
        if not isinstance(part, Log):
            return part
        chunks = tuple(
            chunk if chunk.reference is None else self._chunk(chunk, chunk.reference)
            for chunk in part.chunks
        )
        return Log(chunks)

    def _chunk(self, chunk: Chunk, reference: Reference) -> Chunk:
        found = self.before.get(reference, chunk)
        self.read[reference] = found
        return found


def _stored(root: Node) -> Stored:
    """The node that keeps a result."""
    stored = root if isinstance(root, Stored) else root.inputs[0]
    assert isinstance(stored, Stored)
    return stored


def snapshot_in(folder: str | Path | Folder, job: Job) -> Snapshot:
    """What the last finished batch of a checkpoint left; nothing in the folder is touched."""
    held = held_in(folder, job)
    checkpoint = Checkpoint.at(folder)
    commit = checkpoint.last()
    assert commit is not None
    states = FileStates(checkpoint.state.url)
    return Snapshot(held.job, Finished.of(commit), states, commit.buckets)
