"""Which taggers several queries read: what a rule makes of one must be good for all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Protocol

from millstream.algebra.node import Node
from millstream.operators import Tagger


class Reader(Protocol):
    """A query: its plan, and the plans of views that it is made of."""

    @property
    def plan(self) -> Node: ...

    @property
    def views(self) -> tuple[Node, ...]: ...


def read_by_several(queries: Iterable[Reader]) -> frozenset[Node]:
    """The taggers that more than one query reads; what a view reads counts once, for the view."""
    counts = Counter(node for query in queries for node in set(_own_taggers(query)))
    return frozenset(node for node, count in counts.items() if count > 1)


def _own_taggers(query: Reader) -> Iterator[Node]:
    views, seen, below = set(query.views) - {query.plan}, set[Node](), [query.plan]
    while below:
        node = below.pop()
        if isinstance(node, Tagger):
            yield node
        if node not in seen and (node not in views or isinstance(node, Tagger)):
            below += node.inputs
        seen.add(node)


def run_anyhow(views: Iterable[Node], shared: frozenset[Node]) -> tuple[Node, ...]:
    """The parts of a plan that others read as they are: views, and taggers that are shared.

    A tagged stream has no result of its own, so its tagger belongs to the query that reads it if
    there is only one: it may then be pulled above the filters of that query.
    """
    return (*(view for view in views if not isinstance(view, Tagger)), *shared)
