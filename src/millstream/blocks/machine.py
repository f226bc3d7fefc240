"""What runs a routine: it is fed events, keeps instances between steps, and returns rows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np
import pyarrow as pa

from millstream.state.ordered_run import InTime, Order


class Ending(Enum):
    """When TERMINATE runs."""

    NEVER = "never"
    """Instances go on: what INITIALIZE, ITERATE and EXPIRE return counts."""

    EACH = "after every tuple"
    """The unbounded window of a base version: TERMINATE runs after every tuple."""

    WANTED = "after every tuple whose result counts"
    """A base version over a slot: TERMINATE runs after the tuple that ends the slot, and only
    there (see `Fed.wanted`)."""

    LAST = "after the last tuple"
    """An instance is fed all its tuples in one step, TERMINATE runs, and it is over."""


@dataclass(frozen=True)
class Frame:
    """The window of a machine that holds `inwindow` itself: the last `rows` tuples, or those that
    came within `length`, closed at both ends; neither for an unbounded one.

    It is driven by arrivals: before a tuple enters, those that it drives out expire. An `active`
    one is driven from outside instead: every tuple that time drives out is an event of its own,
    which names it by its number; one that the author has deleted by then is passed over.

    What EXPIRE returns counts if the tuple that leaves is an event of its own; a window that is
    driven by arrivals gives rows for these only. In EXPIRE the tuple that leaves is the oldest,
    also where it has been deleted; tables begin once the first tuple has entered.
    """

    rows: int | None = None
    length: int | None = None
    active: bool = False


@dataclass(frozen=True, eq=False)
class Fed:
    """What the instances are fed in a step.

    `order` has the events of every instance, in order (see `OrderedRun`): those below
    `order.arrivals` are tuples that arrive, the others tuples that leave. Where it is `InTime`, a
    machine may take the events of all instances as they happened. `arguments` are columns
    by event; `number` is that of the tuple in its partition, by event. `wanted` says by event
    whether what it returns counts; None where all do.
    """

    order: Order | InTime
    arguments: tuple[pa.Array, ...]
    number: np.ndarray
    wanted: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a table of many instances: `owner` is the instance of each, counting up; those
    of one instance lie in the order of insertion."""

    owner: np.ndarray
    rows: pa.RecordBatch


@dataclass(frozen=True, eq=False)
class Instances:
    """What instances keep: a row of slots of each, and the rows of their tables.

    Handed in, `slots` has a row for every instance that is known; instances with higher numbers
    are new. Handed out, it has one for every instance.
    """

    slots: pa.RecordBatch
    tables: tuple[Rows, ...]


@dataclass(frozen=True, eq=False)
class Failure:
    """An event whose tuple could not be taken: its instance is as it was before it."""

    event: int
    reason: str


@dataclass(frozen=True, eq=False)
class Ran:
    """The instances after a step, and the returned rows, each with the event that returned it, by
    instance in the order of the events. TERMINATE belongs to the last tuple that was fed."""

    after: Instances
    event: np.ndarray
    rows: pa.RecordBatch
    failed: tuple[Failure, ...] = ()


class Machine(Protocol):
    """What runs a routine in one way.

    Law: the native and the general machine of a routine give the same rows in the same order, and
    keep the same instances (see `Layout`), however events are cut into steps. Both add doubles up
    in pairs (`docs/design/exact-sums.md`), in the order of the rows, so that sums are the same.
    """

    @property
    def slots(self) -> pa.Schema:
        """A value each of every instance."""

    @property
    def tables(self) -> tuple[tuple[str, pa.Schema], ...]:
        """The tables with any number of rows per instance, by name."""

    @property
    def returns(self) -> pa.Schema:
        """The columns of a returned row."""

    @property
    def takes_leavers(self) -> bool:
        """Whether tuples that leave must be fed as events: `inwindow` is not held here, and EXPIRE
        looks at the leaving tuple only, or the frame is active. Otherwise arrivals suffice."""

    def run(self, fed: Fed, before: Instances, count: int) -> Ran:
        """Take the events of a step; there are `count` instances."""
