"""How plans are carried out: by which operators, and how these keep their state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import fields, replace

from millstream.algebra.node import Node, transform, walk, with_inputs
from millstream.algebra.pattern import Pattern
from millstream.algebra.state_layout import Buffer, StateLayout
from millstream.algebra.state_parts import Structure
from millstream.operators import (
    AntiJoin,
    Coalesce,
    Exchange,
    NonRetroactiveJoin,
    Now,
    Range,
    RangeSlide,
    Retract,
    Rows,
    Scan,
)
from millstream.operators.retract import ALWAYS, DRAINS, MEASURED
from millstream.plan.alternatives import Chooser
from millstream.plan.distribute import distribute
from millstream.plan.stars import with_stars
from millstream.settings import DIRECT, NEGATIVE, UPDATE_PATTERN, Settings

KEEP_ENDS = (Scan, Now, Range, RangeSlide, Rows, Exchange, NonRetroactiveJoin)
"""Operators that leave the ends of rows as they are. A join with a non-retroactive table is one: it
could not find again what a negative row takes back, as the table has gone on since."""


def physical(
    root: Node,
    settings: Settings,
    views: Iterable[Node] = (),
    drains: bool = False,
    chooser: Chooser | None = None,
    joined: str = "",
    counted: Set[str] = frozenset(),
) -> Node:
    """The plan as it is carried out under the settings; `views` are parts that run anyhow.

    It `drains` when it takes over state of another strategy: rows that were given out open are
    still taken back, and no operator stands in the plan that could not take that. `counted` are
    states in which another strategy has counted duplicates. `joined` says when the query came, if
    the job was running already.
    """
    if settings.rules != "off":
        chooser = (chooser or Chooser()) if settings.rules == "on" else Chooser(most=1)
        root = chooser.optimized(root, views)
    by_pattern = settings.strategy == UPDATE_PATTERN and not drains
    root = distribute(joined_at(root, joined) if joined else root)
    root = with_stars(root, counted) if by_pattern else root
    if settings.strategy == NEGATIVE or drains:
        when = ALWAYS if settings.strategy == NEGATIVE else DRAINS
        root = transform(root, lambda node: _with_negatives(node, when))
    if (above := _above_negation(settings, drains)) is not None:
        root = transform(root, lambda n: Retract(above, n) if isinstance(n, AntiJoin) else n)
    return transform(root, lambda node: _with_state_layout(node, settings, by_pattern))


def joined_at(root: Node, mark: str) -> Node:
    """The plan of a query that joins a running job: it shares no state with the operators that are
    there, whose rows it has not seen come. Reading is shared."""

    def marked(node: Node) -> Node:
        if isinstance(node, Scan):
            return replace(node, declared=f"{node.declared} {mark}")
        return node

    return transform(root, marked)


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

    def told(node: Node) -> Node:
        if not isinstance(node, Retract) or node.when != MEASURED:
            return node
        return replace(node, state_layout=replace(node.state_layout, readers=len(waiting(node))))

    return [transform(root, told) for root in roots]


def _with_negatives(node: Node, when: str) -> Node:
    """An operator with state, whose inputs tell the ends of their rows when they come."""
    if node.stateless or isinstance(node, KEEP_ENDS):
        return node
    changed = {
        f.name: Retract(when, child)
        for f in fields(node)
        if isinstance(child := getattr(node, f.name), Node) and _knows_ends(child)
    }
    return with_inputs(node, changed) if changed else node


def _above_negation(settings: Settings, drains: bool) -> str | None:
    """When the rows of a negation are given out open; None for never."""
    if settings.strategy == UPDATE_PATTERN and settings.negation != "ends":
        return MEASURED if settings.negation == "measured" else ALWAYS
    return DRAINS if drains else None


def _knows_ends(node: Node) -> bool:
    """True when rows come from a window by time, over nothing that keeps state."""
    match node:
        case Now() | Range():
            return True
        case RangeSlide(length=length) | Rows(length=length):
            return length is not None
    if isinstance(node, NonRetroactiveJoin):
        return _knows_ends(node.left)
    if node.is_stream or not (node.stateless or isinstance(node, Exchange)):
        return False
    return any(map(_knows_ends, node.inputs))


def _with_state_layout(node: Node, settings: Settings, by_pattern: bool) -> Node:
    """An operator that keeps its state as the update patterns of its inputs ask for."""
    if isinstance(node, Coalesce):
        return replace(node, state_layout=StateLayout(uses_ends=by_pattern))
    if isinstance(node, Exchange):
        return replace(node, state_layout=StateLayout(Buffer.QUEUE))
    if node.stateless:
        return node
    worst = max((child.pattern for child in node.inputs), default=Pattern.MON)
    if worst is Pattern.WKS:
        buffer = Buffer.QUEUE
    else:
        buffer = Buffer.LIST if settings.strategy == DIRECT else Buffer.CALENDAR
    return replace(node, state_layout=StateLayout(buffer, settings.lazy / 100))
