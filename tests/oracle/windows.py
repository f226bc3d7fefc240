"""Streams and windows: which elements are in the window at an instant (semantics §3)."""

from dataclasses import dataclass

from .spec import Row, Window


@dataclass(frozen=True)
class Element:
    """⟨row, ts⟩; `number` tells equal elements apart, `order` ranks those of one instant.

    In a base stream both are the arrival number. The elements of a derived stream keep the
    arrival number of the base rows they come from, and go by their values where that is equal.
    """

    number: int
    order: tuple
    ts: int
    row: Row


def in_order(elements: list[Element]) -> list[Element]:
    """By time; ties by arrival."""
    return sorted(elements, key=lambda e: (e.ts, e.order))


def content(window: Window, names: list[str], elements: list[Element], at: int) -> list[Element]:
    """The elements in the window at an instant, in order; `elements` are in order too."""
    match window.kind:
        case "now":
            return [e for e in elements if e.ts == at]
        case "unbounded":
            return [e for e in elements if e.ts <= last_point(window, at)]
        case "range":
            point = last_point(window, at)
            return [e for e in elements if e.ts <= point <= e.ts + window.range]
    return rows_content(window, names, [e for e in elements if e.ts <= at], at)


def last_point(window: Window, at: int) -> int:
    """The instant at which a window by time was last moved: the last multiple of its slide."""
    return at // window.slide * window.slide if window.slide else at


def rows_content(
    window: Window, names: list[str], elements: list[Element], at: int
) -> list[Element]:
    """The last N of every partition, as they stood after the last multiple of the slide."""
    partitions: dict[tuple, list[Element]] = {}
    for e in elements:
        key = tuple(e.row[names.index(name)] for name in window.partition_by)
        partitions.setdefault(key, []).append(e)
    held: list[Element] = []
    for partition in partitions.values():
        stood = len(partition) - len(partition) % (window.slide or 1)
        first = 0 if window.rows is None else max(0, stood - window.rows)
        held += partition[first:stood]
    return [e for e in in_order(held) if window.range is None or at <= e.ts + window.range]


def turning_points(window: Window, elements: list[Element]) -> set[int]:
    """Instants at which the content can change: a superset, also of those that are too late."""
    points = {e.ts for e in elements}
    if window.kind == "now":
        points |= {e.ts + 1 for e in elements}
    if window.range is not None:
        points |= {e.ts + window.range + 1 for e in elements}
    if window.kind in ("range", "unbounded") and window.slide:
        points |= {-(-point // window.slide) * window.slide for point in points}
    return points
