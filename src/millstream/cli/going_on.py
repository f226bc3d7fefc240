"""`millstream run --checkpoint`, `--restart` and `--close`: how a run goes on, and how it ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.database.events import Events, Noticed
from millstream.engine.checkpoint import Commit, fingerprints
from millstream.engine.clock import Clock
from millstream.engine.closing import left_open
from millstream.engine.job import Job
from millstream.errors import MillstreamError


def check_asked(restart: Sequence[str], checkpoint: str | None, close: bool, follow: bool) -> None:
    """Options that make no sense together are refused before anything is read."""
    if restart and checkpoint is None:
        raise MillstreamError(
            "--restart is for a run on a checkpoint: without one, every query starts fresh",
            hint="Name the checkpoint as well: --checkpoint DIR.",
        )
    if close and follow:
        raise MillstreamError(
            "--close is for the end of bounded input, and with --follow there is none",
            hint="Leave one of the two out.",
        )


def where_results_were(job: Job, commit: Commit | None) -> dict[str, Any]:
    """How far results had come on the checkpoint, and those of queries that start fresh."""
    if commit is None:
        return {}
    now = fingerprints(job)
    fresh = {name for name in now if commit.queries.get(name) != now[name]}
    sizes = {k: v for k, v in commit.sizes.items() if k.removesuffix(".changes") not in fresh}
    return {"sizes": sizes, "aside": {n: left for n, left in commit.gone.items() if n in fresh}}


def say_left_open(job: Job, clock: Clock, events: Events) -> None:
    """Say how many windows are open at the end of bounded input."""
    if (notice := left_open(job, clock)) is not None:
        events.tell(Noticed(notice))
