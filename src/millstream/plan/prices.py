"""What a row costs in each operator: nanoseconds of one core, measured by `bench/prices.py`.

The prices are rough, and rounded: they say which of two plans is the better one, not how long
either takes.
"""

from __future__ import annotations

READ = 100.0
"""A row is read from a file."""

ROW = 20.0
"""An operator without state looks at a row."""

SEND = 110.0
"""A row changes buckets: it is split off, written, and read again."""

PROBE = 120.0
"""A row is hashed, put into an index, and looked for in another."""

SORT = 30.0
"""A row of an index is sorted into a chunk four times as large."""

PAIR = 90.0
"""Two rows with equal keys are compared and made one."""

COVER = 250.0
"""A left row of a semi- or antijoin is emitted again because of a partner."""

COUNT = 80.0
"""A row that comes or goes is added to the count of its value."""

STAR = 40.0
"""A row of which it matters only how long it stays."""

GROUP = 100.0
"""A row that comes or goes is added to the totals of its group."""

REWRITE = 100.0
"""A group is written again with every batch."""

MADE = 60.0
"""A row of the output is put together."""

RANK = 500.0
"""A row that comes or goes finds its place in the order of ORDER BY … LIMIT."""

NUMBER = 280.0
"""A row of a window by rows."""

EMIT = 200.0
"""A row that comes or goes is emitted as an element or a change."""

STORE = 50.0
"""A row of a stored result."""

QUEUE, CALENDAR, LOOK = 2.0, 80.0, 8.0
"""A row with a known end is kept: in the order it came; by its end; or in a list, of which every
row is looked at in every batch."""
