"""The Python of a session's workers: the same as this one, or an error before anything fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import lru_cache

from pyspark.sql import SparkSession

from millstream.errors import MillstreamError

NEEDED = ("millstream", "pyarrow", "numpy", "numba")
"""What a worker imports."""

_PROBE = (
    "import sys, importlib.util as u; "
    "print('%d.%d' % sys.version_info[:2], *[m for m in sys.argv[1:] if not u.find_spec(m)])"
)
LONGEST = 30
"""Seconds that an interpreter may take to answer; one that takes longer is left to Spark."""


def check_python(session: SparkSession) -> None:
    """Raise unless the workers of a session on this machine can run what this process sends them.

    Starts no job: the interpreter is asked by itself, and only if it is not this one. What the
    machines of a cluster have is not known here; `explained` says it when they fail.
    """
    context = session.sparkContext
    if not (context.master or "").startswith("local"):
        return
    command = context.pythonExec
    found = shutil.which(command)
    if found is None:
        raise _refused(f'cannot start: "{command}" is not there')
    if os.path.abspath(found) == os.path.abspath(sys.executable):
        return
    answer = _asked(found)
    if answer is None:
        return
    version, *missing = answer
    if version != _here():
        raise _refused(f'would run Python {version} ("{found}"), and this is Python {_here()}')
    if missing and not context._python_includes:  # files that the session sends along may hold them
        raise _refused(f'would run "{found}", which has no {" and no ".join(missing)}')


def explained(error: BaseException) -> BaseException:
    """The error of a batch; one that another Python of workers has caused, with what to set."""
    text = str(error)
    if "PYTHON_VERSION_MISMATCH" in text:
        return _refused(f"run another Python than this one, which is Python {_here()}")
    if any(f"No module named '{name}'" in text for name in NEEDED):
        lacking = next(name for name in NEEDED if f"No module named '{name}'" in text)
        return _refused(f"run a Python that has no {lacking}")
    return error


@lru_cache(maxsize=16)
def _asked(command: str) -> tuple[str, ...] | None:
    """The version of an interpreter, then what it lacks; None if it does not answer."""
    try:
        done = subprocess.run(
            [command, "-c", _PROBE, *NEEDED],
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = done.stdout.split()
    return tuple(words) if words and words[0].replace(".", "").isdecimal() else None


def _refused(what: str) -> MillstreamError:
    return MillstreamError(
        f"the workers of the Spark session {what}",
        hint=f"Set PYSPARK_PYTHON={sys.executable} before the session is made, or give "
        "spark-submit --conf spark.pyspark.python with it.",
    )


def _here() -> str:
    return "{}.{}".format(*sys.version_info[:2])
