"""Groups of a relation that EXPIRE maintains: rows leave in the order in which they came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, concat_rows
from millstream.blocks.choose import machine_for
from millstream.blocks.layout import Layout
from millstream.blocks.machine import Ending, Failure, Fed, Frame
from millstream.operators.fed import FedCall
from millstream.operators.feed_instances import Kept
from millstream.operators.feed_rows import Returned, by_event
from millstream.state.chunks import Part, State
from millstream.state.events import Events
from millstream.state.ordered_run import (
    OrderedRun,
    in_order_of_arrival,
    in_order_of_leaving,
    keys_of,
)

TOLD = Frame(length=0, active=True)
"""The frame of instances that are told of every tuple that leaves."""


@dataclass(frozen=True, eq=False)
class Fold:
    """Instances per group that are fed what enters and what leaves.

    Law: a group shows what the last event of an instant returns, and nothing once it is empty.
    """

    keys: pa.Schema
    calls: Sequence[FedCall]
    native: bool

    @property
    def kept(self) -> Kept:
        layouts = tuple(Layout(call.routine, TOLD) for call in self.calls)
        numbers = (("#count", 0), ("#gone", 0))
        return Kept("instances", self.keys, layouts, numbers)

    def run(
        self, state: State, events: Events
    ) -> tuple[OrderedRun, dict[str, Part], list[Returned], list[tuple[str, Failure]], np.ndarray]:
        """Take the events: the run, the state, what every call returns by event, what has failed,
        and which events are the last of their group and instant."""
        arrivals, ends = moved(events)
        names = self.keys.names
        known = self.kept.stored(state).touched(keys_of(names, arrivals, ends))
        run = OrderedRun.of(known, names, arrivals, ends)
        count, gone = run.slot(known, "#count"), run.slot(known, "#gone")
        number = np.empty(len(run), np.int64)
        fresh = run.numbered(count)
        number[fresh.event] = fresh.number
        partition = run.partition[len(arrivals) :]
        number[len(arrivals) :] = _ranks(partition, gone)
        gone_after = gone + np.bincount(partition, minlength=run.partitions)
        last, there = self._last(run, count, gone)
        instances, found = self.kept.load(state, known, run)
        after, returned, failed = [], [], list[tuple[str, Failure]]()
        for call, before in zip(self.calls, instances):
            machine = machine_for(call.routine, Ending.NEVER, TOLD, self.native)
            arguments = tuple(run.column(name) for name in call.arguments)
            ran = machine.run(
                Fed(run.order, arguments, number, last & there), before, run.partitions
            )
            after.append(ran.after)
            returned.append(by_event(ran.event, ran.rows))
            failed += [(call.routine.name, failure) for failure in ran.failed]
        numbers = [fresh.after, gone_after]
        parts = self.kept.after(state, known, run, numbers, after, found)
        return run, parts, returned, failed, last

    def _last(
        self, run: OrderedRun, count: np.ndarray, gone: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Which events are the last of their group and instant, and after which of all events the
        group has rows."""
        order, size = run.order, len(run)
        event = order.event
        group, instant = run.partition[event], run.instants[event]
        final = np.ones(size, np.bool_)
        final[:-1] = (group[1:] != group[:-1]) | (instant[1:] != instant[:-1])
        step = np.where(event < order.arrivals, 1, -1)
        sums = np.cumsum(step)
        first = order.starts[:-1][group]
        present = (count - gone)[group] + sums - np.where(first > 0, sums[first - 1], 0)
        last, there = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
        last[event], there[event] = final, present > 0
        return last, there


def moved(events: Events) -> tuple[Changes, Changes]:
    """What enters, in the order of arrival, and what leaves, whether its end was known or not."""
    starts = events.starts
    enters = in_order_of_arrival(starts.keep(starts.weight > 0))
    back = starts.keep(starts.weight < 0)
    back = replace(back, exp=back.ts, weight=-back.weight)
    rows = concat_rows([events.ends.rows, back.rows], starts.schema)
    both = Changes(
        rows,
        *(
            np.concatenate([getattr(events.ends, name), getattr(back, name)])
            for name in ("ts", "exp", "weight", "seq")
        ),
    )
    return enters, in_order_of_leaving(replace(both, ts=both.arrival))


def _ranks(partition: np.ndarray, gone: np.ndarray) -> np.ndarray:
    """The numbers of tuples that leave: those of a partition count on from what has left."""
    order = np.argsort(partition, kind="stable")
    sorted_groups = partition[order]
    starts = np.searchsorted(sorted_groups, sorted_groups)
    ranks = np.empty(len(partition), np.int64)
    ranks[order] = np.arange(len(partition)) - starts + 1
    return gone[partition] + ranks
