"""Relation to stream: Istream, Dstream, Rstream, and the tagged stream (semantics §5)."""

from collections import Counter
from collections.abc import Set

from .facts import Fact, Timeline, rank
from .spec import Row
from .windows import Element


def stream_of(timeline: Timeline, operator: str, active: Set[int]) -> list[Element]:
    """The elements of Istream, Dstream or Rstream, numbered in their order.

    `active` are the instants at which Rstream tells the relation.
    """
    elements: list[Element] = []
    for at, before, now in timeline.pairs():
        match operator:
            case "istream":
                facts = surplus(now, before)
            case "dstream":
                facts = surplus(before, now)
            case _:
                facts = now if at in active else []
        for fact in sorted(facts, key=rank):
            number = len(elements) + 1
            elements.append(Element(number, rank(fact), at, fact.row))
    return elements


def surplus(these: list[Fact], others: list[Fact]) -> list[Fact]:
    """The bag difference; of equal rows, those not among the others, the earliest first."""
    wanted = Counter(f.row for f in these)
    wanted.subtract(Counter(f.row for f in others))
    known = {f.identity for f in others}
    kept = []
    for fact in sorted((f for f in these if f.identity not in known), key=rank):
        if wanted[fact.row] > 0:
            wanted[fact.row] -= 1
            kept.append(fact)
    return kept


def tagged_of(timeline: Timeline, key: tuple[int, ...] | None) -> tuple:
    """(op, ts, row) for every change; a `-` row under a key holds the key's cells only."""
    changes: list[tuple[str, int, Row]] = []
    for at, before, now in timeline.pairs():
        if key is None:
            changes += [("-", at, f.row) for f in surplus(before, now)]
            changes += [("+", at, f.row) for f in surplus(now, before)]
        else:
            changes += keyed_changes(at, by_key(before, key), by_key(now, key), key)
    return tuple(changes)


def by_key(facts: list[Fact], key: tuple[int, ...]) -> dict[Row, Row]:
    return {tuple(fact.row[i] for i in key): fact.row for fact in facts}


def keyed_changes(at: int, before: dict, now: dict, key: tuple[int, ...]) -> list:
    """`-` for keys that went, `u` for rows that changed, `+` for keys that came."""
    changes: list[tuple[str, int, Row]] = []
    for value, row in before.items():
        if value not in now:
            left = tuple(cell if i in key else None for i, cell in enumerate(row))
            changes.append(("-", at, left))
        elif now[value] != row:
            changes.append(("u", at, now[value]))
    return changes + [("+", at, row) for value, row in now.items() if value not in before]
