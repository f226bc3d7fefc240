"""Placement: which carrier takes a batch, from the rows planned and from what batches have cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa

from millstream.catalog import Stream
from millstream.engine.read_tasks import ReadTask

AUTO, DRIVER, EXECUTORS = "auto", "driver", "executors"
LEARNS, LEARNS_FASTER = 0.3, 0.7
"""The weight of the last batch beside what is known from those before it, and that of a batch that
was faster than them: others on the machine make a batch slower, and nobody makes it faster."""

ODD = 4
"""What is so many times as much as before, or as little, counts as that at most."""

TRAVEL = 0.25
"""Seconds that a batch takes through the executors before it was measured."""

START = 2.0
"""Seconds of the first batch of the executors in which workers start and load what they need."""

TRIGGER = 0.04
"""Seconds that Spark takes between two batches, whoever carries them."""

OVERHEAD = 0.1
"""The share of a batch that its fixed cost may be, where rows are waiting."""

FIRST, GROWS = 200_000, 8
"""The rows of a first batch, so that a first answer comes soon; and how many times as large the
next one may be."""

MEMORY, OWN = 2**29, 32
"""Bytes that the rows of a batch may take as they are read, and those of a row's own columns: its
interval, weight and arrival number. Operators copy them several times."""

SHARED = 0.75
"""How much of a core's work is left of it when it works beside others: the guess before the
executors were measured."""


@dataclass(frozen=True)
class Pace:
    """What a batch costs in one place: seconds whatever it holds, and seconds for every row."""

    fixed: float
    per_row: float

    def seconds(self, rows: int) -> float:
        return self.fixed + rows * self.per_row

    def after(self, rows: int, seconds: float) -> Pace:
        """The pace after a batch: a small one tells the fixed cost, a large one that of a row.

        >>> slower = Pace(0.1, 1e-6).after(10, 0.2)
        >>> slower.fixed > 0.1, slower.per_row == 1e-6
        (True, True)
        """
        of_rows = rows * self.per_row
        if of_rows < self.fixed:
            return replace(self, fixed=_nearer(self.fixed, seconds - of_rows))
        return replace(self, per_row=_nearer(self.per_row, (seconds - self.fixed) / rows))

    def rows_for(self, share: float) -> int:
        """How many rows a batch needs so that its fixed cost, the trigger's included, is that share
        of it.

        >>> Pace(0.06, 1e-6).rows_for(0.1)
        900000
        """
        return round((self.fixed + TRIGGER) * (1 / share - 1) / self.per_row)


@dataclass(frozen=True)
class Placement:
    """What is known of the two places, and the choice between them.

    The driver's process carries a batch on some `threads` and without travelling; the executors
    have all `cores`, and a batch costs a quarter of a second more to get there. Law: the choice
    changes no answer and no state, so any batch may go anywhere.
    """

    cores: int = 1
    threads: int = 1
    driver: Pace = Pace(0.02, 0.2e-6)
    executors: Pace | None = None
    busy: float | None = None
    """How many cores a large batch has kept busy in the driver, or would have if others had not
    used them, once that was measured: threads of one process wait for each other, the more so the
    more small operators a plan has."""
    missed: float = 0.0
    """The seconds that the executors would have saved so far, by what is known, as long as none has
    been there. When they would have paid for the start of workers, these are started: so a job
    loses at most that twice."""
    typical: int = 0
    """The rows of the last batch: what is expected of tasks that do not know their rows."""

    def choose(self, asked: str, tasks: Iterable[ReadTask]) -> str:
        """The place of a batch: the one that was asked for, or the cheaper one."""
        if asked != AUTO:
            return asked
        gain = self._gain(planned_rows(tasks, self.typical))
        start = START if self.executors is None else 0.0
        return DRIVER if gain <= 0 or self.missed + gain < start else EXECUTORS

    def _gain(self, rows: int) -> float:
        """The seconds that the executors would save, below 0 where they would take longer."""
        return self.driver.seconds(rows) - self.executors_pace.seconds(rows)

    @property
    def executors_pace(self) -> Pace:
        """The measured pace of the executors, or what the driver's says of it."""
        if self.executors is not None:
            return self.executors
        busy = max(1.0, self.threads * SHARED) if self.busy is None else self.busy
        side_by_side = max(1.0, self.cores * SHARED / busy)
        return Pace(self.driver.fixed + TRAVEL, self.driver.per_row / side_by_side)

    def limit(self, asked: str, most: int) -> int:
        """How many rows the next batch may read where more are waiting: so many that its fixed cost
        is a tenth of it, growing from batch to batch up to that, and never more than `most`.

        >>> knows = Placement(cores=2, typical=10_000_000)
        >>> knows.limit(DRIVER, 10**8) < knows.limit(EXECUTORS, 10**8)
        True
        """
        paces = [self.driver] if asked == DRIVER else [self.executors_pace]
        paces += [self.driver] if asked == AUTO else []
        sizes = {pace: pace.rows_for(OVERHEAD) for pace in paces}
        best = min(paces, key=lambda pace: pace.seconds(sizes[pace]) / sizes[pace])
        return max(1, min(sizes[best], max(FIRST, self.typical * GROWS), most))

    def after(self, place: str, rows: int, seconds: float, busy: float | None = None) -> Placement:
        """What is known after a batch, which has kept so many cores of this process busy. The first
        one of the executors tells nothing: workers start and code is compiled."""
        known = replace(self, typical=rows, missed=self.missed + max(0.0, self._gain(rows)))
        if place == DRIVER:
            large = busy is not None and rows * self.driver.per_row > self.driver.fixed
            mixed = busy if self.busy is None or busy is None else (self.busy + busy) / 2
            told = replace(known, driver=self.driver.after(rows, seconds))
            return replace(told, busy=mixed) if large else told
        first = self.executors is None
        there = self.executors_pace if first else self.executors_pace.after(rows, seconds)
        return replace(known, executors=there)


def planned_rows(tasks: Iterable[ReadTask], typical: int) -> int:
    """The rows that read tasks will bring, `typical` for all that do not know theirs."""
    slices = [piece for task in tasks for piece in task.slices]
    known = sum(piece.rows or 0 for piece in slices)
    return known if all(piece.rows is not None for piece in slices) else max(known, typical)


def most_rows(streams: Iterable[Stream]) -> int:
    """The rows that a batch may have of every source, so that all of them fit into memory."""
    widths = [sum(map(_width, stream.schema.types)) + OWN for stream in streams]
    return max(1, MEMORY // max(sum(widths), 1))


def _width(kind: pa.DataType) -> int:
    """Bytes of a value, about."""
    try:
        return max(1, kind.bit_width // 8)
    except ValueError:
        return 32


def _nearer(known: float, seen: float) -> float:
    """A little nearer to what was seen. One batch that was disturbed does not decide."""
    weight = LEARNS if seen > known else LEARNS_FASTER
    return known + weight * (min(max(seen, known / ODD), known * ODD) - known)
