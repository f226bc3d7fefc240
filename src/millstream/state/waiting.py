"""Rows that wait for an instant: kept in a queue, a calendar or a list until they fall due."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from millstream.algebra.changes import Changes
from millstream.algebra.state_layout import Buffer
from millstream.algebra.time import Span
from millstream.columns.order import group_order, stable_order
from millstream.state.chunks import Log

PAGE_ROWS = 4_096
"""Laying rows out by page pays when about this many fall on each."""

FEWEST_PAGES, MOST_PAGES = 4, 256
MOST_CHUNKS = 32
"""A calendar too small for pages has no more chunks than this."""


def add_waiting(buffer: Buffer, log: Log, rows: Changes, end: int, by: str = "exp") -> Log:
    """The log with more rows, without chunks all of whose rows fell due by the end."""
    if buffer is Buffer.LIST:
        return _as_one(log.append(rows, getattr(rows, by)), end, by)
    if buffer is Buffer.CALENDAR:
        return _laid_out(log.after(end).append(rows, getattr(rows, by)), end, by)
    order = stable_order(getattr(rows, by))
    rows = rows if order is None else rows.take(order)
    return log.after(end).append(rows, getattr(rows, by))


def due_in(buffer: Buffer, log: Log, span: Span, by: str = "exp") -> list[Changes]:
    """The rows that fall due in the span."""
    if buffer is Buffer.LIST:
        return [part.within(getattr(part, by), span) for part in log.all()]
    parts = log.touching(span.start, span.end)
    return [part.within(getattr(part, by), span) for part in parts]


def pages_for(rows: int) -> int:
    """How many pages a calendar of so many rows has, a power of two.

    More pages mean fewer rows to look at in a step and more chunks to write. The two cost the same
    when a calendar has as many pages as each page has chunks. A small one has a single page.
    """
    pages = 1 << int(np.sqrt(rows / PAGE_ROWS)).bit_length()
    return min(pages, MOST_PAGES) if pages > FEWEST_PAGES else 1


def _laid_out(log: Log, end: int, by: str) -> Log:
    """The log, with chunks that span several pages split by page once they hold enough rows.

    A page is a power of two wide. When there are to be more, old pages are split in their turn;
    when there are to be fewer, each of the old ones is a part of a new one.
    """
    pages = pages_for(log.rows)
    if pages == 1:
        return _gathered(log, end, by) if len(log.chunks) > MOST_CHUNKS else log
    ahead = max(chunk.last_due for chunk in log.chunks) - end
    width = 1 << max((ahead // pages).bit_length() - 1, 0)
    wide = [c for c in log.chunks if c.first_due // width != c.last_due // width]
    if sum(chunk.rows for chunk in wide) < pages * PAGE_ROWS:
        return log
    rows = Changes.concat([chunk.changes for chunk in wide], wide[-1].changes.schema)
    waiting = np.flatnonzero(getattr(rows, by) > end)
    page = getattr(rows, by)[waiting] // width - (end + 1) // width
    order, starts = group_order(page, np.arange(len(page)), int(page.max(initial=0)) + 1)
    rows = rows.take(waiting[order])
    due = getattr(rows, by)
    laid = Log(tuple(chunk for chunk in log.chunks if chunk not in wide))
    for first, last in pairwise(starts.tolist()):
        laid = laid.append(rows.slice(first, last), due[first:last])
    return laid


def _gathered(log: Log, end: int, by: str) -> Log:
    """The log with its newest chunks as one: as far back as none is larger than all newer ones
    together, so that rows are not written again and again."""
    chunks = log.chunks
    first, rows = len(chunks) - 1, chunks[-1].rows
    while first and chunks[first - 1].rows <= rows:
        first -= 1
        rows += chunks[first].rows
    first = 0 if first == len(chunks) - 1 else first
    return Log((*chunks[:first], *_as_one(Log(chunks[first:]), end, by).chunks))


def _as_one(log: Log, end: int, by: str) -> Log:
    if not log.chunks:
        return log
    rows = Changes.concat(log.all(), log.chunks[-1].changes.schema)
    rows = rows.keep(getattr(rows, by) > end)
    return Log().append(rows, getattr(rows, by))
