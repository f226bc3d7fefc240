"""The graph of all registered queries: one shared plan, cut into levels between exchanges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

from millstream.algebra.node import Node, Spread, walk
from millstream.operators import (
    Detour,
    Distinct,
    Exchange,
    Filter,
    GroupBy,
    LookupJoin,
    Project,
    RangeSlide,
    Scan,
)
from millstream.plan.levels import level_of, spread_of


@dataclass(frozen=True)
class Graph:
    """The roots of all queries, distributed. Equal parts are one part: they are computed once."""

    roots: tuple[Node, ...]

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Every distinct node, inputs first."""
        found: dict[Node, None] = {}
        for root in self.roots:
            found.update(dict.fromkeys(walk(root)))
        return tuple(found)

    @cached_property
    def level(self) -> dict[Node, int]:
        """Level 0 runs where the rows are read; each exchange leads one level up."""
        return {node: level_of(node) for node in self.nodes}

    @property
    def depth(self) -> int:
        return max(self.level.values(), default=0)

    @cached_property
    def landings(self) -> dict[Node, tuple[int, ...]]:
        """The levels on which the rows of every exchange and detour are wanted.

        Operators without state are computed wherever somebody reads them, so an exchange may be
        read on a level higher than the one right above its input.
        """
        found: dict[Node, set[int]] = {node: set() for node in self.nodes}

        def land(node: Node, level: int) -> None:
            if level in found[node]:
                return
            found[node].add(level)
            if node.stateless or node.follows_reader:
                for child in node.inputs:
                    land(child, level)

        for root in (*self.roots, *(exchange.input for exchange in self.exchanges)):
            land(root, self.level[root])
        for node in self.nodes:
            if not node.stateless and not node.follows_reader and not isinstance(node, Exchange):
                for child in node.inputs:
                    land(child, self.level[node])
        return {box: tuple(sorted(found[box])) for box in self.boxes}

    @cached_property
    def flows(self) -> dict[int, tuple[tuple[Node, ...], ...]]:
        """For every level, what runs there, in parts that have nothing to do with each other.

        Each holds the exchanges it reads and all nodes above them; no two share a node.
        """
        found: dict[int, tuple[tuple[Node, ...], ...]] = {}
        place = {node: i for i, node in enumerate(self.nodes)}
        tops = dict.fromkeys((*self.roots, *(exchange.input for exchange in self.exchanges)))
        for number in range(1, self.depth + 1):
            flows: list[set[Node]] = []
            for top in tops:
                if self.level[top] == number:
                    mine = _within(top)
                    apart = [f for f in flows if not f & mine]
                    flows = [*apart, mine.union(*(f for f in flows if f & mine))]
            found[number] = tuple(tuple(sorted(flow, key=place.__getitem__)) for flow in flows)
        return found

    @cached_property
    def exchanges(self) -> tuple[Exchange, ...]:
        return tuple(node for node in self.nodes if isinstance(node, Exchange))

    @cached_property
    def detours(self) -> dict[Exchange, tuple[Detour, ...]]:
        """The detours above every exchange."""
        found = [node for node in self.nodes if isinstance(node, Detour)]
        return {e: tuple(d for d in found if d.input == e) for e in self.exchanges}

    @property
    def boxes(self) -> tuple[Node, ...]:
        """Whatever is sent rows: exchanges and detours."""
        return (*self.exchanges, *(d for found in self.detours.values() for d in found))

    @cached_property
    def meetings(self) -> dict[str, tuple[str, ...]]:
        """The meetings of detours, and the sides that may be spread there."""
        return {d.meeting: d.free for found in self.detours.values() for d in found}

    @cached_property
    def is_read_otherwise(self) -> dict[Exchange, bool]:
        """For every exchange, whether others than detours read it."""
        read = {c for n in self.nodes if not isinstance(n, Detour) for c in n.inputs}
        return {e: e in read or e in self.roots for e in self.exchanges}

    @cached_property
    def spreads(self) -> dict[Node, Spread]:
        """How the rows of every node lie in buckets."""
        return {node: spread_of(node) for node in self.nodes}

    @cached_property
    def sources(self) -> dict[Node, frozenset[str]]:
        """The streams every node rests on."""
        found: dict[Node, frozenset[str]] = {}
        for node in self.nodes:
            own = {node.stream} if isinstance(node, Scan) else set()
            found[node] = frozenset(own).union(*(found[child] for child in node.inputs))
        return found

    @cached_property
    def scans(self) -> dict[str, tuple[Scan, ...]]:
        """The scans of every stream."""
        found: dict[str, tuple[Scan, ...]] = {}
        for node in self.nodes:
            if isinstance(node, Scan):
                found[node.stream] = (*found.get(node.stream, ()), node)
        return found

    @cached_property
    def needs_arrival(self) -> dict[Exchange, bool]:
        """False for exchanges behind which nobody looks at the order of arrival."""
        readers: dict[Node, list[Node]] = {}
        for node in self.nodes:
            for child in node.inputs:
                readers.setdefault(child, []).append(node)

        @cache
        def asked(node: Node) -> bool:
            if node in self.roots:
                return True
            return any(
                _asks(reader) or asked(reader)
                for reader in readers.get(node, ())
                if not isinstance(reader, (GroupBy, Distinct))
            )

        return {exchange: asked(exchange) for exchange in self.exchanges}

    @cached_property
    def companions(self) -> dict[str, frozenset[str]]:
        """For every stream, the streams it shares queries with, directly or through others.

        They move together: their heartbeat is the smallest of theirs.
        """
        groups: list[set[str]] = []
        for root in self.roots:
            mine = set(self.sources[root])
            apart = [g for g in groups if not g & mine]
            groups = [*apart, mine.union(*(g for g in groups if g & mine))]
        return {stream: frozenset(group) for group in groups for stream in group}


def _within(top: Node) -> set[Node]:
    """A node and those below it, down to the exchanges."""
    found, left = {top}, [top]
    while left:
        node = left.pop()
        below = () if isinstance(node, Exchange) else node.inputs
        left += [child for child in below if child not in found]
        found.update(below)
    return found


def _asks(node: Node) -> bool:
    """True for operators that go by the order of arrival, or know rows by it."""
    return not isinstance(node, (Filter, Project, LookupJoin, RangeSlide))
