"""Nobody in: every port that a run opens is on loopback."""

import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark
LISTENING = "0A"
LOOPBACK = ("0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F")


def descendants(root: int) -> set[int]:
    """A process and all below it."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parents[int(entry.name)] = int(
                    (entry / "stat").read_text().rsplit(")")[-1].split()[1]
                )
            except OSError:
                continue
    found = {root}
    while more := {p for p, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def sockets_of(process: int) -> set[str]:
    found = set()
    for handle in Path(f"/proc/{process}/fd").glob("*"):
        try:
            target = os.readlink(handle)
        except OSError:
            continue
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs Linux's /proc")
def test_every_port_is_on_loopback(spark) -> None:
    mine = set().union(*(sockets_of(p) for p in descendants(os.getpid())))
    opened = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == LISTENING and words[9] in mine:
                opened.append(words[1].split(":")[0])
    assert opened, "Spark listens for its own executors"
    assert set(opened) <= set(LOOPBACK)
    assert spark.sparkContext.uiWebUrl is None
