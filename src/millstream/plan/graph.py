"""The graph of all registered queries: one shared plan, cut into levels between exchanges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from millstream.algebra.facts import Arrival
from millstream.algebra.node import Distribution, Node, walk
from millstream.operators import Exchange, Scan, SkewSplit
from millstream.plan.choices import Choice, choices
from millstream.plan.late import kept_by, late_tops
from millstream.plan.levels import distribution_of, level_of


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
        """The levels on which the rows of every exchange and skew split are wanted.

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
    def components(self) -> dict[int, tuple[tuple[Node, ...], ...]]:
        """For every level, what runs there, in parts that have nothing to do with each other.

        Each holds the exchanges it reads and all nodes above them; no two share a node.
        """
        found: dict[int, tuple[tuple[Node, ...], ...]] = {}
        place = {node: i for i, node in enumerate(self.nodes)}
        tops = dict.fromkeys((*self.roots, *(exchange.input for exchange in self.exchanges)))
        for number in range(1, self.depth + 1):
            mine = (_within(top) for top in tops if self.level[top] == number)
            found[number] = tuple(
                tuple(sorted(component, key=place.__getitem__)) for component in put_together(mine)
            )
        return found

    @cached_property
    def late(self) -> dict[int, Mapping[Node, Node]]:
        """For every level, what is asked for once all steps of a batch are done, each with the
        sync that it reads."""
        tops = dict.fromkeys((*map(kept_by, self.roots), *(e.input for e in self.exchanges)))
        asked: dict[int, list[Node]] = {}
        for top in tops:
            asked.setdefault(self.level[top], []).append(top)
        return {number: late_tops(asked.get(number, ())) for number in range(1, self.depth + 1)}

    @cached_property
    def choices(self) -> dict[int, Mapping[Node, Choice]]:
        """For every level, the answers that are found together."""
        return {number: choices(tops) for number, tops in self.late.items()}

    @cached_property
    def exchanges(self) -> tuple[Exchange, ...]:
        return tuple(node for node in self.nodes if isinstance(node, Exchange))

    @cached_property
    def skew_splits(self) -> dict[Exchange, tuple[SkewSplit, ...]]:
        """The skew splits above every exchange."""
        found = [node for node in self.nodes if isinstance(node, SkewSplit)]
        return {e: tuple(d for d in found if d.input == e) for e in self.exchanges}

    @property
    def boxes(self) -> tuple[Node, ...]:
        """Whatever is sent rows: exchanges and skew splits."""
        return (*self.exchanges, *(d for found in self.skew_splits.values() for d in found))

    @cached_property
    def meetings(self) -> dict[str, tuple[str, ...]]:
        """The meetings of skew splits, and the sides that may be spread there."""
        return {d.meeting: d.free for found in self.skew_splits.values() for d in found}

    @cached_property
    def is_read_otherwise(self) -> dict[Exchange, bool]:
        """For every exchange, whether others than skew splits read it."""
        read = {c for n in self.nodes if not isinstance(n, SkewSplit) for c in n.inputs}
        return {e: e in read or e in self.roots for e in self.exchanges}

    @cached_property
    def distributions(self) -> dict[Node, Distribution]:
        """How the rows of every node lie in buckets."""
        return {node: distribution_of(node) for node in self.nodes}

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
        """False for exchanges behind which nobody looks at the order of arrival.

        Each operator says what it does with the arrival numbers of its input rows; the roots of
        queries show them.
        """
        readers: dict[Node, list[Node]] = {}
        for node in self.nodes:
            for child in node.inputs:
                readers.setdefault(child, []).append(node)

        @cache
        def asked(node: Node) -> bool:
            if node in self.roots:
                return True
            return any(
                reader.arrival is Arrival.USED
                or (reader.arrival is Arrival.PASSED and asked(reader))
                for reader in readers.get(node, ())
            )

        return {exchange: asked(exchange) for exchange in self.exchanges}

    @cached_property
    def watermark_groups(self) -> dict[str, frozenset[str]]:
        """For every stream, the streams it shares queries with, directly or through others.

        They move together: their heartbeat is the smallest of theirs.
        """
        groups = put_together(dict.fromkeys(self.sources[root] for root in self.roots))
        return {stream: frozenset(group) for group in groups for stream in group}


def put_together(parts: Iterable[Set[Any]]) -> list[set[Any]]:
    """Sets of which those with something in common are one.

    >>> put_together([{1}, {2}, {1, 3}])
    [{1, 3}, {2}]
    """
    groups: dict[int, set[Any]] = {}
    home: dict[Any, int] = {}
    for number, part in enumerate(parts):
        met = {home[one] for one in part if one in home}
        into = max(met, key=lambda m: len(groups[m]), default=number)
        whole = groups.setdefault(into, set())
        for more in (part, *(groups.pop(other) for other in met if other != into)):
            whole |= more
            home.update(dict.fromkeys(more, into))
    return list(groups.values())


def _within(top: Node) -> set[Node]:
    """A node and those below it, down to the exchanges."""
    found, left = {top}, [top]
    while left:
        node = left.pop()
        below = () if isinstance(node, Exchange) else node.inputs
        left += [child for child in below if child not in found]
        found.update(below)
    return found
