"""What is looked at once a batch: parts of plans of which nobody asks for the instants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

from millstream.algebra.node import Node, walk
from millstream.operators import Exchange, GroupBy, Stored
from millstream.operators.subtotals import Subtotals, kept_by

Readers = Mapping[Node, Iterable[Node]]
"""For every part of a plan, what reads it."""


def read_lazily(roots: Sequence[Node], above: Readers) -> frozenset[Node]:
    """The parts of plans of which only the content at the end of a batch is ever looked at: those
    below stored results, as far as what follows from them follows from their content.

    Sound because the content at the end of a span is the same whatever the instants before it were,
    and everybody who is told of instants, or keeps what was, reads something else.
    """
    found: set[Node] = {root for root in roots if isinstance(root, Stored) and root.is_read_last}
    told = set(roots) - found
    for node in _readers_first(dict.fromkeys(n for root in roots for n in walk(root)), above):
        readers = above.get(node, ())
        if readers and node not in told and all(r in found and _looks_once(r) for r in readers):
            found.add(node)
    return frozenset(found)


def subtotals_of(exchange: Node, lazily: Set[Node], above: Readers) -> Subtotals | None:
    """How rows that are read are made few before they are sent to groups that are looked at once a
    batch; None where something else reads them."""
    readers = [r for r in above.get(exchange, ()) if isinstance(r, GroupBy) and r in lazily]
    if exchange not in lazily or len(readers) < len([*above.get(exchange, ())]):
        return None
    calls = tuple(dict.fromkeys(call for r in readers for call in r.calls))
    keys = {r.keys for r in readers}
    is_read = not any(isinstance(node, Exchange) for node in walk(exchange.inputs[0]))
    if not is_read or len(keys) != 1 or kept_by(calls, exchange.schema) is None:
        return None
    return Subtotals(keys.pop(), calls, exchange.schema)


def _looks_once(reader: Node) -> bool:
    return reader.follows_content or reader.moves_rows


def _readers_first(nodes: Iterable[Node], above: Readers) -> Iterable[Node]:
    """The nodes in an order in which each comes after all that read it."""
    done: dict[Node, None] = {}

    def visit(node: Node) -> None:
        if node not in done:
            for reader in above.get(node, ()):
                visit(reader)
            done[node] = None

    for node in nodes:
        visit(node)
    return done
