"""Messages: what the parts of a batch send to the levels above and to the driver."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.engine.clock import Header
from millstream.engine.hot_keys import KeySample
from millstream.engine.measures import Counts

LATE, ERRORS = "late", "errors"


@dataclass(frozen=True)
class TimeTold:
    """What reading has shown of the time of a stream; sent to every bucket and to the driver."""

    header: Header


@dataclass(frozen=True, eq=False)
class Sent:
    """Rows for one exchange or skew split (`box`, its fingerprint) in one bucket of a level.

    `turn` is their place among others for the same box: parts are put together in this order.
    """

    level: int
    bucket: int
    box: str
    turn: int
    changes: Changes


@dataclass(frozen=True, eq=False)
class Answer:
    """Changes of a query's answer, out of one bucket."""

    query: str
    changes: Changes


@dataclass(frozen=True, eq=False)
class Refused:
    """Rows of a stream that are not elements: LATE or ERRORS."""

    stream: str
    kind: str
    rows: pa.RecordBatch


@dataclass(frozen=True)
class Counted:
    """How many rows the operators of a level took and emitted."""

    level: int
    counts: Counts


@dataclass(frozen=True)
class Sampled:
    """What was sent on one side of a meeting, estimated from a sample."""

    sample: KeySample


@dataclass(frozen=True)
class Worked:
    """What one bucket of one level did: rows emitted and kept, bytes written, seconds taken."""

    level: int
    bucket: int
    emitted: int
    state_rows: int
    written: int
    load: float
    run: float
    write: float


Message = TimeTold | Sent | Answer | Refused | Counted | Sampled | Worked
