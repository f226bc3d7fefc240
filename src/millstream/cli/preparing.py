"""`millstream prepare`: what the first run of a machine would do, done before it."""

from __future__ import annotations

import subprocess
import sys
import time

from millstream.errors import MillstreamError

SMALL = """
CREATE STREAM bids (ts timestamp, auction bigint, price double)
  ORDER BY ts SOURCE 'generate:auction?events=100&rate=100&seed=1';
SELECT STREAMED auction, count(*) AS n FROM bids [Range 1 Minute] GROUP BY auction
"""
LONGEST, BEGINS = 300, 90
"""Seconds that Java may take to write its classes down, and until it has begun to."""


def prepare() -> str:
    """Run a small script on Spark, and wait for what its Java process writes down at the end."""
    from millstream.spark.class_archive import is_begun, is_there
    from millstream.spark.java import find_java

    java = find_java()
    if is_there(java):
        return "Java's prepared classes are there already"
    command = [sys.executable, "-m", "millstream.cli.main", "run", "-e", SMALL]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MillstreamError(
            "a small script does not run on Spark", hint=done.stderr.strip()[-2000:]
        )
    begun = time.monotonic()
    while (passed := time.monotonic() - begun) < LONGEST:
        if is_there(java):
            return "Java's prepared classes are there: Spark starts in half the time from now on"
        if passed > BEGINS and not is_begun(java):
            break
        time.sleep(0.2)
    return "this Java prepares no classes: Spark starts as ever"
