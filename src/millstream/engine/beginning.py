"""Beginnings: with which rows a query begins that joins a running job and shares no state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from millstream.algebra.node import Node
from millstream.algebra.time import DAWN
from millstream.catalog import Stream
from millstream.engine.clock import Clock
from millstream.engine.trail import Trail, mark_before
from millstream.operators import NonRetroactiveJoin, Scan, TableScan
from millstream.plan.graph import Graph
from millstream.plan.reach import reach_of, together

MOST_ROWS = 10_000_000
"""A query whose windows reach back for ever begins with all rows if they are at most so many."""


@dataclass(frozen=True)
class Past:
    """What is known of the rows that a job has read: its clock, and the trail of its sources."""

    clock: Clock = field(default_factory=Clock.start)
    trail: Trail = field(default_factory=dict)
    gone: frozenset[str] = frozenset()
    """The queries that were dropped since the last batch began: those of their names are others."""

    def without(self, stream: str) -> Past:
        """The same, of a source that cannot be read again."""
        left = {name: marks for name, marks in self.trail.items() if name != stream}
        return replace(self, trail=left)

    def has_read(self, stream: str) -> bool:
        clock = self.clock.sources.get(stream)
        return clock is not None and clock.rows > 0


@dataclass(frozen=True)
class Beginning:
    """With which rows a query begins: of every stream that is read again, those from `since` on at
    the latest, and none up to its `floors`. `after` is the instant after which rows count for a
    query that would need all of them, and cannot have them."""

    since: Mapping[str, int]
    floors: Mapping[str, int] = field(default_factory=dict)
    after: int | None = None

    @property
    def mark(self) -> str:
        """What tells queries apart that begin with other rows."""
        floors = sorted(self.floors.items())
        return " ".join(["read again", *(f"{name} after {floor}" for name, floor in floors)])


def beginning_of(
    plans: Iterable[Node], streams: Mapping[str, Stream], past: Past
) -> Beginning | None:
    """The beginning of a query with these plans; None when rows that it needs cannot be read again.

    Law: with the rows of a beginning, a plan has at the heartbeat the content that it would have
    had from the start, or, where rows count after an instant, that of a job of these rows alone.
    """
    graph = Graph(tuple(plans))
    beats = {past.clock.beats.get(s, DAWN) for root in graph.roots for s in graph.sources[root]}
    floors = _folded(graph)
    if floors is None or len(beats) > 1 or any(s.of for s in map(streams.get, graph.scans) if s):
        return None
    reaches = together(map(reach_of, graph.roots))
    read = {n: r for n, r in reaches.items() if past.has_read(n) and not _is_folded(streams[n])}
    if any(n not in past.trail for n in read):
        return None
    whole = {n: _since(n, reach, floors, past) for n, reach in read.items()}
    there = all(_is_there(n, i, past) for n, i in whole.items())
    if there and _rows(whole, past) <= MOST_ROWS:
        return Beginning(whole, floors)
    after = past.clock.beats.get(min(read), DAWN)
    floors = floors | {n: after for n in read if streams[n].op is None}
    part = {n: _since(n, reach, floors, past) for n, reach in read.items()}
    there = all(_is_there(n, i, past) for n, i in part.items())
    return Beginning(part, floors, after) if there else None


def first_right(plans: Iterable[Node], past: Past) -> int | None:
    """The first instant at which a query is right that begins with the rows that are read from now
    on: its windows hold none of those before then. None where they do for ever, or there are none.
    """
    reaches = together(map(reach_of, plans)).items()
    clocks = past.clock.sources
    seen = [(clocks[n].newest, reach) for n, reach in reaches if past.has_read(n)]
    known = [m + reach + 1 for m, reach in seen if m is not None and reach is not None]
    return max(known, default=None) if len(known) == len(seen) else None


def _since(name: str, reach: int | None, floors: Mapping[str, int], past: Past) -> int:
    """The instant from which rows of a stream are needed; DAWN for all of them."""
    if name in floors:
        return floors[name] + 1
    return DAWN if reach is None else max(past.clock.beats.get(name, DAWN) - reach, DAWN)


def _is_there(name: str, since: int, past: Past) -> bool:
    marks = past.trail[name]
    return marks[0].count == 0 if since == DAWN else mark_before(marks, since) is not None


def _rows(since: Mapping[str, int], past: Past) -> int:
    """How many rows are read again because windows reach back for ever."""
    return sum(past.trail[name][-1].count for name, instant in since.items() if instant == DAWN)


def _folded(graph: Graph) -> dict[str, int] | None:
    """For changes of tables up to which instant the table has them; None for a table that its
    readers see as it was, which is not known any more."""
    found: dict[str, int] = {}
    for node in graph.nodes:
        if isinstance(node, TableScan) and node.table.as_of is not None:
            if node.non_retroactive:
                return None
            found |= {scan.stream: node.table.as_of for scan in _scans(node)}
    beside = any(isinstance(node, NonRetroactiveJoin) for node in graph.nodes)
    return None if beside and found else found


def _scans(node: Node) -> Iterator[Scan]:
    for child in node.inputs:
        if isinstance(child, Scan):
            yield child
        else:
            yield from _scans(child)


def _is_folded(stream: Stream) -> bool:
    """Whether a table has all its changes: those of the clock are final when they are read."""
    return stream.op is not None and stream.is_internal
