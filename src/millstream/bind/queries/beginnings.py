"""The beginning of a query's time, for the operators that have rows from that instant on."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.node import Node, map_inputs, walk
from millstream.catalog import Catalog, View
from millstream.operators import GroupBy, Instants, Rstream, Scan, TableScan


def with_beginning(plan: Node, catalog: Catalog) -> Node:
    """The plan, in which tables and aggregates without groups begin with the streams of the query.

    Without `since` they begin with the streams below them; views keep their own beginning.
    """
    every = streams_of(plan)
    if all(_since(node, every) is node for node in walk(plan)):
        return plan
    views = {id(e.plan) for e in catalog.entries.values() if isinstance(e, View)}
    done: dict[int, Node] = {}

    def visit(node: Node) -> Node:
        if id(node) in views:
            return node
        if id(node) not in done:
            done[id(node)] = _since(map_inputs(node, visit), every)
        return done[id(node)]

    return visit(plan)


def streams_of(plan: Node) -> tuple[str, ...]:
    """The names of the streams that a plan rests on; those that only give points do not count."""
    seen, left = {plan}, [plan]
    while left:
        children = left.pop().inputs
        new = [c for c in children if not isinstance(c, Instants) and c not in seen]
        seen.update(new)
        left += new
    return tuple(sorted(node.stream for node in seen if isinstance(node, Scan)))


def _all_below(node: Node) -> tuple[str, ...]:
    return tuple(sorted({below.stream for below in walk(node) if isinstance(below, Scan)}))


def _since(node: Node, every: tuple[str, ...]) -> Node:
    match node:
        case GroupBy(keys=(), since=()) | TableScan(since=()) if _all_below(node) != every:
            return replace(node, since=every)
        case Rstream(begins=True, since=()) if _all_below(node) != every:
            return replace(node, since=every)
    return node
