"""Streams and windows: which elements are in the window at an instant (semantics §3)."""

from dataclasses import dataclass, replace
from datetime import timedelta

from .spec import EPOCH, Columns, Row, Window

BOUNDS = ("window_start", "window_end")


@dataclass(frozen=True)
class Element:
    """⟨row, ts⟩; `number` tells equal elements apart, `order` ranks those of one instant.

    In a base stream both are the arrival number. The elements of a derived stream keep the
    arrival number of the base rows they come from, and go by their values where that is equal.
    """

    number: object
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
        case "tumble" | "hop":
            end = slot_end(window, at)
            return [replace(e, number=(e.number, end)) for e in elements if in_slot(window, end, e)]
        case "session":
            return [e for held, _ in sessions_at(window, names, elements, at) for e in held]
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


def slot_end(window: Window, at: int) -> int:
    """The last multiple of L up to an instant, counted from the offset."""
    every = window.slide or window.range
    end = window.offset % every
    return end + (at - end) // every * every


def in_slot(window: Window, end: int, e: Element) -> bool:
    return end - window.range <= e.ts < end


def sessions_at(
    window: Window, names: list[str], elements: list[Element], at: int
) -> list[tuple[list[Element], tuple[int, int]]]:
    """The last complete session of every partition, with the instants of its first and last row."""
    partitions: dict[tuple, list[Element]] = {}
    for e in elements:
        if e.ts <= at:
            key = tuple(e.row[names.index(name)] for name in window.partition_by)
            partitions.setdefault(key, []).append(e)
    found = []
    for partition in partitions.values():
        sessions: list[list[Element]] = []
        for e in partition:
            if sessions and e.ts - sessions[-1][-1].ts <= window.range:
                sessions[-1].append(e)
            else:
                sessions.append([e])
        complete = [s for s in sessions if at > s[-1].ts + window.range]
        if complete:
            last = complete[-1]
            found.append((last, (last[0].ts, last[-1].ts)))
    return found


def bounded(
    window: Window, columns: Columns, names: list[str], elements: list[Element], at: int
) -> list[Element]:
    """The content of a window with the columns that it gives; `columns` are those of its rows."""
    held = content(window, names, elements, at)
    if not window.has_bounds:
        return held
    if window.kind == "session":
        of = {
            e.number: bounds
            for session, bounds in sessions_at(window, names, elements, at)
            for e in session
        }
    else:
        end = slot_end(window, at)
        of = {e.number: (end - window.range, end) for e in held}
    given = dict(columns[len(names) :])
    made = []
    for e in held:
        own = dict(zip(BOUNDS, of[e.number]))
        more = tuple(as_value(own[name], given[name]) for name in BOUNDS if name in given)
        made.append(replace(e, row=e.row + more))
    return made


def as_value(instant: int, type_: str) -> object:
    return EPOCH + timedelta(microseconds=instant) if type_ == "timestamp" else instant


def turning_points(window: Window, elements: list[Element]) -> set[int]:
    """Instants at which the content can change: a superset, also of those that are too late."""
    points = {e.ts for e in elements}
    if window.kind == "now":
        points |= {e.ts + 1 for e in elements}
    if window.kind in ("tumble", "hop"):
        every = window.slide or window.range
        for e in elements:
            end = slot_end(window, e.ts) + every
            while end <= e.ts + window.range + every:
                points.add(end)
                end += every
        return points
    if window.range is not None:
        points |= {e.ts + window.range + 1 for e in elements}
    if window.kind in ("range", "unbounded") and window.slide:
        points |= {-(-point // window.slide) * window.slide for point in points}
    return points
