"""Job snapshots: the job as a file that workers read."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import dataclass
from functools import cached_property, lru_cache

from millstream.connect.opening import open_stream
from millstream.connect.source import Source
from millstream.engine.job import Job
from millstream.files import Folder, open_file


@dataclass(frozen=True)
class JobSnapshot:
    """A job with what a worker needs to run it. Written and read by Millstream only.

    `state` is the URL of the folder of states. `scratch` is a folder of this machine that all
    workers share, through which changes go from level to level; when there is none, they go
    through Spark's shuffle.
    """

    job: Job
    follow: bool
    buckets: int
    state: str
    wanted: frozenset[str]
    scratch: str | None = None

    @cached_property
    def sources(self) -> dict[str, Source]:
        """The sources of the streams that have one, opened in this process."""
        return {
            s.name: open_stream(s, self.follow)
            for s in self.job.streams.values()
            if s.source is not None
        }

    def save(self, folder: Folder) -> str:
        """Write it under the name of its content; gives the address for `load_job_snapshot`."""
        data = pickle.dumps(self)
        name = hashlib.sha256(data).hexdigest()[:24] + ".job"
        if not folder.has(name):
            folder.put(name, [data])
        return folder.address(name)


@lru_cache(maxsize=4)
def load_job_snapshot(address: str) -> JobSnapshot:
    folder, name = open_file(address)
    return pickle.loads(folder.get(name))
