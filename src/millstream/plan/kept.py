"""Plans as a checkpoint keeps them: text that a later version reads back as it stands.

A plan is kept as it is distributed, before a strategy has put its structures in: the strategy may
change when a run goes on, the plan does not. What changes in the rules changes no plan under its
state. A part that is read twice is written once, under a number:

    #1:
    Exchange by item
      Scan bids (item, price)
    #0:
    UnionAll
      Filter (price > 10.0)
        #1
      #1

A table stands under its name and the digest of its rows, which come with the query; a routine under
its name and the digest of its definition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from millstream.algebra.node import Node, transform, walk
from millstream.blocks.routine import Routine
from millstream.catalog import Catalog, Entry, Stream, Table
from millstream.errors import MillstreamError
from millstream.operators import (
    Begin,
    Exchange,
    Feed,
    Lateral,
    LookupJoin,
    Match,
    Recomputed,
    Rematch,
    Scan,
    SkewSplit,
    StaticTable,
    TableScan,
)
from millstream.patterns.tallies import OwnCall
from millstream.plan.strategy import BEGINS, joined_at
from millstream.plan.text import parse_lines


def kept_text(plan: Node) -> str:
    """The plan as text."""
    return _blocks(_by_digest(plan))


def read_kept(text: str, bound: Node, joined: str = "") -> Node:
    """The plan that a text keeps, over the streams and tables of the query as it is bound.

    Law: `read_kept(kept_text(plan), bound, joined) == plan` for every plan of `bound`, whatever the
    rules. Raises `MillstreamError` for what this version cannot read.
    """
    catalog = _catalog(bound, joined)
    parts: dict[str, Node] = {}
    for name, lines in _cut(text):
        parts[name] = parse_lines(lines, catalog, parts)
    if ROOT not in parts:
        raise MillstreamError("a plan is expected, and there is none")
    return parts[ROOT]


@lru_cache(maxsize=4096)
def logical(plan: Node) -> Node:
    """A distributed plan without what distributes it, and without word of when it joined.

    Law: it is the plan that was distributed.
    """

    def bare(node: Node) -> Node:
        if isinstance(node, (Begin, Exchange, SkewSplit)):
            return node.input
        if isinstance(node, Scan):
            return replace(node, declared=node.declared.partition(" ")[0])
        return node

    return transform(plan, bare)


@lru_cache(maxsize=4096)
def parts_of(plan: Node) -> frozenset[Node]:
    """All parts of a distributed plan, as they are before it is distributed."""
    return frozenset(walk(logical(plan)))


ROOT = "#0"
NEW_LINE = "\0"
"""What stands for the end of a line in a string: no string has one."""


def _cut(text: str) -> Iterator[tuple[str, list[str]]]:
    """The blocks of a text: a name, and lines."""
    name, lines = "", list[str]()
    for line in text.split("\n"):
        if line.startswith("#"):
            if name:
                yield name, lines
            name, lines = line.removesuffix(":"), []
        elif line:
            lines.append(line.replace(NEW_LINE, "\n"))
    if name:
        yield name, lines


def _blocks(plan: Node) -> str:
    readers: dict[Node, int] = {}
    for node in walk(plan):
        for child in node.inputs:
            readers[child] = readers.get(child, 0) + 1
    shared = [n for n in walk(plan) if readers.get(n, 0) > 1 and n.inputs and n != plan]
    names = {node: f"#{number}" for number, node in enumerate(shared, 1)}

    def lines(node: Node, depth: int) -> list[str]:
        indent = "  " * depth
        if depth and node in names:
            return [indent + names[node]]
        words = node.words.replace("\n", NEW_LINE)
        own = f"{indent}{type(node).__name__} {words}".rstrip()
        return [own, *(line for child in node.inputs for line in lines(child, depth + 1))]

    blocks = [(names[node], node) for node in shared] + [(ROOT, plan)]
    return "".join(f"{name}:\n" + "\n".join(lines(node, 0)) + "\n" for name, node in blocks)


def _known_as(table: StaticTable) -> str:
    return repr(table)


def _by_digest(plan: Node) -> Node:
    """The plan with tables under names that say what is in them."""

    def named(node: Node) -> Node:
        if isinstance(node, (TableScan, LookupJoin)):
            return replace(node, table=replace(node.table, name=_known_as(node.table)))
        return node

    return transform(plan, named)


@dataclass(frozen=True)
class _Read(Stream):
    """A stream as a query reads it."""

    whole: Scan | None = None

    def scan(self) -> Scan:
        assert self.whole is not None
        return self.whole


def _catalog(bound: Node, joined: str) -> Catalog:
    """The streams and tables that a query reads."""
    entries: dict[str, Entry] = {}
    called: dict[str, Routine] = {}
    for node in walk(bound):
        if isinstance(node, Feed | Recomputed):
            called.update((repr(call.routine), call.routine) for call in node.calls)
        if isinstance(node, Lateral):
            called[repr(node.routine)] = node.routine
        if isinstance(node, Match | Rematch):
            calls = (tally.call for tally in node.search.tallies)
            own = (call.routine for call in calls if isinstance(call, OwnCall))
            called.update((repr(routine), routine) for routine in own)
        if isinstance(node, (TableScan, LookupJoin)):
            name = _known_as(node.table)
            known = entries.get(name.lower())
            keys = known.key if isinstance(known, Table) else ()
            keys = node.keys if isinstance(node, TableScan) else keys
            entries[name.lower()] = Table(name, (), keys, node.table)
        if isinstance(node, Scan):
            entries[node.stream.lower()] = _read(node, entries.get(node.stream.lower()), joined)
    return Catalog(entries, called=called)


def _read(scan: Scan, before: Entry | None, joined: str) -> _Read:
    """A stream with all columns in which it is read."""
    known = before.columns if isinstance(before, _Read) else ()
    columns = dict(known) | dict(scan.columns)
    whole = replace(scan, columns=tuple(columns.items()), tests=())
    marked = joined_at(whole, joined.partition(BEGINS)[0]) if joined else whole
    assert isinstance(marked, Scan)
    return _Read(scan.stream, whole.columns, whole=marked)
