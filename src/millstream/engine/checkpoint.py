"""Checkpoints: what a finished batch left behind, and how a run takes it up again."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from millstream.algebra.node import Node
from millstream.engine.clock import Clock
from millstream.engine.job import Job, Kept
from millstream.engine.measures import Measures
from millstream.engine.outputs import Query
from millstream.engine.store import BucketStore, DamagedState
from millstream.errors import MillstreamError, Notice
from millstream.files import Folder, Lock, lock, open_folder
from millstream.operators.retract import OPEN
from millstream.plan.kept import read_kept
from millstream.plan.statistics import NOTHING

KEPT = 3

FORMAT = 3
"""The version of the layout of states. A run cannot go on from a checkpoint of another format."""


UNREADABLE = "#unreadable"
"""Stands for the fingerprint of a query whose plan this version cannot read."""


@dataclass(frozen=True)
class Commit:
    """One finished batch: the clock after it, how far results had come, and what was computed.

    `streams` and `queries` are fingerprints: of declarations, and of everything a query computes.
    `levels` is how many levels there were, and left state; `joined` when queries came that were not
    there from the beginning. `ending` is how the ends of rows were emitted, and `drains` is true
    while the state has rows that an earlier strategy emitted open. `measures` is what operators
    took and emitted, `plans` the plans of every query as text, since a plan must not change under
    its state; `hot` the keys whose rows are spread, `rules` which rules plans follow. `changes` are
    stored results whose changes were emitted as well. `bare` are the queries that got their names
    from us, None in a commit that does not know it; `gone` the queries that a later script does not
    have, with the sizes of the results they left; `host` is who made the checkpoint; `inferred` are
    the declarations of streams whose columns were inferred, by their names in lower case. `trail`
    says from where sources can be read again.
    """

    batch: int
    clock: Clock
    buckets: int
    sizes: dict[str, int] = field(default_factory=dict)
    streams: dict[str, str] = field(default_factory=dict)
    queries: dict[str, str] = field(default_factory=dict)
    positions: dict[str, Any] = field(default_factory=dict)
    levels: int = 0
    joined: dict[str, str] = field(default_factory=dict)
    ending: str = ""
    drains: bool = False
    measures: dict[str, Any] = field(default_factory=dict)
    plans: dict[str, list[str]] = field(default_factory=dict)
    hot: dict[str, Any] = field(default_factory=dict)
    rules: str = "on"
    changes: list[str] = field(default_factory=list)
    bare: list[str] | None = None
    gone: dict[str, dict[str, int]] = field(default_factory=dict)
    host: str = "spark"
    inferred: dict[str, str] = field(default_factory=dict)
    trail: dict[str, Any] = field(default_factory=dict)
    format: int = FORMAT

    def to_bytes(self) -> bytes:
        body = json.dumps({**vars(self), "clock": self.clock.to_json()}).encode()
        return b"%08x\n" % zlib.crc32(body) + body

    @staticmethod
    def from_bytes(data: bytes) -> Commit | None:
        """The commit, or None if the bytes are not all there."""
        head, _, body = data.partition(b"\n")
        if head != b"%08x" % zlib.crc32(body):
            return None
        fields = json.loads(body)
        known = {f: fields[f] for f in Commit.__dataclass_fields__ if f in fields}
        return Commit(**{"format": 1, **known, "clock": Clock.from_json(fields["clock"])})


@dataclass(frozen=True)
class Checkpoint:
    """The folder of a run: commits, state, and Spark's own log of offsets, or the plans of the
    local host.

    `lock` is held by the run that writes to it.
    """

    folder: Folder
    lock: Lock | None = field(default=None, compare=False)

    @staticmethod
    def locked(url: str | Path | Folder) -> Checkpoint:
        """The checkpoint for a run, the only one on it; an error names the process of another."""
        folder = open_folder(url)
        return Checkpoint(folder, lock(folder))

    def release(self) -> None:
        """Let others use it: the run has ended."""
        if self.lock is not None:
            self.lock.release()

    @staticmethod
    def at(url: str | Path | Folder | Checkpoint) -> Checkpoint:
        return url if isinstance(url, Checkpoint) else Checkpoint(open_folder(url))

    @property
    def commits(self) -> Folder:
        return self.folder.folder("commits")

    @property
    def state(self) -> Folder:
        return self.folder.folder("state")

    @property
    def jobs(self) -> Folder:
        return self.folder.folder("job")

    @property
    def spark(self) -> Folder:
        return self.folder.folder("spark")

    @property
    def plans(self) -> Folder:
        return self.folder.folder("plans")

    def write(self, commit: Commit) -> None:
        """Record a finished batch, and remove older records."""
        if self.lock is not None:
            self.lock.check()
        self.commits.put(f"{commit.batch:012d}.json", [commit.to_bytes()])
        for name in self._recorded()[KEPT:]:
            self.commits.remove(name)

    def last(self) -> Commit | None:
        """The last record that is whole; nothing in the folder is touched."""
        found = map(self._commit, self._recorded())
        return next((commit for commit in found if commit is not None), None)

    def take_up(self) -> tuple[Commit | None, list[Notice]]:
        """The last batch from which a run can go on; the one before, where the last is damaged.

        Answers are never wrong: when neither the last batch nor the one before is whole, the
        checkpoint is refused by name. A folder that cannot be reached is not a damaged one.
        """
        self.folder.tidy()
        names = self._recorded()
        notices: list[Notice] = []
        for name in names[:2]:
            commit = self._commit(name)
            if commit is not None:
                self.check_format(commit)
            problem = self._problem(name, commit)
            if commit is not None and problem is None:
                self._mend_spark(commit.batch)
                return commit, notices
            notices.append(Notice(f"{problem}; going back a batch"))
            self.commits.remove(name)
        if not names:
            if any(name.isdecimal() for name in self.spark.folder("commits").list()):
                raise self._refused("it holds no record of a finished batch")
            return None, notices
        raise self._refused("; ".join(n.message for n in notices) or "no batch in it is whole")

    def _recorded(self) -> list[str]:
        """The names of the records, the last one first."""
        return [name for name in reversed(self.commits.list()) if name.endswith(".json")]

    def _commit(self, name: str) -> Commit | None:
        return Commit.from_bytes(self.commits.get(name).to_pybytes())

    def check_format(self, commit: Commit) -> None:
        """Raise unless the state of a batch can be read."""
        if commit.format != FORMAT:
            raise MillstreamError(
                f'checkpoint "{self.folder.shown}" cannot be used: its state is of format '
                f"{commit.format}, and this version reads format {FORMAT}",
                hint="Start anew with another --checkpoint, or go on with the version it is from.",
            )

    def _problem(self, name: str, commit: Commit | None) -> str | None:
        if commit is None:
            return f'"{name}" in "{self.commits.shown}" is damaged'
        try:
            for bucket_store in self._bucket_stores(commit):
                bucket_store.check(commit.batch)
        except DamagedState as error:
            return error.message
        return None

    def _bucket_stores(self, commit: Commit) -> Iterator[BucketStore]:
        """Every bucket of every level of the batch has its file."""
        for level in range(1, commit.levels + 1):
            for bucket in range(commit.buckets):
                yield BucketStore.at(self.state, level, bucket)

    def holds_open(self, commit: Commit) -> bool:
        """Whether the state has rows that must be retracted by negative ones."""
        return any(
            part.get("chunks")  # what is counted beside them is a table
            for name, parts in self._parts(commit)
            if name.startswith(OPEN)
            for part in parts.values()
        )

    def counted(self, commit: Commit) -> frozenset[str]:
        """The names of states in which duplicates are counted."""
        return frozenset(name for name, parts in self._parts(commit) if "counts 0" in parts)

    def _parts(self, commit: Commit) -> Iterator[tuple[str, dict[str, Any]]]:
        """The states after a batch, by operator and bucket, as their files describe them."""
        for bucket_store in self._bucket_stores(commit):
            yield from bucket_store.footer(commit.batch)["operators"].items()

    def _mend_spark(self, batch: int) -> None:
        """Make Spark's log agree: the next batch runs again with the same offsets, if they are
        whole; batches after it are planned anew."""
        for kind, most in (("commits", batch), ("offsets", batch + 1)):
            folder = self.spark.folder(kind)
            for name in folder.list():
                number = name.strip(".").removesuffix(".crc")
                if not number.isdecimal():
                    continue
                damaged = kind == "offsets" and int(number) > batch and not _is_whole(folder, name)
                if int(number) > most or damaged:
                    folder.remove(name)
        offsets, needed = self.spark.folder("offsets"), str(batch)
        if offsets.has(needed) and not _is_whole(offsets, needed):
            raise self._refused(f'"{offsets.shown}/{needed}" is damaged')

    def _refused(self, why: str) -> MillstreamError:
        return MillstreamError(
            f'checkpoint "{self.folder.shown}" cannot be used: {why}',
            hint="Put a copy of the folder in its place, or start anew with another --checkpoint.",
        )


def understood(commit: Commit, job: Job) -> Commit:
    """The commit as this version reads it: a query whose plan it cannot read is another query."""
    marks = dict(commit.queries)
    for name, mark in fingerprints(job).items():
        if marks.get(name) == mark and _plans(commit, job.query(name)) is None:
            marks[name] = UNREADABLE
    return replace(commit, queries=marks)


def _plans(commit: Commit, query: Query) -> dict[Kept, Node] | None:
    """The plans of a query, read back; None when there are none that can be read."""
    joined, texts = commit.joined.get(query.name, ""), commit.plans.get(query.name, [])
    try:
        plans = [read_kept(text, query.plan, joined) for text in texts]
    except MillstreamError:
        return None
    if len(plans) != len(query.roots):
        return None
    return {(root, joined): plan for root, plan in zip(query.roots, plans)}


def settled(job: Job, commit: Commit, checkpoint: Checkpoint) -> Job:
    """The job as it goes on from a commit: its queries keep their plans, and those that the commit
    does not have join now. State that another strategy left is taken over."""
    same = {
        name: commit.joined.get(name, "")
        for name, mark in fingerprints(job).items()
        if commit.queries.get(name) == mark
    }
    job = going_on(job, same, commit.batch, commit.rules)
    kept: dict[Kept, Node] = {}
    for name in same:
        kept |= _plans(commit, job.query(name)) or {}
    job = replace(job, counted=checkpoint.counted(commit), kept=kept)
    return job.after(commit.ending, commit.drains) if checkpoint.holds_open(commit) else job


def going_on(job: Job, same: Mapping[str, str], batch: int, rules: str) -> Job:
    """The job after a batch. Queries that stay the `same` keep the note of when they joined; the
    others join now."""
    now = f"after batch {batch}"
    queries = tuple(replace(q, joined=same.get(q.name, now)) for q in job.queries)
    return replace(job, queries=queries, settings=replace(job.settings, rules=rules))


def decided(job: Job, commit: Commit | None) -> Job:
    """The job with the plans that it had; those of new queries follow what has been measured."""
    if commit is None:
        return job.decided({}, NOTHING)
    guessed = job.decided(job.kept, NOTHING)
    measures = Measures.from_json(commit.measures)
    return job.decided(job.kept, measures.statistics(guessed.graph)) if measures.of else guessed


def fingerprints(job: Job) -> dict[str, str]:
    """For every query, a short name of all it computes."""
    return {query.name: fingerprint(query) for query in job.queries}


def fingerprint(query: Query) -> str:
    """A short name of all that a query computes, whatever it is called."""
    return query.plan.fingerprint + query.form


def _is_whole(folder: Folder, name: str) -> bool:
    """A line of Spark's log of offsets: a version, then JSON lines."""
    if name.endswith(".crc"):
        return True
    try:
        lines = folder.get(name).to_pybytes().decode().splitlines()
        for line in lines[1:]:
            if line != "-":
                json.loads(line)
        return len(lines) >= 3 and lines[0].startswith("v")
    except ValueError:
        return False
