"""Calls that share partitions and a window: their tuples are followed once for all of them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.state_layout import StateLayout
from millstream.algebra.time import DAWN, Span
from millstream.blocks.choose import machine_for
from millstream.blocks.layout import NUMBER, Layout
from millstream.blocks.machine import Failure, Fed, Frame, Machine
from millstream.columns.followed import counted_up
from millstream.operators.fed import FedCall
from millstream.operators.feed_instances import Kept
from millstream.operators.feed_rows import Returned, by_event, last_of_slot
from millstream.operators.feed_window import Driven, timed, with_numbers
from millstream.state.chunks import Log, Part, State
from millstream.state.ordered_run import OrderedRun, keys_of

SLOT = "#slot"

Failures = list[tuple[str, Failure]]
"""Events that could not be taken, each with the name of the routine that failed."""


@dataclass(frozen=True, eq=False)
class Group:
    """Calls with the same partitions and window, and where their state lies.

    Law: what an instance is fed does not depend on the cut: its tuples in order, with those that
    leave before the tuple that drives them out, or at their time.
    """

    number: int
    calls: tuple[FedCall, ...]
    given: pa.Schema
    native: bool

    def __getstate__(self) -> dict[str, object]:
        """Machines are made where they run: jobs are sent to workers without them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def machines(self) -> tuple[Machine, ...]:
        return tuple(
            machine_for(call.routine, call.ending, call.runs_in or Frame(), self.native)
            for call in self.calls
        )

    @cached_property
    def layouts(self) -> tuple[Layout, ...]:
        return tuple(Layout(call.routine, call.runs_in or Frame()) for call in self.calls)

    @property
    def one(self) -> FedCall:
        """A call, for what all have in common."""
        return self.calls[0]

    @property
    def tuples(self) -> str:
        """The part that has the tuples of the window."""
        return f"window {self.number}"

    @property
    def counts(self) -> str:
        """The part that has the number of tuples, where instances do not live as long."""
        return f"counts {self.number}"

    @cached_property
    def driven(self) -> Driven | None:
        """The window from which arrivals drive tuples out, if a machine wants to be told."""
        frame = self.one.runs_in
        told = any(layout.takes_leavers for layout in self.layouts)
        if frame is None or self.one.is_active or not told:
            return None
        if frame.rows is None and frame.length is None:
            return None
        arguments = [name for call in self.calls for name in call.arguments]
        columns = tuple(dict.fromkeys((*self.one.partition_by, *arguments)))
        return Driven(self.one.partition_by, frame.rows, frame.length, columns)

    @cached_property
    def kept(self) -> Kept:
        keys = [self.given.field(name) for name in self.one.partition_by]
        keys += [pa.field(SLOT, pa.int64())] if self.one.restarts else []
        numbers = [("#count", 0)]
        if self.driven is not None and self.driven.rows is None:
            numbers.append(("#last", DAWN))
        name = f"instances {self.number}"
        return Kept(name, pa.schema(keys), self.layouts, tuple(numbers))

    @property
    def _counted(self) -> Kept:
        keys = [self.given.field(name) for name in self.one.partition_by]
        return Kept(self.counts, pa.schema(keys), (), (("#count", 0),))

    @property
    def parts(self) -> tuple[tuple[str, bool], ...]:
        """The parts of its state, and whether each holds tuples."""
        own = [(part, False) for part in self.kept.parts]
        own += [(self.tuples, True)] if self.one.is_active or self.driven is not None else []
        own += [(self.counts, False)] if self.one.restarts else []
        return tuple(own)

    def step(
        self, state: State, arrivals: Changes, span: Span, layout: StateLayout
    ) -> tuple[dict[str, Part], list[Returned], Changes, np.ndarray, Failures]:
        """Feed the arrivals: the parts of the state, what every call returns, who has left, which
        arrivals yield, and which have failed."""
        if self.one.restarts:
            return self._in_slots(state, arrivals)
        if self.one.is_active:
            return self._timed(state, arrivals, span, layout)
        return self._driven(state, arrivals)

    def _driven(
        self, state: State, arrivals: Changes
    ) -> tuple[dict[str, Part], list[Returned], Changes, np.ndarray, Failures]:
        """Windows that only arrivals move, and none at all."""
        names, none = self.one.partition_by, arrivals.slice(0, 0)
        if len(arrivals) == 0:
            empty = [Returned(np.zeros(0, np.int64), _nothing(call)) for call in self.calls]
            return {}, empty, none, np.zeros(0, np.bool_), []
        known = self.kept.stored(state).touched(keys_of(names, arrivals, none))
        run = OrderedRun.of(known, names, arrivals, none)
        before = run.slot(known, "#count")
        number, after = counted_up(run.partition, before)
        numbers, parts = [after], dict[str, Part]()
        whole, driven = run, self.driven
        if driven is not None:
            fresh = run.numbered(before)
            earlier, newest = before, fresh.after
            if driven.rows is None:
                earlier = run.slot(known, "#last", DAWN)
                newest = earlier.copy()
                newest[run.touched] = fresh.newest
                numbers.append(newest)
                earlier, newest = earlier - DAWN, newest - DAWN
            log = state.get(self.tuples, Log())
            assert isinstance(log, Log)
            log, ends, turns = driven.leavers(log, run.keys, fresh, earlier, newest)
            parts[self.tuples] = log
            columns = [n for n in arrivals.schema.names if n in driven.columns]
            shared = with_numbers(arrivals.with_rows(arrivals.rows.select(columns)), number)
            ends = ends.with_rows(ends.rows.select(shared.schema.names))
            whole = OrderedRun.of(known, names, shared, ends, turns)
        more, returned, failed = self._run(state, known, run, whole, number, numbers)
        if whole is not run:
            drivers = np.concatenate([np.arange(len(arrivals)), turns])
            failed = [(name, Failure(int(drivers[f.event]), f.reason)) for name, f in failed]
        return {**parts, **more}, returned, none, self._yields(run, number), failed

    def _timed(
        self, state: State, arrivals: Changes, span: Span, layout: StateLayout
    ) -> tuple[dict[str, Part], list[Returned], Changes, np.ndarray, Failures]:
        """A window that time moves, too: those that leave return rows of their own."""
        names, log = self.one.partition_by, state.get(self.tuples, Log())
        frame = self.one.frame
        assert frame is not None and frame.length is not None and isinstance(log, Log)
        schema = pa.schema([*arrivals.schema, pa.field(NUMBER, pa.int64())])
        _, due = timed(log, Changes.empty(schema), frame.length, span, layout.buffer)
        touched = keys_of(names, arrivals, due)
        known = self.kept.stored(state).touched(touched)
        first = OrderedRun.of(known, names, arrivals, arrivals.slice(0, 0))
        fresh, after = counted_up(first.partition, first.slot(known, "#count"))
        numbered = with_numbers(arrivals, fresh)
        log, ends = timed(log, numbered, frame.length, span, layout.buffer)
        run = OrderedRun.of(known, names, numbered, ends)
        number = run.column(NUMBER).to_numpy()
        parts, returned, failed = self._run(state, known, run, run, number, [after])
        yields = np.ones(len(arrivals), np.bool_)
        left = ends.with_rows(ends.rows.select(arrivals.schema.names))
        return {**parts, self.tuples: log}, returned, left, yields, failed

    def _in_slots(
        self, state: State, arrivals: Changes
    ) -> tuple[dict[str, Part], list[Returned], Changes, np.ndarray, Failures]:
        """Tumbles: an instance for every slot of a partition, which is over with its last tuple.
        Tuples that no window holds are passed over."""
        call, names, none = self.one, self.one.partition_by, arrivals.slice(0, 0)
        assert call.slide is not None and call.frame is not None and call.frame.rows is not None
        if len(arrivals) == 0:
            empty = [Returned(np.zeros(0, np.int64), _nothing(call)) for call in self.calls]
            return {}, empty, none, np.zeros(0, np.bool_), []
        counted = self._counted
        known = counted.stored(state).touched(keys_of(names, arrivals, none))
        first = OrderedRun.of(known, names, arrivals, none)
        number, after = counted_up(first.partition, first.slot(known, "#count"))
        parts = counted.after(state, known, first, [after], [], [])
        slot = (number - 1) // call.slide
        held = (number - 1) % call.slide >= call.slide - call.frame.rows
        places = np.flatnonzero(held)
        in_slot = _with_slot(arrivals, slot).pick(places)
        keys = (*names, SLOT)
        there = self.kept.stored(state).touched(keys_of(keys, in_slot, in_slot.slice(0, 0)))
        run = OrderedRun.of(there, keys, in_slot, in_slot.slice(0, 0))
        ends = number[places] % call.slide == 0
        over = np.zeros(run.partitions, np.bool_)
        over[run.partition[ends]] = True
        _, tally = counted_up(run.partition, run.slot(there, "#count"))
        more, returned, failed = self._run(
            state, there, run, run, number[places], [tally], ends, over
        )
        spread = [Returned(places[found.event], found.rows) for found in returned]
        failed = [(name, Failure(int(places[f.event]), f.reason)) for name, f in failed]
        return {**parts, **more}, spread, none, number % call.slide == 0, failed

    def _run(
        self,
        state: State,
        known: pa.RecordBatch,
        bare: OrderedRun,
        whole: OrderedRun,
        number: np.ndarray,
        numbers: list[np.ndarray],
        wanted: np.ndarray | None = None,
        over: np.ndarray | None = None,
    ) -> tuple[dict[str, Part], list[Returned], Failures]:
        """Let the machines take their events: arrivals alone, or with those that leave."""
        instances, found = self.kept.load(state, known, whole)
        after, returned, failed = [], [], Failures()
        for i, (call, machine) in enumerate(zip(self.calls, self.machines)):
            told = machine.takes_leavers
            run = whole if told else bare
            every = number if len(run) == len(number) else _all_numbers(run, number)
            counts = self._wanted(call, run, every) if wanted is None else wanted
            arguments = tuple(run.column(name) for name in call.arguments)
            order = run.in_time if run.keys.num_columns else run.order
            ran = machine.run(Fed(order, arguments, every, counts), instances[i], run.partitions)
            after.append(ran.after)
            returned.append(by_event(ran.event, ran.rows))
            failed += [(call.routine.name, failure) for failure in ran.failed]
        parts = self.kept.after(state, known, whole, numbers, after, found, over)
        return parts, returned, failed

    def _wanted(self, call: FedCall, run: OrderedRun, number: np.ndarray) -> np.ndarray | None:
        """Which events' results count: those of yield tuples, as far as they are known now; those
        of tuples that leave under active expiration."""
        count = len(run.arrivals)
        if call.slide is None and (call.is_active or count == len(run)):
            return None
        wanted = np.zeros(len(run), np.bool_)
        wanted[:count] = call.slide is None or _yielding(call, run, number[:count])
        return wanted

    def _yields(self, run: OrderedRun, number: np.ndarray) -> np.ndarray:
        """Which arrivals yield for all calls of the group."""
        yields = np.ones(len(run.arrivals), np.bool_)
        for call in self.calls:
            if call.slide is not None:
                yields &= _yielding(call, run, number)
        return yields


