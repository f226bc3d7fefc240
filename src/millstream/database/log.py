"""The log: events of a database for Python's logging, under the name `millstream`."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from millstream.database.events import (
    BatchFinished,
    Event,
    Failure,
    NameDefined,
    NameDropped,
    Noticed,
    QueryDropped,
    QueryRegistered,
    RunEnded,
    RunStarted,
    SettingChanged,
)
from millstream.engine.summary import Summary

LOG = logging.getLogger("millstream")
NOTICES = logging.getLogger("millstream.notices")
SUMMARY = logging.getLogger("millstream.summary")
LOG.addHandler(logging.NullHandler())  # nothing is printed unless a program asks for it


def log_event(event: Event) -> None:
    """Definitions are for DEBUG, queries, runs and batches for INFO; notices of a run, and streams
    of which rows were refused, are warnings."""
    match event:
        case NameDefined(kind=kind, name=name):
            LOG.debug('%s "%s" is declared', kind, name)
        case NameDropped(kind=kind, name=name):
            LOG.debug('%s "%s" is dropped', kind, name)
        case SettingChanged(name=name, value=value):
            LOG.debug("setting %s = %s", name, value)
        case QueryRegistered(query=query):
            LOG.info('query "%s" is registered: %s', query.name, query.text)
            for notice in query.notices:
                NOTICES.info("%s", notice.render())
        case QueryDropped(query=query):
            LOG.info('query "%s" is dropped', query.name)
        case RunStarted(follow=follow):
            LOG.info("the run starts%s", ": sources are followed as they grow" if follow else "")
        case BatchFinished(report=report):
            LOG.info(
                "batch %d: %d rows read, %d emitted, %.3f s, state %d rows",
                report.number,
                report.rows,
                report.emitted,
                report.seconds,
                report.state_rows,
            )
        case Noticed(notice=notice):
            NOTICES.warning("%s", notice.render())
        case RunEnded(summary=summary):
            LOG.info("the run has ended")
            for level, line in _summary_of(summary):
                SUMMARY.log(level, "%s", line)
        case Failure(what=what, error=error):
            LOG.error("%s failed: %s", what, error)


def _summary_of(summary: Summary) -> Iterator[tuple[int, str]]:
    for name, stream in summary.streams.items():
        level = logging.WARNING if stream.late or stream.bad else logging.INFO
        for line in stream.lines(name):
            yield level, line.strip()
    for name, query in summary.queries.items():
        yield logging.INFO, query.line(name)
