"""How operators are carried out: which of several implementations an update pattern allows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from millstream.algebra.node import Node, map_inputs
from millstream.operators import DeltaStar, Distinct, Scan
from millstream.plan.distribute import distribute
from millstream.rules import optimize
from millstream.settings import Settings


def physical(root: Node, settings: Settings, views: Iterable[Node] = ()) -> Node:
    """The plan as it is carried out under the settings; `views` are parts that run anyhow."""
    root = optimize(root, views) if settings.rules == "on" else root
    return distribute(choose(root))


def joined_at(root: Node, mark: str) -> Node:
    """The plan of a query that joins a running job: it shares no state with the operators that are
    there, whose rows it has not seen come. Reading is shared."""
    done: dict[Node, Node] = {}

    def visit(node: Node) -> Node:
        if node not in done:
            own = map_inputs(node, visit)
            if isinstance(own, Scan):
                own = replace(own, declared=f"{own.declared} {mark}")
            done[node] = own
        return done[node]

    return visit(root)


def choose(root: Node) -> Node:
    """The plan with the implementation that the update pattern of every input allows."""
    done: dict[Node, Node] = {}

    def visit(node: Node) -> Node:
        if node not in done:
            done[node] = _chosen(map_inputs(node, visit))
        return done[node]

    return visit(root)


def _chosen(node: Node) -> Node:
    match node:
        case Distinct(input=source) if source.only_adds:
            return DeltaStar(source)
    return node
