"""Errors that a worker raised for people: Spark brings them as text, with traces around."""

from __future__ import annotations

import re

from millstream.errors import MillstreamError

RAISED = re.compile(
    r"^(?:millstream\.[\w.]+|(?:OS|IO|Permission|NotADirectory|FileNotFound)Error): (.+)$", re.M
)
PARTS = ("detail", "hint")


def as_raised(error: BaseException) -> BaseException:
    """The error as the worker raised it, if that was one for people; else the error itself.

    >>> text = "Traceback:\\n  x\\nmillstream.errors.MillstreamError: no room\\nhint: Make some.\\n"
    >>> print(as_raised(RuntimeError(text)))
    no room
    hint: Make some.
    """
    if isinstance(error, (MillstreamError, OSError)):
        return error
    found = list(RAISED.finditer(text := str(error)))
    if not found:
        return error
    last = found[-1]
    said: dict[str, str] = {}
    for line in text[last.end() :].splitlines()[1:]:
        name, colon, rest = line.partition(": ")
        if not colon or name not in PARTS:
            break
        said[name] = rest
    raised = MillstreamError(last[1], detail=said.get("detail"), hint=said.get("hint"))
    raised.__cause__ = error
    return raised
