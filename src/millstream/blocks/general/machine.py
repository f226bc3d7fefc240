"""The general machine: a routine as closures over Python values, one event after the other."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from millstream.blocks.foreign import Foreign
from millstream.blocks.general.instances import Kept, nothing
from millstream.blocks.general.library import DEEPEST, Library, TooDeep
from millstream.blocks.general.python.methods import Raised
from millstream.blocks.general.scope import RETURNED, SQLCODE, WINDOW, Frame
from millstream.blocks.general.table import Journal, take_back
from millstream.blocks.general.values import Row, batch_of, from_arrow
from millstream.blocks.layout import Layout
from millstream.blocks.machine import Ending, Failure, Fed, Instances, Ran
from millstream.blocks.machine import Frame as Bounds
from millstream.blocks.routine import Routine

UNBOUNDED = Bounds()
FAILURES = (TooDeep, Raised, RecursionError)
"""What keeps a tuple from being taken."""

DEEP = DEEPEST * 60
"""Python's own limit while routines run that call others."""


class GeneralMachine:
    """Runs every routine.

    State: see `Layout`. Cost: the events and what their statements read; and in every step the
    rows that instances with events keep.
    """

    def __init__(
        self,
        routine: Routine,
        ending: Ending = Ending.NEVER,
        frame: Bounds = UNBOUNDED,
        calls: Mapping[str, Routine] | None = None,
    ) -> None:
        self.routine, self.ending, self.frame = routine, ending, frame
        self._library = Library(routine, routine.calls if calls is None else calls)
        self._compiled = self._library.outermost
        self._layout = Layout(routine, frame)
        self._nests = bool(self._library.compiled)
        foreign = any(isinstance(s, Foreign) for s in routine.statements())
        self._can_fail = self._nests or foreign

    @property
    def slots(self) -> pa.Schema:
        return self._layout.slots

    @property
    def tables(self) -> tuple[tuple[str, pa.Schema], ...]:
        return self._layout.tables

    @property
    def returns(self) -> pa.Schema:
        return self._layout.returns

    @property
    def takes_leavers(self) -> bool:
        return self._layout.takes_leavers

    @property
    def nothing(self) -> Instances:
        """What is kept before the first step."""
        return nothing(self._layout)

    def run(self, fed: Fed, before: Instances, count: int) -> Ran:
        """Take the events of a step; there are `count` instances."""
        starts = fed.order.starts
        touched = np.diff(starts) > 0
        kept = Kept(self._compiled, self._layout, before, touched, count)
        step = _Step(self, fed, kept)
        with _deep(self._nests):
            for instance in np.flatnonzero(touched).tolist():
                step.take(instance, int(starts[instance]), int(starts[instance + 1]))
        rows = batch_of(step.rows, self.returns)
        return Ran(kept.after(), np.array(step.events, np.int64), rows, tuple(step.failed))


@contextmanager
def _deep(needed: bool) -> Iterator[None]:
    """Room for calls inside calls."""
    before = sys.getrecursionlimit()
    if not needed or before >= DEEP:
        yield
        return
    sys.setrecursionlimit(DEEP)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@dataclass
