"""A script that has changed since its checkpoint: what goes on, what starts fresh, what is refused.

Law: what a run has written is never erased without being asked. A query that computes something
else than before is refused by name, unless it is named as one to restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import replace

from millstream.engine.checkpoint import UNREADABLE, Commit, fingerprints
from millstream.engine.job import Job
from millstream.errors import MillstreamError, Notice, closest
from millstream.files import Folder


def check(commit: Commit, job: Job, folder: Folder, restart: Set[str]) -> None:
    """Raise unless the job can go on from the commit; nothing is touched."""
    _check_streams(commit, job, folder)
    changed = {name: why for name, why in changes(commit, job).items() if name not in restart}
    readers = {
        name: read
        for name, read in _readers(job, {*restart, *changed}).items()
        if name in commit.queries and name not in restart  # a new one has nothing to lose
    }
    if changed:
        each = [f'"{name}" {why}' for name, why in changed.items()]
        said = "; ".join(each) if len(each) > 1 else f"it {min(changed.values())}"
        raise MillstreamError(
            f'{_listed(changed)} cannot go on from checkpoint "{folder.shown}": {said}',
            detail="It would start fresh, and its result so far would be replaced.",
            hint=f"Write {_options({*restart, *changed, *readers})}: it starts fresh, and its "
            "earlier result is kept beside the new one. Or write the query as it was.",
        )
    if readers:
        each = [f'query "{name}" reads "{read}"' for name, read in readers.items()]
        raise MillstreamError(
            f"{'; '.join(each)}, which is to start fresh",
            hint=f"Name all of them: {_options([*restart, *readers])}.",
        )


def changes(commit: Commit, job: Job) -> dict[str, str]:
    """The queries that cannot go on from the commit though it has their names, and why."""
    found = {}
    for name, mark in fingerprints(job).items():
        before = commit.queries.get(name)
        if before == UNREADABLE:
            found[name] = "has a plan there that this version cannot read"
        elif before is not None and before != mark:
            found[name] = "computes something else than there"
        elif before is None and name in commit.gone:
            found[name] = "was taken out of the script, and its result of then is kept"
    return found


def named(restart: Iterable[str], job: Job) -> frozenset[str]:
    """The queries of the job that are to start fresh; an error for a name that is none."""
    known = {query.name.lower(): query.name for query in job.queries}
    for name in restart:
        if name.lower() not in known:
            near = closest(name, list(known.values()))
            names = ", ".join(known.values())
            raise MillstreamError(
                f'query "{name}" cannot be started fresh: the script has no such query',
                hint=f'Did you mean "{near}"?' if near else f"Write one of {names}.",
            )
    return frozenset(known[name.lower()] for name in restart)


def set_aside(commit: Commit, job: Job, restart: Set[str]) -> Commit:
    """The commit without the queries that are gone or start fresh: what they left is remembered."""
    now = fingerprints(job)
    out = {name for name in commit.queries if name not in now or name in restart}
    left = {name: _sizes_of(commit, name) for name in commit.queries if name in out}
    return replace(
        commit,
        queries={n: mark for n, mark in commit.queries.items() if n not in out},
        plans={n: plan for n, plan in commit.plans.items() if n not in out},
        joined={n: mark for n, mark in commit.joined.items() if n not in out},
        changes=[n for n in commit.changes if n not in out],
        gone={**commit.gone, **left},
    )


def notices(commit: Commit, job: Job, kept: Commit, opening: Set[str]) -> list[Notice]:
    """What the author should know: `kept` is what the commit is after `set_aside`.

    Queries that are `opening` begin with the content that states of the checkpoint tell.
    """
    said, now = [], fingerprints(job)
    for name in now:
        how = "begins with the content it has now" if name in opening else "starts fresh"
        if name in kept.gone:
            said.append(Notice(f'query "{name}" {how}; its earlier result is kept'))
        elif name not in kept.queries:
            said.append(Notice(f'query "{name}" is new since the last run: it {how}'))
    if commit.rules != job.settings.rules:
        said.append(Notice(f"rules = {commit.rules} is kept from the checkpoint"))
    said += [
        Notice(f'changes of "{name}" are emitted from now on: rows of before may leave unseen')
        for name in sorted(job.changes - set(kept.changes))
        if kept.queries.get(name) == now.get(name)
    ]
    said += [
        Notice(f'query "{name}" of the last run is gone: its state is dropped, its result stays')
        for name in commit.queries
        if name not in now
    ]
    return said


def _check_streams(commit: Commit, job: Job, folder: Folder) -> None:
    for name, stream in job.streams.items():
        before = commit.streams.get(name)
        if before is not None and before != stream.declared:
            raise MillstreamError(
                f'checkpoint "{folder.shown}" was made with another declaration of stream "{name}"',
                detail="Its place in the source and its rows in state do not fit the new one.",
                hint="Declare the stream as before, or start anew with another --checkpoint.",
            )


def _sizes_of(commit: Commit, name: str) -> dict[str, int]:
    """How far the results of a query had come."""
    return {r: commit.sizes[r] for r in (name, f"{name}.changes") if r in commit.sizes}


def _readers(job: Job, names: Set[str]) -> dict[str, str]:
    """The queries that read one of these, itself or through others, each with what it reads."""
    found: dict[str, str] = {}
    below = {name.lower() for name in names}
    while below:
        above = {
            query.name: read
            for query in job.queries
            for read in query.reads
            if read in below and query.name not in found
        }
        found |= above
        below = {name.lower() for name in above}
    return found


def _listed(names: Iterable[str]) -> str:
    """
    >>> _listed(["a"]), _listed(["a", "b"])
    ('query "a"', 'queries "a", "b"')
    """
    quoted = [f'"{name}"' for name in names]
    return f"{'query' if len(quoted) == 1 else 'queries'} {', '.join(quoted)}"


def _options(names: Iterable[str]) -> str:
    """
    >>> _options(["b", "a"])
    '--restart a --restart b (in Python, run(restart=["a", "b"]))'
    """
    every = sorted(names)
    quoted = ", ".join(f'"{name}"' for name in every)
    return f"{' '.join(f'--restart {n}' for n in every)} (in Python, run(restart=[{quoted}]))"
