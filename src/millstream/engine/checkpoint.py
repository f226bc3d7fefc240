"""Checkpoints: what a finished batch left behind, and how a run takes it up again."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from millstream.algebra.node import walk
from millstream.engine.clock import Clock
from millstream.engine.job import Job
from millstream.engine.measures import Measures
from millstream.engine.store import BucketStore, DamagedState, check_file, read_footer, write_whole
from millstream.errors import MillstreamError, Notice
from millstream.operators.retract import OPEN
from millstream.plan.statistics import NOTHING

KEPT = 3

FORMAT = 2
"""How operators lay out their state. A checkpoint of another format cannot be gone on from."""


@dataclass(frozen=True)
class Commit:
    """One finished batch: the clock after it, how far results had come, and what was computed.

    `streams` and `queries` are fingerprints: of declarations, and of everything a query computes.
    `levels` is how many levels there were, and left state; `joined` when queries came that were not
    there from the beginning. `ending` is how rows were told to leave, and `drains` is true while
    rows are in it that an earlier strategy gave out open. `measures` is what operators took and
    gave, `choices` how plans were made, `hot` the keys whose rows are spread. `rules` is how
    plans were rewritten, and `views` the parts of queries that were views of their own: a plan
    must not change under its state. `changes` are stored results whose changes were told as well.
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
    choices: dict[str, Any] = field(default_factory=dict)
    hot: dict[str, Any] = field(default_factory=dict)
    rules: str = "on"
    views: dict[str, list[str]] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)
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
        return Commit(**{"format": 1, **fields, "clock": Clock.from_json(fields["clock"])})


@dataclass(frozen=True)
class Checkpoint:
    """The folder of a run: commits, state, and Spark's own log of offsets."""

    folder: Path

    @property
    def commits(self) -> Path:
        return self.folder / "commits"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def spark(self) -> Path:
        return self.folder / "spark"

    def write(self, commit: Commit) -> None:
        """Record a finished batch; older records go."""
        self.commits.mkdir(parents=True, exist_ok=True)
        write_whole(self.commits / f"{commit.batch:012d}.json", [commit.to_bytes()])
        for path in sorted(self.commits.glob("*.json"))[:-KEPT]:
            path.unlink(missing_ok=True)

    def take_up(self) -> tuple[Commit | None, list[Notice]]:
        """The last batch that can be gone on from; a damaged one is gone back on.

        Never a wrong answer: when neither the last batch nor the one before is whole, the
        checkpoint is refused by name.
        """
        paths = sorted(self.commits.glob("*.json"), reverse=True)
        notices: list[Notice] = []
        for path in paths[:2]:
            problem = self._problem(path)
            if problem is None:
                commit = Commit.from_bytes(path.read_bytes())
                assert commit is not None
                self.check_format(commit)
                self._mend_spark(commit.batch)
                return commit, notices
            notices.append(Notice(f"{problem}; going back a batch"))
            path.unlink()
        if not paths:
            if any(self.spark.glob("commits/[0-9]*")):
                raise self._refused("it holds no record of a finished batch")
            return None, notices
        raise self._refused("; ".join(n.message for n in notices) or "no batch in it is whole")

    def check_format(self, commit: Commit) -> None:
        """Raise unless the state of a batch can be read."""
        if commit.format != FORMAT:
            raise MillstreamError(
                f'checkpoint "{self.folder}" cannot be used: its state is of format '
                f"{commit.format}, and this version reads format {FORMAT}",
                hint="Start anew with another --checkpoint, or go on with the version it is from.",
            )

    def _problem(self, path: Path) -> str | None:
        commit = Commit.from_bytes(path.read_bytes())
        if commit is None:
            return f'"{path.name}" in "{self.commits}" is damaged'
        try:
            for file in self.state.glob(f"level*/bucket*/{commit.batch:012d}.state"):
                check_file(file)
            self._count_files(commit)
        except DamagedState as error:
            return error.message
        return None

    def _count_files(self, commit: Commit) -> None:
        """Every bucket of every level of the batch must have its file."""
        for level in range(1, commit.levels + 1):
            for bucket in range(commit.buckets):
                path = BucketStore.at(self.state, level, bucket).path(commit.batch)
                if not path.exists():
                    raise DamagedState(f'state file "{path}" is missing')

    def holds_open(self, commit: Commit) -> bool:
        """Whether there are rows in the state that must be taken back by negative ones."""
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
        for file in self.state.glob(f"level*/bucket*/{commit.batch:012d}.state"):
            yield from read_footer(file)["operators"].items()

    def _mend_spark(self, batch: int) -> None:
        """Make Spark's log agree: the next batch runs again with the same offsets, if they are
        whole; batches after it are planned anew."""
        for kind, most in (("commits", batch), ("offsets", batch + 1)):
            for path in [*(self.spark / kind).glob("*"), *(self.spark / kind).glob(".*.crc")]:
                number = path.name.strip(".").removesuffix(".crc")
                if not number.isdecimal():
                    continue
                damaged = kind == "offsets" and int(number) > batch and not _is_whole(path)
                if int(number) > most or damaged:
                    path.unlink(missing_ok=True)
        needed = self.spark / "offsets" / str(batch)
        if needed.exists() and not _is_whole(needed):
            raise self._refused(f'"{needed}" is damaged')

    def _refused(self, why: str) -> MillstreamError:
        return MillstreamError(
            f'checkpoint "{self.folder}" cannot be used: {why}',
            hint="Put a copy of the folder in its place, or start anew with another --checkpoint.",
        )


