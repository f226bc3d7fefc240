"""A job in this process with a checkpoint: what the Spark host does, without Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from millstream.database import Database
from millstream.engine.carrier import InProcess
from millstream.engine.checkpoint import (
    Checkpoint,
    compare,
    decided,
    fingerprints,
    settled,
    understood,
)
from millstream.engine.driver import Driver, Finished
from millstream.engine.read_tasks import plan_read_tasks
from millstream.engine.states import FileStates
from millstream.files import Folder
from millstream.testing.run import KeptResults


class Checkpointed:
    """One run of a script on a checkpoint, from where the run before it has come to."""

    def __init__(
        self, script: str, base: Path, folder: Path | Folder, settings: dict[str, str]
    ) -> None:
        self.session = Database(base=str(base), tell=lambda text: None)
        for name, value in settings.items():
            self.session.pin(name, value)
        self.session.execute(script)
        job = self.session.job(frozenset(self.session.queries))
        checkpoint = Checkpoint.at(folder)
        commit, notices = checkpoint.take_up()
        if commit is not None:
            commit = understood(commit, job)
            notices += compare(commit, job, checkpoint.folder)
            job = settled(job, commit, checkpoint)
        job = decided(job, commit)
        ran = None
        if commit is not None:
            marks = fingerprints(job)
            known = (q for q in job.queries if commit.queries.get(q.name) == marks[q.name])
            ran = replace(job, queries=tuple(known))
        self.notices = [notice.message for notice in notices]
        self.kept = KeptResults()
        self.positions = commit.positions if commit else {}
        self.driver = Driver(
            job,
            [self.kept],
            FileStates(checkpoint.state.url),
            2,
            frozenset(job.changelog_roots),
            checkpoint,
            commit,
            Finished.of(commit),
            None if commit is None else commit.batch,
            ran,
            sources=lambda job: self.session.sources(follow=False),
        )
        if commit is not None:
            self.driver.join(job)

    def go(self, batches: int = 1_000_000) -> None:
        """So many batches, or all there are."""
        sources = self.session.sources(follow=False)
        rows, streams = self.driver.job.settings.batch_rows, self.driver.job.streams
        for _ in range(batches):
            tasks, positions = plan_read_tasks(streams, sources, self.positions, rows, 0)
            if not tasks:
                return
            number = self.driver.last.number + 1
            self.driver.run(number, tasks, InProcess(), lambda job: sources, positions)
            self.positions = positions
