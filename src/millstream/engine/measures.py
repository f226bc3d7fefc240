"""Measures: how many rows every operator of a running job takes, emits and retracts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from millstream.algebra.changes import Changes
from millstream.algebra.node import Node
from millstream.algebra.time import INFINITY, Span
from millstream.columns.native import native
from millstream.plan.graph import Graph
from millstream.plan.names import name_of
from millstream.plan.statistics import RowRates, Statistics

Counts = dict[str, list[int]]
"""By the fingerprint of a node: rows emitted, those of them that retract others, the instants that
all of them stay, how many more of them have no end, and the rows of every input."""

FADES = 0.8
"""The weight of a batch beside the next one: about the last five decide."""


def count(counts: Counts, node: Node, given: Sequence[int], result: Changes) -> None:
    """Add the rows that a node took and emitted in a step. How long rows stay is not counted for a
    projection, whose input says it already, nor for streams, whose elements do not stay."""
    back = 0 if node.never_retracts else int(np.count_nonzero(result.weight < 0))
    stays = not node.is_stream and not node.one_to_one
    stay, opened = _stays(result.ts, result.exp, result.weight) if stays else (0, 0)
    add(counts, node.fingerprint, [len(result), back, int(stay), int(opened), *given])


def add(counts: Counts, name: str, more: list[int]) -> None:
    known = counts.get(name)
    counts[name] = more if known is None else [a + b for a, b in zip(known, more)]


def add_all(counts: Counts, others: Iterable[Counts]) -> Counts:
    for other in others:
        for name, more in other.items():
            add(counts, name, more)
    return counts


@native
def _stays(ts, exp, weight):  # type: ignore[no-untyped-def]
    """The instants that rows with an end stay, in all; and how many rows more have none."""
    stay, opened = 0, 0
    for i in range(len(ts)):
        if exp[i] == INFINITY:
            opened += weight[i]
        else:
            stay += weight[i] * (exp[i] - ts[i])
    return stay, opened


@dataclass(frozen=True)
class Measure:
    """What was counted of one part of the plan, older batches counting less.

    `opened` is the rows that are there without an end, and does not fade. The size of a relation is
    these, and by Little's law the instants that others stay for every instant that has passed.
    """

    instants: float = 0.0
    batches: float = 0.0
    sent: float = 0.0
    back: float = 0.0
    stay: float = 0.0
    opened: float = 0.0
    received: tuple[float, ...] = ()

    def after(self, counted: Sequence[int], instants: int) -> Measure:
        sent, back, stay, opened, *received = counted
        known = self.received or (0.0,) * len(received)
        fades = FADES if instants else 1.0
        return Measure(
            self.instants * fades + instants,
            self.batches * fades + 1,
            self.sent * fades + sent,
            self.back * fades + back,
            self.stay * fades + stay,
            self.opened + opened,
            tuple(old * fades + new for old, new in zip(known, received)),
        )

    @property
    def rates(self) -> RowRates:
        """The same for every instant; to be asked once an instant has passed."""
        size = max(self.stay / self.instants + self.opened, 0.0)
        return RowRates(
            (self.sent - self.back) / self.instants,
            self.back / self.instants,
            size if self.stay or self.opened else None,
            self.batches / self.instants,
        )

    @property
    def numbers(self) -> list[float]:
        fixed = (self.instants, self.batches, self.sent, self.back, self.stay, self.opened)
        return [round(number, 3) for number in (*fixed, *self.received)]


@dataclass(frozen=True)
class Measures:
    """The measures of a job, by the names of what its nodes compute."""

    of: Mapping[str, Measure] = field(default_factory=dict)

    def after(
        self, counted: Iterable[tuple[int, Counts]], graph: Graph, spans: Mapping[Node, Span]
    ) -> Measures:
        """The measures with one more batch. `counted` are the counts, each with its level.

        A result that several nodes compute, or one node on several levels, counts once; nodes that
        only pass rows on do not count.
        """
        levels: dict[int, Counts] = {}
        for level, counts in counted:
            add_all(levels.setdefault(level, {}), [counts])
        found: dict[str, tuple[list[int], int]] = {}
        for node in graph.nodes:
            if node.moves_rows:
                continue
            mine = [c[node.fingerprint] for c in levels.values() if node.fingerprint in c]
            most = max(mine, default=[0] * (4 + len(node.inputs)))
            name, passed = name_of(node), _passed(spans[node])
            if name not in found or found[name][0] < most:
                found[name] = most, passed
        return Measures({n: self.of.get(n, Measure()).after(*most) for n, most in found.items()})

    def statistics(self, graph: Graph) -> Statistics:
        """What the measures say, for those who choose between plans."""
        return Statistics.of(
            graph.nodes, {n: m.rates for n, m in self.of.items() if m.instants > 0}
        )

    def to_json(self) -> dict[str, Any]:
        return {name: measure.numbers for name, measure in self.of.items()}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Measures:
        measures = {n: Measure(*row[:6]) for n, row in data.items()}
        return Measures({n: replace(m, received=tuple(data[n][6:])) for n, m in measures.items()})


def _passed(span: Span) -> int:
    """The instants of a span from the beginning of the query's time on."""
    if span.begin is None or span.end < span.begin:
        return 0
    return span.end - max(span.start, span.begin - 1)
