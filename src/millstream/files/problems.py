"""What a file system refuses, as an error that a person can act on."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from millstream.errors import MillstreamError

ROOM = "Make room there, or name a folder with more of it; a run on a checkpoint then goes on."
RIGHTS = "Name a folder that this user may write to, or change its rights."
HINTS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), ROOM),
    **dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), RIGHTS),
    errno.EMFILE: "Let the process have more open files (ulimit -n).",
    errno.EIO: "Look at the disk: it cannot be read or written.",
}


class FileProblem(MillstreamError):
    """The system refused to read or write a file."""


def hint_for(problem: BaseException) -> str | None:
    """What to do about an error of a file system, if that is known."""
    known = problem.errno if isinstance(problem, OSError) else None
    if known is None:  # Arrow's errors have no number, and name it in the text
        text = str(problem)
        known = next((e for e in HINTS if f"errno {e})" in text or f"[errno {e}]" in text), None)
    return HINTS.get(known or 0)


def reason(problem: BaseException) -> str:
    """What an error of a file system says, in one line."""
    text = str(getattr(problem, "strerror", None) or problem).strip()
    first = (text.splitlines() or [type(problem).__name__])[0][:300]
    return first[:1].lower() + first[1:]


def ordinary(problem: OSError, path: str | os.PathLike[str] | None = None) -> MillstreamError:
    """The error for a person: what failed, why, and what to do."""
    if isinstance(problem, BrokenPipeError):
        return FileProblem("the output was closed by its reader")
    name = path or problem.filename
    what = "standard output or a file" if name is None else f'"{os.fspath(name)}"'
    return FileProblem(f"{what} cannot be used: {reason(problem)}", hint=hint_for(problem))


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors of the file system name this file."""
    try:
        yield
    except OSError as problem:
        said = f'"{os.fspath(path)}" cannot be written: {reason(problem)}'
        raise FileProblem(said, hint=hint_for(problem)) from problem
