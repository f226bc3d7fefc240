"""A job in this process with a checkpoint: what the Spark host does, without Spark."""

from __future__ import annotations

from pathlib import Path

from millstream.database import Database
from millstream.engine.carrier import InProcess
from millstream.engine.checkpoint import Checkpoint
from millstream.engine.placement import DRIVER
from millstream.engine.read_tasks import plan_read_tasks
from millstream.engine.take_up import take_up
from millstream.errors import Notice
from millstream.files import Folder
from millstream.testing.run import KeptResults


class Checkpointed:
    """One run of a script on a checkpoint, from where the run before it has come to."""

    def __init__(
        self,
        script: str,
        base: Path,
        folder: Path | Folder,
        settings: dict[str, str],
        restart: tuple[str, ...] = (),
    ) -> None:
        known = str(folder) if isinstance(folder, Path) else None
        self.session = Database(base=str(base), tell=lambda text: None, checkpoint=known)
        for name, value in settings.items():
            self.session.pin(name, value)
        self.session.execute(script)
        job = self.session.job(frozenset(self.session.queries))
        checkpoint = Checkpoint.at(folder)
        taken = take_up(checkpoint, job, "local", 2, restart)
        said: list[Notice] = []
        self.kept = KeptResults()
        self.positions = taken.commit.positions if taken.commit else {}
        self.driver = taken.driver(
            checkpoint,
            [self.kept],
            "local",
            lambda job: self.session.sources(follow=False),
            said.append,
        )
        taken.begin(self.driver)
        self.notices = [notice.message for notice in said]

    def go(self, batches: int = 1_000_000) -> None:
        """So many batches, or all there are."""
        sources = self.session.sources(follow=False)
        for _ in range(batches):
            streams, rows = self.driver.job.streams, self.driver.batch_rows(DRIVER)
            tasks, positions = plan_read_tasks(streams, sources, self.positions, rows, 0)
            if not tasks:
                return
            number = self.driver.last.number + 1
            self.driver.run(number, tasks, InProcess(), lambda job: sources, positions)
            self.positions = positions
