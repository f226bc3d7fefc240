"""A script on the local host that follows its sources, one batch after the other."""

from __future__ import annotations

import time
from pathlib import Path

from millstream.database import Database
from millstream.local.host import LocalHost
from millstream.testing.run import KeptResults


class Running:
    """A job that goes on until it is ended; statements may be carried out meanwhile."""

    def __init__(self, script: str, base: Path, checkpoint: Path) -> None:
        self.session = Database(base=str(base), tell=lambda text: None)
        self.session.execute(script)
        self.session.begin(str(checkpoint), follow=True)
        self.kept = KeptResults()
        job = self.session.job(frozenset(self.session.queries))
        self.host = LocalHost(job, self.session.sources(follow=True), [self.kept])

    def execute(self, text: str) -> None:
        """Carry out statements, as `Database.execute` does."""
        self.session.refresh(self.host.clock.beats)
        self.session.execute(text)
        job = self.session.job(frozenset(self.session.queries))
        self.host.change(job, self.session.sources(follow=True))

    def until(self, name: str, rows: list[dict]) -> None:
        """Run until the stored result is as wanted."""
        until = time.monotonic() + 30
        while self.found(name) != rows:
            assert time.monotonic() < until, f"{self.found(name)} is not {rows}"
            if not self.host.batch():
                time.sleep(0.02)

    def found(self, name: str) -> list[dict]:
        return self.host.content(name).to_pylist()
