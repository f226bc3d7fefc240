"""How plans are carried out: by which operators, and how these keep their state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

from millstream.algebra.lifetime import Ends
from millstream.algebra.node import Node, map_inputs, transform, walk
from millstream.algebra.pattern import Pattern
from millstream.algebra.state_layout import Buffer, StateLayout
from millstream.algebra.state_parts import Structure
from millstream.operators import AntiJoin, Begin, Exchange, Lateral, Retract, Scan, Stored, Tagged
from millstream.operators.retract import ALWAYS, DRAINS, MEASURED
from millstream.plan.alternatives import Chooser
from millstream.plan.distribute import distribute
from millstream.plan.lazily import read_lazily, subtotals_of
from millstream.plan.stars import with_stars
from millstream.settings import DIRECT, NEGATIVE, UPDATE_PATTERN, Settings

BEGINS = " begins "
"""What stands before the instant at which a query begins, in the mark of when it joined."""


def physical(
    root: Node,
    settings: Settings,
    views: Iterable[Node] = (),
    chooser: Chooser | None = None,
) -> Node:
    """The plan as it is carried out under the settings; `views` are parts that run anyhow."""
    return carried_out(distributed(chosen(root, settings, views, chooser)), settings)


def chosen(
    root: Node, settings: Settings, views: Iterable[Node] = (), chooser: Chooser | None = None
) -> Node:
    """The plan after the rules that the settings ask for."""
    if settings.rules == "off":
        return root
    chooser = (chooser or Chooser()) if settings.rules == "on" else Chooser(most=1)
    return chooser.optimized(root, views)


def distributed(root: Node, joined: str = "") -> Node:
    """The plan with exchanges, as a checkpoint keeps it. `joined` says when the query came, if the
    job was running already."""
    return distribute(joined_at(root, joined) if joined else root)


def carried_out(
    root: Node, settings: Settings, drains: bool = False, counted: Set[str] = frozenset()
) -> Node:
    """A distributed plan with the structures of the strategy.

    It `drains` when it takes over state of another strategy: rows that were emitted open are
    still retracted, and the plan has no operator that cannot take retractions. `counted` are
    states in which another strategy has counted duplicates.
    """
    by_pattern = settings.strategy == UPDATE_PATTERN and not drains
    root = with_stars(root, counted) if by_pattern else root
    if settings.strategy == NEGATIVE or drains:
        when = ALWAYS if settings.strategy == NEGATIVE else DRAINS
        root = transform(root, lambda node: _with_negatives(node, when))
    if (above := _above_negation(settings, drains)) is not None:
        root = transform(root, lambda n: Retract(above, n) if isinstance(n, AntiJoin) else n)
    return transform(root, lambda node: _with_state_layout(node, settings, by_pattern))


def joined_at(root: Node, mark: str) -> Node:
    """The plan of a query that joins a running job: it shares no state with the operators that are
    there, whose rows it has not seen come. Reading is shared. A mark that ends in `BEGINS` and an
    instant lets the answers begin there."""

    def marked(node: Node) -> Node:
        if isinstance(node, Scan):
            return replace(node, declared=f"{node.declared} {mark.partition(BEGINS)[0]}")
        return node

    root, (_, begins, instant) = transform(root, marked), mark.rpartition(BEGINS)
    if not begins:
        return root
    if isinstance(root, (Tagged, Stored)):
        return replace(root, input=Begin(int(instant), root.input))
    return Begin(int(instant), root)


def together(roots: Sequence[Node]) -> list[Node]:
    """Plans that run beside each other, with what each part must know of all its readers."""
    above: dict[Node, dict[Node, None]] = {}
    for root in roots:
        for node in walk(root):
            for child in node.inputs:
                above.setdefault(child, {})[node] = None

    def waiting(node: Node) -> set[Node]:
        """The operators above that wait for the ends of its rows."""
        found: set[Node] = set()
        for reader in above.get(node, ()):
            waits = any(kept.structure is Structure.DUE for kept in reader.state_parts)
            found |= {reader} if waits else waiting(reader)
        return found

    lazily = read_lazily(roots, above)

    def informed(node: Node) -> Node:
        layout = node.state_layout
        if isinstance(node, Retract) and node.when == MEASURED:
            layout = replace(layout, readers=len(waiting(node)))
        if node.takes_at_once:
            layout = replace(layout, at_once=node in lazily and node.follows_content)
        if isinstance(node, Exchange):
            layout = replace(layout, subtotals=subtotals_of(node, lazily, above))
        return node if layout == node.state_layout else replace(node, state_layout=layout)

    return [transform(root, informed) for root in roots]


def _with_negatives(node: Node, when: str) -> Node:
    """An operator with state, whose inputs emit the ends of their rows as negative rows."""
    if node.stateless or node.keeps_ends:
        return node
    return map_inputs(
        node, lambda child: Retract(when, child) if child.lifetime.ends is Ends.GIVEN else child
    )


def _above_negation(settings: Settings, drains: bool) -> str | None:
    """When the rows of a negation are emitted open; None for never."""
    if settings.strategy == UPDATE_PATTERN and settings.negation != "ends":
        return MEASURED if settings.negation == "measured" else ALWAYS
    return DRAINS if drains else None


def _with_state_layout(node: Node, settings: Settings, by_pattern: bool) -> Node:
    """An operator that keeps its state as the update patterns of its inputs ask for."""
    if node.uses_ends:
        return replace(node, state_layout=StateLayout(uses_ends=by_pattern))
    native = settings.native == "on"
    if isinstance(node, Lateral):
        return replace(node, state_layout=StateLayout(native=native))
    if node.stateless:
        return node
    if node.moves_rows:
        return replace(node, state_layout=StateLayout(Buffer.QUEUE))
    worst = max((child.pattern for child in node.inputs), default=Pattern.MON)
    if worst is Pattern.WKS:
        buffer = Buffer.QUEUE
    else:
        buffer = Buffer.LIST if settings.strategy == DIRECT else Buffer.CALENDAR
    layout = StateLayout(
        buffer,
        settings.lazy / 100,
        native=native,
        skips=settings.search == "ops",
        steps=settings.pattern_steps,
        history=settings.kept(node.time_domain) if isinstance(node, Stored) else 0,
    )
    return replace(node, state_layout=layout)