class _Step:
    """One step of a machine: what it is fed, as lists, and what it has returned so far."""

    machine: GeneralMachine
    fed: Fed
    kept: Kept
    rows: list[Row] = field(default_factory=list)
    events: list[int] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)

    def __post_init__(self) -> None:
        fed, compiled = self.fed, self.machine._compiled
        self.event = fed.order.event.tolist()
        columns = [from_arrow(column) for column in fed.arguments]
        self.arguments: list[Row] = list(zip(*columns)) if columns else [()] * len(self.event)
        self.number = fed.number.tolist()
        self.instant = fed.order.instant.tolist()
        self.wanted = None if fed.wanted is None else fed.wanted.tolist()
        ending = self.machine.ending
        self.ends = self.wanted if ending is Ending.WANTED else None
        self.at = 0
        self.each = ending is Ending.EACH or (ending is Ending.WANTED and self.wanted is None)
        self.frame: Frame = compiled.frame(None, 0)
        self.journal: Journal | None = [] if self.machine._can_fail else None
        self.first = compiled.first_argument
        self.stop = self.first + len(compiled.arguments)

    def take(self, instance: int, start: int, stop: int) -> None:
        """Take the events of an instance."""
        frame, arrivals, journal = self.frame, self.fed.order.arrivals, self.journal
        returned, rows, events, wanted = frame[RETURNED], self.rows, self.events, self.wanted
        begun = self.kept.load(instance, frame, journal)
        refused, notes = self.kept.refused, self.machine._layout.notes_refused
        last: tuple[int, Row] | None = None
        for event in self.event[start:stop]:
            code, self.at = frame[SQLCODE], event
            try:
                if event < arrivals:
                    self._arrive(event, begun)
                    begun, last = True, (event, self.arguments[event])
                elif refused and self.number[event] in refused:
                    refused.discard(self.number[event])
                elif begun:
                    self._leave(event)
            except FAILURES as error:
                self._fail(event, error, code)
                if notes and event < arrivals:
                    refused.add(self.number[event])
            if returned:
                if wanted is None or wanted[event]:
                    events.extend([event] * len(returned))
                    rows.extend(returned)
                returned.clear()
            if journal:
                self._done()
        if self.machine.ending is Ending.LAST:
            self._end(last)
            begun = False
        self.kept.store(instance, frame, begun)

    def _arrive(self, event: int, begun: bool) -> None:
        machine, frame, compiled = self.machine, self.frame, self.machine._compiled
        row = self.arguments[event]
        if machine._layout.held:
            number, instant = self.number[event], self.instant[event]
            if begun:
                self._drive_out(number, instant)
            frame[WINDOW].enter(number, instant, row)
        frame[self.first : self.stop] = row
        if not begun:
            compiled.begin(frame, self.journal)
        for statement in compiled.iterate if begun else compiled.initialize:
            statement(frame)
        if self.each or (self.ends is not None and self.ends[event]):
            for statement in compiled.terminate:
                statement(frame)

    def _drive_out(self, number: int, instant: int) -> None:
        """The tuples that an arrival drives out, the oldest first; what they return is not given,
        as they are no events."""
        bounds = self.machine.frame
        if bounds.active:
            return
        window = self.frame[WINDOW]
        if bounds.rows is not None:
            while (at := window.oldest()) is not None and at <= number - bounds.rows:
                self._expire(at)
        if bounds.length is not None:
            while (at := window.oldest()) is not None:
                if window.instants[at] >= instant - bounds.length:
                    break
                self._expire(at)
        self.frame[RETURNED].clear()
        self._done()

    def _expire(self, number: int) -> None:
        """A tuple leaves `inwindow`, also if EXPIRE fails; that it left is not taken back with the
        arrival that drove it out."""
        frame, code = self.frame, self.frame[SQLCODE]
        frame[self.first : self.stop] = frame[WINDOW].rows[number]
        try:
            for statement in self.machine._compiled.expire:
                statement(frame)
        except FAILURES as error:
            self._fail(self.at, error, code)
        frame[WINDOW].delete((number,))
        if self.journal:
            self.journal.clear()

    def _done(self) -> None:
        """What was done so far stays."""
        if self.journal:
            self.journal.clear()
        if self.machine._layout.held:
            self.frame[WINDOW].forget()

    def _leave(self, event: int) -> None:
        """A tuple leaves that the machine is told of."""
        if not self.machine.takes_leavers:
            return
        frame = self.frame
        if self.machine._layout.held:
            if self.number[event] in frame[WINDOW].rows:
                self._expire(self.number[event])
                self._done()
            return
        frame[self.first : self.stop] = self.arguments[event]
        for statement in self.machine._compiled.expire:
            statement(frame)

    def _fail(self, event: int, error: Exception, code: int) -> None:
        """Take back what an event has done."""
        nested = isinstance(error, RecursionError)
        reason = "calls are nested too deep" if nested else str(error)
        self.failed.append(Failure(event, reason))
        self.frame[RETURNED].clear()
        self.frame[SQLCODE] = code
        if self.journal is not None:
            take_back(self.journal)

    def _end(self, last: tuple[int, Row] | None) -> None:
        """TERMINATE, with the arguments of the last tuple that was taken."""
        if last is None:
            return
        event, row = last
        frame, returned = self.frame, self.frame[RETURNED]
        frame[self.first : self.stop] = row
        try:
            for statement in self.machine._compiled.terminate:
                statement(frame)
        except FAILURES as error:
            self._fail(event, error, 0)
        if self.wanted is None or self.wanted[event]:
            self.events.extend([event] * len(returned))
            self.rows.extend(returned)
        returned.clear()
