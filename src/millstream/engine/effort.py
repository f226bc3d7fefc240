"""What threads would do with the machine to themselves: their work, and their wait for a core.

A thread that waits for another of its process is not counted, only one that could go on and has no
core, because other processes have them all.
"""

from __future__ import annotations

from pathlib import Path

NANO = 1e-9

_SCHEDULED = Path("/proc/thread-self/schedstat")
"""Linux tells of a thread how long it ran, and how long it was ready to run and did not."""


def waited_here() -> float:
    """Seconds that this thread has waited for a core so far; 0 where the system does not tell."""
    try:
        return int(_SCHEDULED.read_text().split()[1]) * NANO
    except (OSError, ValueError, IndexError):
        return 0.0
