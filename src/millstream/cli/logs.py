"""Where the log of a run goes: `--log FILE`, and `--verbose` for more of it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millstream.cli.terminal import screen
from millstream.database.log import NOTICES, SUMMARY
from millstream.errors import MillstreamError

LINE = "%(asctime)s %(levelname)s %(message)s"
SPARK = ("py4j", "pyspark")
"""The loggers of Spark's Python side, which are heard with `--verbose` only."""


class OnScreen(logging.Handler):
    """Writes the log to the error output, around the line of progress; what is said there anyway,
    notices and the summary, is left out."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.name not in (NOTICES.name, SUMMARY.name):
            screen.say(self.format(record))


class InFile(logging.FileHandler):
    """Writes the log to a file; one that cannot be written is told once, and the run goes on."""

    failed = False

    def handleError(self, record: logging.LogRecord) -> None:
        if not self.failed:
            self.failed = True
            reason = str(getattr(sys.exception(), "strerror", None) or sys.exception()).lower()
            screen.say(f'--log cannot write "{self.baseFilename}": {reason}; the run goes on')

    def close(self) -> None:
        try:
            super().close()
        except OSError:
            self.failed = True


@contextmanager
def logging_to(file: Path | None, verbose: bool) -> Iterator[None]:
    """Write the log to a file, or with `verbose` alone to the error output, until the end."""
    if file is None and not verbose:
        yield
        return
    handler = OnScreen() if file is None else _opened(file)
    handler.setFormatter(logging.Formatter(LINE))
    levels = {"millstream": logging.DEBUG if verbose else logging.INFO}
    levels |= dict.fromkeys(SPARK, logging.INFO) if verbose else {}
    before = {name: logging.getLogger(name).level for name in levels}
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
        logging.getLogger(name).addHandler(handler)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).removeHandler(handler)
            logging.getLogger(name).setLevel(level)
        handler.close()


def _opened(file: Path) -> logging.Handler:
    try:
        return InFile(file, encoding="utf-8")
    except OSError as error:
        reason = str(error.strerror or error).lower()
        raise MillstreamError(
            f'--log cannot write "{file}": {reason}', hint="Name another file."
        ) from None