def compare(
    commit: Commit, job: Job, folder: Path, opening: Set[str] = frozenset()
) -> list[Notice]:
    """What a changed script means for a checkpoint: fresh starts are told, misfits are refused.

    Queries that are `opening` are new, and begin with the content of what runs already.
    """
    notices = []
    for name, stream in job.streams.items():
        before = commit.streams.get(name)
        if before is not None and before != stream.declared:
            raise MillstreamError(
                f'checkpoint "{folder}" was made with another declaration of stream "{name}"',
                detail="Its place in the source and its rows in state do not fit the new one.",
                hint="Declare the stream as before, or start anew with another --checkpoint.",
            )
    now = fingerprints(job)
    for name, mark in now.items():
        if name not in commit.queries:
            how = "begins with what runs already" if name in opening else "starts fresh"
            notices.append(Notice(f'query "{name}" is new on this checkpoint: it {how}'))
        elif commit.queries[name] != mark:
            notices.append(
                Notice(
                    f'query "{name}" computes something else than on this checkpoint: '
                    "it starts fresh, and its earlier state and result are dropped"
                )
            )
    if commit.rules != job.settings.rules:
        notices.append(Notice(f"rules = {commit.rules} is kept from the checkpoint"))
    notices += [
        Notice(f'changes of "{name}" are told from now on: rows that are there may leave untold')
        for name in sorted(job.changes - set(commit.changes))
        if commit.queries.get(name) == now.get(name)
    ]
    for name in commit.queries:
        if name not in now:
            notices.append(
                Notice(f'query "{name}" of this checkpoint is gone: its state is dropped')
            )
    return notices


def settled(job: Job, commit: Commit, checkpoint: Checkpoint) -> Job:
    """The job as it goes on from a commit: the plans of its queries are made as they were, and
    those that the commit does not have join now. State that another strategy left is taken over."""
    same = {
        name: (commit.joined.get(name, ""), commit.views.get(name, []))
        for name, mark in fingerprints(job).items()
        if commit.queries.get(name) == mark
    }
    job = going_on(job, same, commit.batch, commit.rules)
    job = replace(job, counted=checkpoint.counted(commit))
    return job.after(commit.ending, commit.drains) if checkpoint.holds_open(commit) else job


def going_on(
    job: Job, same: Mapping[str, tuple[str, Sequence[str]]], batch: int, rules: str
) -> Job:
    """The job after a batch. Of queries that stay the `same` it is known when they joined and which
    of their parts were views; the others join now."""
    queries = []
    for query in job.queries:
        if query.name not in same:
            queries.append(replace(query, joined=f"after batch {batch}"))
            continue
        joined, views = same[query.name]
        parts = tuple(node for node in walk(query.plan) if node.fingerprint in views)
        queries.append(replace(query, joined=joined, views=parts))
    return replace(job, queries=tuple(queries), settings=replace(job.settings, rules=rules))


def views_of(job: Job) -> dict[str, list[str]]:
    """The parts of every query that are views of their own."""
    return {q.name: sorted(view.fingerprint for view in q.views) for q in job.queries}


def decided(job: Job, commit: Commit | None) -> Job:
    """The job with the plans that it had; those of new queries follow what has been measured."""
    if commit is None:
        return job.decided({}, NOTHING)
    known = {part: tuple(steps) for part, steps in commit.choices.items()}
    guessed = job.decided(known, NOTHING)
    measures = Measures.from_json(commit.measures)
    return job.decided(known, measures.statistics(guessed.graph)) if measures.of else guessed


def fingerprints(job: Job) -> dict[str, str]:
    """For every query, a short name of all it computes."""
    return {q.name: q.plan.fingerprint + q.form for q in job.queries}


def _is_whole(path: Path) -> bool:
    """A line of Spark's log of offsets: a version, then JSON lines."""
    try:
        lines = path.read_text().splitlines()
        for line in lines[1:]:
            if line != "-":
                json.loads(line)
        return len(lines) >= 3 and lines[0].startswith("v")
    except (OSError, ValueError):
        return path.suffix == ".crc"
