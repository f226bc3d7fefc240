"""The batch planner: where Spark's source asks for the read tasks of the next batch.

It is part of the host's process, which has the job and its sources at hand. It listens on a socket
in a folder that nobody else may enter.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from socketserver import StreamRequestHandler, UnixStreamServer
from threading import Thread
from typing import Any

from millstream.engine.read_tasks import TICK, ReadTask, plan_read_tasks, ticks
from millstream.spark.job_snapshot import JobSnapshot


class BatchPlanner:
    """Plans batches from the sources of the current job snapshot, for one run.

    `failed` is told what went wrong while planning, before Spark hears of it.
    """

    def __init__(
        self, job_snapshot: Callable[[], JobSnapshot], failed: Callable[[BaseException], None]
    ) -> None:
        self.job_snapshot, self.failed = job_snapshot, failed
        self.fed_to_the_end = False
        self._first = True
        self._folder = tempfile.mkdtemp(prefix="millstream-desk-")
        self.address = str(Path(self._folder) / "planner")
        self._server = UnixStreamServer(self.address, _handler(self._answer))
        Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def end_of_feed(self) -> None:
        """From now on, streams that Spark feeds have come to their end."""
        self.fed_to_the_end = True

    def _answer(self, question: str) -> dict[str, str]:
        try:
            plan = json.loads(question)
            return {"plan": self._start() if plan is None else self._next(plan)}
        except Exception as error:
            self.failed(error)
            return {"error": str(error)}

    def _start(self) -> str:
        sources = self.job_snapshot().sources
        return _plan({n: {"at": s.start(), "ended": False} for n, s in sources.items()}, [], 0)

    def _next(self, before: str) -> str:
        plan = json.loads(before)
        if self._first:  # a new run looks again at sources that had ended: they may have grown
            self._first = False
            positions = plan["positions"].items()
            plan["positions"] = {n: {**p, "ended": False} for n, p in positions}
        job_snapshot = self.job_snapshot()
        streams = job_snapshot.job.streams
        now = max(time.time_ns() // 1000, plan["now"] + 1)
        tasks, positions = plan_read_tasks(
            streams,
            job_snapshot.sources,
            plan["positions"],
            job_snapshot.job.settings.batch_rows,
            now,
        )
        tasks += self._ends(streams, positions, now)
        beats = ticks(streams, positions, now)
        if beats and (tasks or now - plan["now"] >= TICK):
            tasks += beats
        known = positions.keys() == plan["positions"].keys()
        return before if known and not tasks else _plan(positions, tasks, now)

    def _ends(self, streams: Any, positions: dict[str, Any], now: int) -> list[ReadTask]:
        """The end of streams that Spark feeds, when the run has declared it."""
        if not self.fed_to_the_end:
            return []
        open_ones = [
            n
            for n, s in streams.items()
            if s.source is None and s.of is None and not positions.get(n, {}).get("ended")
        ]
        for name in open_ones:
            positions[name] = {"at": {}, "ended": True}
        return [ReadTask(name, (), None, True, now) for name in open_ones]


def _plan(positions: dict[str, Any], tasks: list[ReadTask], now: int) -> str:
    return json.dumps({"positions": positions, "tasks": [e.to_json() for e in tasks], "now": now})


def _handler(answer: Callable[[str], dict[str, str]]) -> type[StreamRequestHandler]:
    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            told = answer(self.rfile.readline().decode())
            self.wfile.write(json.dumps(told).encode() + b"\n")

    return Handler
