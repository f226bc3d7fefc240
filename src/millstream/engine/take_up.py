"""Taking up a checkpoint: from a job as its script asks for it to one that goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

from millstream.engine import script_changes
from millstream.engine.checkpoint import (
    Checkpoint,
    Commit,
    decided,
    fingerprints,
    settled,
    understood,
)
from millstream.engine.driver import Driver, Sources
from millstream.engine.finished import Finished
from millstream.engine.job import Job
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
    notices: tuple[Notice, ...] = ()
    changes: Callable[[frozenset[str]], list[Notice]] = lambda opening: []
    """What the author should know of the queries that changed, given those that begin with what
    runs already."""

    def driver(
        self,
        checkpoint: Checkpoint,
        receivers: list[Receiver],
        host: str,
        sources: Sources,
        tell: Callable[[Notice], None],
        wanted: frozenset[str] | None = None,
    ) -> Driver:
        """The driver that goes on; `begin` lets it."""
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
            host=host,
            sources=sources,
            tell=tell,
        )

    def begin(self, driver: Driver) -> None:
        """Let queries begin that are new on the checkpoint; tells what the author should know."""
        notices = list(self.notices)
        if self.commit is not None:
            joined = driver.join(self.job)
            opening = joined.opening.queries - joined.said.keys()
            notices += [*self.changes(opening), *joined.notices]
        for notice in notices:
            driver.tell(notice)


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
    going = decided(settled(job, commit, checkpoint), commit)
    marks = fingerprints(going)
    known = (q for q in going.queries if commit.queries.get(q.name) == marks[q.name])
    ran = replace(going, queries=tuple(known))
    changes = partial(script_changes.notices, found, job, commit)
    return TakenUp(going, commit.buckets, commit, ran, tuple(notices), changes)


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
