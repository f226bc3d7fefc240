"""Taking up a checkpoint: from a job as its script asks for it to one that goes on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from millstream.engine import script_changes
from millstream.engine.checkpoint import (
    Checkpoint,
    Commit,
    decided,
    fingerprints,
    settled,
    understood,
)
from millstream.engine.driver import Driver, Finished
from millstream.engine.job import Job
from millstream.engine.live_change import Joined, opened
from millstream.engine.opening import Opening
from millstream.engine.receivers import Receiver
from millstream.engine.states import FileStates
from millstream.errors import MillstreamError, Notice


@dataclass(frozen=True)
class TakenUp:
    """A job that goes on from a checkpoint, or begins with it.

    `commit` is where it goes on, without the queries that start fresh; `ran` the queries that were
    there before, `buckets` how many there are.
    """

    job: Job
    buckets: int
    commit: Commit | None = None
    ran: Job | None = None
    opening: Opening = field(default_factory=Opening)
    notices: tuple[Notice, ...] = ()

    def driver(
        self,
        checkpoint: Checkpoint,
        receivers: list[Receiver],
        host: str,
        wanted: frozenset[str] | None = None,
    ) -> Driver:
        """The driver that goes on."""
        return Driver(
            self.job,
            receivers,
            FileStates(checkpoint.state.url),
            self.buckets,
            frozenset(self.job.changelog_roots) if wanted is None else wanted,
            checkpoint,
            self.commit,
            Finished.of(self.commit),
            None if self.commit is None else self.commit.batch,
            self.ran,
            self.opening,
            host=host,
        )


def take_up(
    checkpoint: Checkpoint, job: Job, host: str, buckets: int, restart: Iterable[str] = ()
) -> TakenUp:
    """The job as it goes on from the last batch that is whole, on this host.

    `restart` names the queries that start fresh. Whatever does not fit is refused before anything
    is touched.
    """
    fresh = check_fits(checkpoint, job, host, restart)
    found, notices = checkpoint.take_up()
    asked = job.settings.buckets or buckets
    if found is None:
        return TakenUp(decided(job, None), asked, notices=tuple(notices))
    found = _check(checkpoint, found, job, host, fresh)
    commit = script_changes.set_aside(found, job, fresh)
    if commit.buckets != asked and job.settings.buckets:
        notices.append(Notice(f"buckets = {commit.buckets} is kept from the checkpoint"))
    ran, joined = _joined(commit, job, checkpoint)
    notices += script_changes.notices(found, job, commit, joined.opening.queries)
    return TakenUp(joined.job, commit.buckets, commit, ran, joined.opening, tuple(notices))


def check_fits(
    checkpoint: Checkpoint, job: Job, host: str, restart: Iterable[str] = ()
) -> frozenset[str]:
    """Raise unless the job can go on from the checkpoint; gives the queries that start fresh."""
    fresh = script_changes.named(restart, job)
    if (last := checkpoint.last()) is not None:
        _check(checkpoint, last, job, host, fresh)
    return fresh


def _check(
    checkpoint: Checkpoint, commit: Commit, job: Job, host: str, fresh: frozenset[str]
) -> Commit:
    """The commit as this version reads it, if the job can go on from it."""
    checkpoint.check_format(commit)
    if commit.host != host:
        raise MillstreamError(
            f'checkpoint "{checkpoint.folder.shown}" was made by the {commit.host} host, and the '
            f"{host} host cannot go on from it",
            detail="Each host has a record of its own of what it has read.",
            hint=f"Write --host {commit.host}, or start anew with another --checkpoint.",
        )
    commit = understood(commit, job)
    script_changes.check(commit, job, checkpoint.folder, fresh)
    return commit


def _joined(commit: Commit, job: Job, checkpoint: Checkpoint) -> tuple[Job, Joined]:
    """What has run before, and the job with the queries that join now."""
    job = decided(settled(job, commit, checkpoint), commit)
    marks = fingerprints(job)
    known = (q for q in job.queries if commit.queries.get(q.name) == marks[q.name])
    ran = replace(job, queries=tuple(known))
    return ran, opened(job, ran, commit.batch)