def slots_of(ts: np.ndarray, slide: int) -> np.ndarray:
    """The end of the slot of time, (k·L, (k+1)·L], in which each instant lies.

    >>> slots_of(np.array([0, 1, 10, 11]), 10).tolist()
    [0, 10, 10, 20]
    """
    return -(-ts // slide) * slide


def _yielding(call: FedCall, run: OrderedRun, number: np.ndarray) -> np.ndarray:
    assert call.slide is not None
    if call.by_rows:
        return number % call.slide == 0
    count = len(run.arrivals)
    return last_of_slot(run.partition[:count], slots_of(run.arrivals.ts, call.slide))


def _all_numbers(run: OrderedRun, number: np.ndarray) -> np.ndarray:
    """The numbers of arrivals, then of those that leave."""
    count = len(run.arrivals)
    if len(run.ends) == 0 or NUMBER not in run.ends.schema.names:
        return number[:count]
    return np.concatenate([number[:count], run.ends.rows.column(NUMBER).to_numpy()])


def _with_slot(changes: Changes, slot: np.ndarray) -> Changes:
    columns = [*changes.rows.columns, pa.array(slot)]
    schema = pa.schema([*changes.schema, pa.field(SLOT, pa.int64())])
    return changes.with_rows(pa.RecordBatch.from_arrays(columns, schema=schema))


def _nothing(call: FedCall) -> pa.RecordBatch:
    fields = [pa.field(name, kind) for name, kind in call.routine.returns]
    return pa.RecordBatch.from_arrays(
        [pa.array([], f.type) for f in fields], schema=pa.schema(fields)
    )
