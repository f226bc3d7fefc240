"""A job on Spark to which a query is added, and whose processes are killed where it opens.

Run as a program: `python -m spark.killed FOLDER BATCH` adds the query while the batch before is
delivered, and kills all processes of its group once the answers of BATCH are, before the commit.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from millstream.database import Database
from millstream.engine.log import ResultLog
from millstream.spark.host import SparkHost

MINUTES = """
CREATE STREAM f (at timestamp, x bigint) ORDER BY at SLACK 10 Minutes SOURCE 'f.csv';
CREATE VIEW every AS SELECT Istream(x) FROM f;
"""
LATE = "CREATE VIEW late AS SELECT STREAMED count(*) AS n FROM f [Range 3 Minutes];"


class Killing(ResultLog):
    """Keeps results in a folder; adds a query in the batch before the one in which it kills."""

    def __init__(self, session: Database, folder: Path, dies: int | None) -> None:
        super().__init__(folder / "results")
        self.session, self.dies = session, dies
        self.host: SparkHost | None = None

    def sizes(self) -> dict[str, int]:
        """Asked for once in every batch, after the answers and before the commit."""
        found = super().sizes()
        assert self.host is not None
        number = self.host.driver.begun
        if self.dies is not None and number == self.dies - 1:
            self.session.execute(LATE)
            self.host.change(self.session.job())
        if number == self.dies:
            assert "late" in {query.name for query in self.host.job.queries}
            os.killpg(os.getpgrp(), signal.SIGKILL)
        return found


def go(spark, folder: Path, script: str, dies: int | None) -> ResultLog:
    session = Database(base=str(folder), tell=lambda text: None)
    session.pin("batch_rows", "20")
    session.execute(script)
    log = Killing(session, folder, dies)
    log.host = SparkHost(spark, session.job(), lambda commit: [log], str(folder / "checkpoint"))
    log.host.run()
    return log


if __name__ == "__main__":
    from millstream.spark.session import make_session

    go(make_session("local[2]"), Path(sys.argv[1]), MINUTES, int(sys.argv[2]))
