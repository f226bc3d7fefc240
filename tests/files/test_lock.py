"""One process at a time uses a folder, and an error names the one that does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from millstream.engine.checkpoint import Checkpoint, Commit
from millstream.engine.clock import Clock
from millstream.errors import MillstreamError
from millstream.files import lock, open_folder

HOLD = """
import sys, time
from millstream.files import lock, open_folder
held = lock(open_folder(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    words = [sys.executable, "-c", HOLD, str(tmp_path)]
    holder = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(MillstreamError) as refused:
            lock(open_folder(tmp_path))
        named = rf'checkpoint "{tmp_path}" is in use by process {holder.pid} on \S+, since 20\d\d-'
        assert re.match(named, refused.value.message)
        assert refused.value.hint is not None
    finally:
        holder.kill()
        holder.wait()
    lock(open_folder(tmp_path)).release()


def test_a_lock_is_held_until_it_is_released(tmp_path: Path) -> None:
    held = lock(open_folder(tmp_path))
    held.check()
    with pytest.raises(MillstreamError, match=f"is in use by process {os.getpid()} on"):
        lock(open_folder(tmp_path))
    held.release()
    lock(open_folder(tmp_path)).release()


def test_in_a_store_the_last_one_has_it_and_the_others_end(tmp_path: Path) -> None:
    """A store takes nothing from a process that dies, so whoever comes takes the folder over."""
    url = f"arrow+file://{tmp_path}"
    first = Checkpoint.locked(url)
    first.write(Commit(0, Clock.start(), 2))
    second = Checkpoint.locked(url)
    second.write(Commit(1, Clock.start(), 2))
    with pytest.raises(MillstreamError, match=f"was taken over by process {os.getpid()} on"):
        first.write(Commit(1, Clock.start(), 2))
    second.release()
