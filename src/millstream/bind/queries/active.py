"""The active instants of a query: the points of Rstream, from the windows and tables of FROM."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

from millstream.algebra.node import Node, walk
from millstream.algebra.points import Points
from millstream.bind.queries.first_points import windows_within
from millstream.operators import (
    Active,
    Feed,
    Filter,
    Hop,
    Lateral,
    LookupJoin,
    NonRetroactiveJoin,
    Now,
    Over,
    Project,
    Range,
    RangeSlide,
    Rows,
    Rstream,
    Scan,
    Stamp,
    Sync,
    SyncAt,
    TableScan,
    Unbounded,
    UnionAll,
    Within,
)

WITHIN = (Feed, Filter, Lateral, LookupJoin, Over, Project, Stamp)
"""What a query does with the elements of its stream before they make a relation."""

AT_ONCE = (Now, Range, Unbounded)
"""Windows that every element enters at its own instant."""


def rstream(relation: Node) -> Rstream:
    """Rstream of a relation, as it is bound: with the points at which its query is active.

    They are those at which an element or row enters or leaves a window or table that it is made of,
    down to the streams: views that are relations are looked into, a derived stream is a stream of
    its own. Windows are taken as they stand in FROM, without the conditions of WHERE.
    """
    found = _Found()
    found.look(relation)
    bare: list[Node] = [Project((), node) for node in dict.fromkeys(found.windows)]
    points = Active(reduce(UnionAll, bare)) if bare else None
    every = tuple(dict.fromkeys(found.every))
    return Rstream(every, found.tables and not found.is_begun, relation, points)


@dataclass
class _Found:
    """What makes instants active: windows and tables that change, periods, and whether there are
    tables with rows from the beginning on."""

    windows: list[Node] = field(default_factory=list)
    every: list[Points] = field(default_factory=list)
    tables: bool = False
    direct: set[str] = field(default_factory=set)
    """Streams whose first element makes its instant active."""
    streams: set[str] = field(default_factory=set)
    seen: set[Node] = field(default_factory=set)

    @property
    def is_begun(self) -> bool:
        """Whether the first instant of the query is active anyhow."""
        return self.streams <= self.direct

    def look(self, node: Node) -> None:
        """Go down to where relations are made of streams, and to tables, each once."""
        if node in self.seen:
            return
        self.seen.add(node)
        match node:
            case LookupJoin(table=table):
                self.tables |= table.rows.num_rows > 0
                self.look(node.input)
            case NonRetroactiveJoin(left=left, right=right):
                self._table(right)
                self.look(left)
            case TableScan():
                self._table(node)
                self.windows += [] if node.is_static else [node]
            case Within():
                self.windows.append(node)
                self.look(node.input)
            case Sync() | SyncAt():
                self.streams |= _streams(node)
                self.windows.append(node)
                self._within(windows_within(node))
            case _ if any(child.is_stream for child in node.inputs):
                self._window(node)
            case _:
                for child in node.inputs:
                    self.look(child)

    def _within(self, windows: tuple[Node, ...]) -> None:
        """Look into a view that begins at a point: its tables enter there, not with the query."""
        tables = self.tables
        for relation in windows[:1]:
            self.look(relation)
        self.windows += windows[1:]
        self.tables = tables

    def _table(self, node: Node) -> None:
        for table in _tables(node):
            self.tables |= table.table.rows.num_rows > 0
            self.streams |= _streams(table)

    def _window(self, node: Node) -> None:
        stream = node.inputs[0]
        self.streams |= _streams(node)
        match node:
            case RangeSlide(slide=slide):
                self.every.append(Points.every(slide, 0, 1))
                return
            case Hop(every=every, offset=offset):
                self.every.append(Points.every(every, offset, 1))
                return
            case Rows(length=None, slide=1):  # what leaves goes when another element enters
                node = Unbounded(stream)
        self.windows.append(node)
        base = stream
        while isinstance(base, WITHIN):
            self.tables |= isinstance(base, LookupJoin) and base.table.rows.num_rows > 0
            (base,) = base.inputs
        if base != stream:
            self.windows.append(Unbounded(base))
        if isinstance(base, Scan) and (base != stream or isinstance(node, AT_ONCE)):
            self.direct.add(base.stream)


def _streams(node: Node) -> set[str]:
    return {part.stream for part in walk(node) if isinstance(part, Scan)}


def _tables(node: Node) -> list[TableScan]:
    return [part for part in walk(node) if isinstance(part, TableScan)]
