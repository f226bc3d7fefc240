"""The batch planner: where Spark's source asks for the read tasks of the next batch.

It is part of the host's process, which has the job and its sources at hand. It listens on a socket
in a folder that nobody else may enter.

Spark stops its clients whenever it likes, in the middle of a question too. What a client says, or
does not say, never ends a run; only a source that cannot be planned does.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingUnixStreamServer
from threading import Lock, Thread
from typing import Any

from millstream.engine.read_tasks import (
    ReadTask,
    first_position,
    plan_read_tasks,
    reopened,
    with_ticks,
)
from millstream.spark.job_snapshot import JobSnapshot


class BatchPlanner:
    """Plans batches from the sources of the current job snapshot, for one run.

    `failed` gets what went wrong while planning, before Spark hears of it; `rows` says how many
    rows of a source the next batch may read; `closing` gives the read tasks that let time go on
    when all sources have ended; `planned` is called for every plan, with whether there is nothing
    to read. Every client has a thread of its own, so that one who is silent keeps nobody waiting;
    one plan is made at a time.
    """

    def __init__(
        self,
        job_snapshot: Callable[[], JobSnapshot],
        failed: Callable[[BaseException], None],
        rows: Callable[[], int],
        planned: Callable[[bool], None] = lambda idle: None,
        closing: Callable[[int], list[ReadTask]] = lambda now: [],
    ) -> None:
        self.job_snapshot, self.failed = job_snapshot, failed
        self.rows, self.planned, self.closing = rows, planned, closing
        self.fed_to_the_end = False
        self._first = True
        self._folder = tempfile.mkdtemp(prefix="millstream-planner-")
        self.address = str(Path(self._folder) / "planner")
        self._planning = Lock()
        self._server = _Server(self.address, _handler(self._answer))
        Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def end_of_feed(self) -> None:
        """From now on, streams that Spark feeds have come to their end."""
        self.fed_to_the_end = True

    def _answer(self, text: str) -> dict[str, str]:
        try:
            before = _question(text)
        except ValueError as problem:
            return {"error": str(problem)}
        try:
            with self._planning:
                return {"plan": self._start() if before is None else self._next(before)}
        except Exception as error:
            self.failed(error)
            return {"error": str(error)}

    def _start(self) -> str:
        sources = self.job_snapshot().sources
        return _plan({name: first_position(source) for name, source in sources.items()}, [], 0)

    def _next(self, before: str) -> str:
        plan = _plan_in(before)
        if self._first:  # a new run looks again at sources that had ended: they may have grown
            self._first = False
            plan["positions"] = reopened(self.job_snapshot().sources, plan["positions"])
        job_snapshot = self.job_snapshot()
        streams = job_snapshot.job.streams
        now = max(time.time_ns() // 1000, plan["now"] + 1)
        tasks, positions = plan_read_tasks(
            streams,
            job_snapshot.sources,
            plan["positions"],
            self.rows(),
            now,
        )
        tasks += self._ends(streams, positions, now)
        tasks = tasks or self.closing(now)
        tasks = with_ticks(tasks, streams, positions, now, plan["now"])
        known = positions.keys() == plan["positions"].keys()
        idle = known and not tasks
        self.planned(idle)
        return before if idle else _plan(positions, tasks, now)

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


def _question(text: str) -> str | None:
    """The plan that a client goes on from, None for the first; ValueError for anything else."""
    before = json.loads(text)
    if before is not None:
        _plan_in(before)
    return before


def _plan_in(text: Any) -> dict[str, Any]:
    """A plan that was handed out before."""
    plan = json.loads(text) if isinstance(text, str) else None
    if not isinstance(plan, dict):
        raise ValueError("a plan is expected")
    positions, now = plan.get("positions"), plan.get("now")
    each = positions.values() if isinstance(positions, dict) else (None,)
    if not isinstance(now, int) or not all(isinstance(p, dict) and "at" in p for p in each):
        raise ValueError("a plan with positions and a time is expected")
    return plan


class _Server(ThreadingUnixStreamServer):
    """Waits for no client: neither when it is closed, nor for one who says nothing."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64


def _handler(answer: Callable[[str], dict[str, str]]) -> type[StreamRequestHandler]:
    class Handler(StreamRequestHandler):
        """One line there, one line back; a client who has gone needs no answer."""

        def handle(self) -> None:
            with suppress(OSError):
                line = self.rfile.readline()
                if line.endswith(b"\n"):
                    said = answer(line.decode(errors="replace"))
                    self.wfile.write(json.dumps(said).encode() + b"\n")

    return Handler
