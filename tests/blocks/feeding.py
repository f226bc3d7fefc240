"""Feed a machine with tuples in steps, as operators do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.blocks.machine import Ending, Fed, Frame, Instances
from millstream.state.ordered_run import InTime, Order

Returned = list[tuple[int, bool, tuple[Any, ...]]]
"""The tuple that returned a row, whether it did so by leaving, and the row."""


@dataclass(frozen=True)
class Tuple:
    """A tuple of a stream: its partition, its instant, its arguments."""

    partition: int
    instant: int
    row: tuple[Any, ...]


@dataclass(frozen=True)
class Event:
    """A tuple arrives or leaves; its number in its partition."""

    tuple: int
    number: int
    instant: int
    leaves: bool = False


def events_of(tuples: Sequence[Tuple], frame: Frame, leavers: bool) -> list[Event]:
    """The events in time: what leaves at an instant comes before what arrives at it."""
    events: list[tuple[tuple[int, int, int], Event]] = []
    numbers: dict[int, list[int]] = defaultdict(list)
    for at, arrived in enumerate(tuples):
        mine = numbers[arrived.partition]
        mine.append(at)
        if leavers and frame.rows is not None and len(mine) > frame.rows:
            out = mine[-1 - frame.rows]
            number = len(mine) - frame.rows
            events.append(((arrived.instant, 1, 2 * at), Event(out, number, arrived.instant, True)))
        event = Event(at, len(mine), arrived.instant)
        events.append(((arrived.instant, 1, 2 * at + 1), event))
        if leavers and frame.length is not None:
            gone = arrived.instant + frame.length + 1
            if gone <= tuples[-1].instant:
                events.append(((gone, 0, at), Event(at, len(mine), gone, True)))
    return [event for _, event in sorted(events, key=lambda pair: pair[0])]


def returned(
    machine,
    tuples: Sequence[Tuple],
    cuts: Sequence[int] = (),
    wanted: set[int] | None = None,
    in_time: bool = False,
) -> Returned:
    """What a machine returns for tuples in the order of time, fed in steps between the cuts; it
    may be told the order of all partitions together."""
    events = events_of(tuples, machine.frame, machine.takes_leavers)
    bounds = [0, *sorted(c for c in cuts if c < len(events)), len(events)]
    known: dict[int, int] = {}
    kept = empty(machine)
    out: Returned = []
    for start, stop in pairwise(bounds):
        step = events[start:stop]
        kept, rows = _step(machine, tuples, step, known, kept, wanted, in_time)
        out += rows
    return out


def empty(machine) -> Instances:
    """What no instances keep."""
    from millstream.blocks.machine import Rows

    none = np.zeros(0, np.int64)
    return Instances(
        _no_rows(machine.slots), tuple(Rows(none, _no_rows(s)) for _, s in machine.tables)
    )


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in schema], schema=schema)


def _step(machine, tuples, step, known, kept, wanted, in_time):
    arriving = [e for e in step if not e.leaves]
    numbered = arriving + [e for e in step if e.leaves]
    for event in arriving:
        known.setdefault(tuples[event.tuple].partition, len(known))
    place = {event: at for at, event in enumerate(numbered)}
    owner = [known[tuples[e.tuple].partition] for e in step]
    order = np.array([place[e] for e in step], np.int64)[np.argsort(owner, kind="stable")]
    starts = np.searchsorted(np.sort(np.array(owner, np.int64)), np.arange(len(known) + 1))
    instants = np.array([e.instant for e in numbered], np.int64)
    rows = [tuples[e.tuple].row for e in numbered]
    arguments = tuple(
        pa.array([row[i] for row in rows], kind)
        for i, (_, kind) in enumerate(machine.routine.arguments)
    )
    by_partition = Order(order, starts, instants, len(arriving))
    fed = Fed(
        _together(by_partition, step, place, owner) if in_time else by_partition,
        arguments,
        np.array([e.number for e in numbered], np.int64),
        None if wanted is None else np.array([e.tuple in wanted for e in numbered], np.bool_),
    )
    ran = machine.run(fed, kept, len(known))
    given = ran.rows.to_pylist()
    found = [
        (numbered[e].tuple, numbered[e].leaves, tuple(row.values()))
        for e, row in zip(ran.event.tolist(), given)
    ]
    return ran.after, found


def _together(order: Order, step, place, owner) -> InTime:
    """The same events as they happened."""
    partition = np.zeros(len(step), np.int64)
    partition[[place[e] for e in step]] = owner
    ahead = np.cumsum([not e.leaves for e in step], dtype=np.int64)
    turns = ahead[[e.leaves for e in step]]
    return InTime(partition, turns, order.instant, order.arrivals, len(order.starts) - 1)


def answer(machine, tuples: Sequence[Tuple]) -> list[tuple[Any, ...]]:
    """The rows alone, of a machine that ends with the last tuple or goes on."""
    assert machine.ending in Ending
    return [row for _, _, row in returned(machine, tuples)]
