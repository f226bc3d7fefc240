"""The points at which whole plans change: the time of a form, beside its data."""

from __future__ import annotations

from millstream.algebra.node import Node
from millstream.algebra.points import Points, tick_of
from millstream.operators import Range, RangeSlide, Sync, SyncAt, Unbounded
from millstream.rules.contained_points import Clock, contains


def synced(clock: Clock | None, node: Node) -> Node:
    """The relation as it changes at the points of a clock; as it is where there is none."""
    match clock:
        case None:
            return node
        case Points():
            return _slide(clock, node) or Sync(clock, node)
    return SyncAt(node, clock)


def clock_of(node: Sync | SyncAt) -> tuple[Clock, Node]:
    """The points of a sync, and what is synchronized."""
    return (node.points, node.input) if isinstance(node, Sync) else (node.right, node.left)


def both_clocks(outer: Clock, inner: Clock | None) -> Clock | None:
    """The clock of a relation that is synchronized twice; None where it has no single one.

    Sound because of Theorem 1: where one has all points of the other, the other one decides.
    """
    if inner is None or outer == inner or contains(inner, outer):
        return outer
    return inner if contains(outer, inner) else None


def unslid(node: RangeSlide) -> tuple[Clock, Node] | None:
    """A window with a slide as a window that is synchronized."""
    tick = tick_of(node.time_domain)
    if node.slide % tick:
        return None
    window = Unbounded(node.input) if node.length is None else Range(node.length, node.input)
    return Points.every(node.slide // tick, 0, tick), window


def _slide(clock: Points, node: Node) -> Node | None:
    """The window with a slide that a synchronized window is."""
    if not isinstance(node, Range | Unbounded) or not clock.period:
        return None
    length = node.length if isinstance(node, Range) else None
    slide = RangeSlide(length, clock.period * clock.tick, node.inputs[0])
    return slide if unslid(slide) == (clock, node) else None
