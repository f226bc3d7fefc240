"""Tagged streams by their definition: what elements make of a relation, and since when rows are
there. Everything is worked out anew for every instant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

Row = dict[str, object]
Bag = list[Row]

DELETES = ("-", "d", "D", "delete", "Delete")
UPDATES = ("u", "U", "update", "UPDATE")
INSERTS = ("+", "i", "I", "c", "r", "insert", "INSERT")


@dataclass(frozen=True)
class Element:
    """An element in the order of arrival; without `op` it is one of a stream of plain tuples."""

    ts: int
    op: str | None
    row: Row


def keyed(elements: Iterable[Element], keys: Sequence[str], at: int) -> Bag:
    """Under a key: the last element up to an instant puts its row, unless it deletes."""
    found: dict[tuple, Row] = {}
    for element in elements:
        if element.ts > at:
            continue
        key = tuple(element.row[name] for name in keys)
        if element.op in DELETES:
            found.pop(key, None)
        else:
            found[key] = element.row | {"TS": element.ts}
    return list(found.values())


def unkeyed(elements: Iterable[Element], at: int) -> Bag:
    """Without a key: each element adds a row, or removes an equal one, if there is one."""
    found: Bag = []
    for element in elements:
        if element.ts > at or element.op in UPDATES:
            continue
        if element.op not in DELETES:
            found.append(element.row)
        elif element.row in found:
            found.remove(element.row)
    return found


def dated(snapshots: Sequence[tuple[int, Bag]]) -> Iterator[tuple[int, Bag]]:
    """Rows with the instants since which they are there; of equal ones the oldest leaves first."""
    since: dict[tuple, list[int]] = {}
    for at, bag in snapshots:
        now = Counter(map(frozen, bag))
        for row in {*since, *now}:
            held = since.setdefault(row, [])
            held += [at] * (now[row] - len(held))
            del held[: len(held) - now[row]]
        rows = [dict(row) | {"TS": ts} for row, held in since.items() for ts in held]
        yield at, rows


def frozen(row: Row) -> tuple:
    """A row as something that can be counted."""
    return tuple(row.items())


def replayed(
    changes: Iterable[tuple[str, int, Row]], key: Sequence[str] | None, at: int
) -> Counter[tuple]:
    """What the changes of a streamed result up to an instant make; an error for one that does not
    follow from those before it."""
    bag: Counter[tuple] = Counter()
    rows: dict[tuple, Row] = {}
    for op, ts, row in changes:
        if ts > at:
            continue
        if key is None:
            assert op in "+-", "without a key nothing is updated"
            bag[frozen(row)] += 1 if op == "+" else -1
            assert bag[frozen(row)] >= 0, "a row leaves that is not there"
            continue
        named = tuple(row[name] for name in key)
        assert (op == "+") == (named not in rows), f"{op} of {row} after {rows.get(named)}"
        if op == "-":
            del rows[named]
        else:
            assert rows.get(named) != row, "an update that changes nothing"
            rows[named] = row
    return +bag if key is None else Counter(map(frozen, rows.values()))
