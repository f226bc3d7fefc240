"""How much operators keep at most, in words."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.algebra.node import Node, walk
from millstream.algebra.state_parts import Extent, StatePart
from millstream.algebra.time import Domain
from millstream.operators import (
    AntiJoin,
    DeltaStar,
    Distinct,
    Exchange,
    Filter,
    GroupBy,
    Intersect,
    Join,
    LookupJoin,
    Minus,
    NonRetroactiveJoin,
    Now,
    Project,
    Range,
    RangeSlide,
    Retract,
    Rows,
    Scan,
    SemiJoin,
    SingleJoin,
    SkewSplit,
    TableScan,
    TopK,
    Unbounded,
    UnionAll,
)
from millstream.operators.retract import ALWAYS
from millstream.operators.rows import EVER
from millstream.plan.memory import is_endless

UNITS = (
    ("week", 604_800_000_000),
    ("day", 86_400_000_000),
    ("hour", 3_600_000_000),
    ("minute", 60_000_000),
    ("second", 1_000_000),
    ("millisecond", 1_000),
    ("microsecond", 1),
)


def bound(node: Node, kept: StatePart) -> str:
    """The most that a part of an operator's state holds; `none: …` when nothing bounds it."""
    below = node.inputs[kept.side] if node.inputs else node
    match kept.extent:
        case Extent.ROWS:
            return content(below) or "none: grows with every row"
        case Extent.ENDING:
            if not _has_ends(below):
                return "nothing: no row has a known end"
            return _ending(below) or "none: grows with every row"
        case Extent.VALUES:
            return _each("value", below)
        case Extent.COLLECTED:
            there = content(below)
            return f"values of {there}" if there else "none: grows with every new value"
        case Extent.GROUPS if isinstance(node, GroupBy):
            return _each(_and(node.keys), below) if node.keys else "one row"
        case Extent.OWN:
            there = _window(node) if isinstance(node, Rows) else content(node)
            return there or "none: grows with every row"
        case Extent.SLIDE if isinstance(node, RangeSlide):
            return f"rows of {length_words(node.slide, node)}"
        case Extent.PARTITIONS if isinstance(node, Rows) and node.partition_by:
            keys = _and(node.partition_by)
            if node.length is None or node.slide > 1:
                return f"none: grows with every new {keys}"
            return f"one row per {keys} in the last {length_words(node.length, node)}"
        case Extent.OPEN:
            return "rows of instants that are not final yet"
    return "one row"


def content(node: Node) -> str | None:
    """The rows that are in a relation at one instant, in words; None when they only become more."""
    if is_endless(node):
        return None
    match node:
        case Now():
            return f"{_rows_of(node.input)} at one instant"
        case Range(length=length):
            return f"{_rows_of(node.input)} in the last {length_words(length, node)}"
        case RangeSlide(length=int(length), slide=slide):
            return f"{_rows_of(node.input)} in the last {length_words(length + slide, node)}"
        case Rows():
            return _window(node).removeprefix("none: ")
        case GroupBy(keys=()):
            return "one row"
        case GroupBy(keys=keys, input=below):
            return f"one row per {_and(keys)} of {content(below)}"
        case Distinct() | DeltaStar():
            return _values(content(node.input))
        case LookupJoin() | NonRetroactiveJoin():
            return f"{content(node.inputs[0])} with their rows of the table"
        case TopK(limit=int(limit), partition_by=keys):
            return f"at most {limit:,} rows" + (f" per {_and(keys)}" if keys else "")
        case TableScan(table=table):
            count = f"{table.rows.num_rows:,} " if node.is_static else ""
            return f"the {count}rows of table {table.name}"
        case UnionAll() | Intersect():
            found = [content(n) or f"all {_rows_of(n)}" for n in node.inputs]
            return (" and " if isinstance(node, UnionAll) else " or ").join(dict.fromkeys(found))
        case Join():
            parts = _parts(node)
            many = "pairs" if len(parts) == 2 else "combinations"
            return f"{many} of {', '.join(parts[:-1])} and {parts[-1]}"
    return content(node.inputs[0]) if node.inputs and not node.is_stream else "elements"


def length_words(length: int, node: Node) -> str:
    """A length of time in the units of the streams below a node."""
    domains = {below.domain for below in walk(node) if isinstance(below, Scan)}
    if domains != {Domain.TIMESTAMP}:
        unit = "arrival" if domains == {Domain.ARRIVAL} else "instant"
        return f"{length:,} {unit}{'' if length == 1 else 's'}"
    unit, size = next((u, s) for u, s in UNITS if length % s == 0 and (length or s == 1))
    return f"{length // size:,} {unit}{'' if length == size else 's'}"


def _has_ends(node: Node) -> bool:
    """True when rows may come with an end that is known before; others are taken back, or stay."""
    match node:
        case Unbounded() | Distinct() | GroupBy() | TopK() | Minus() | Intersect() | TableScan():
            return False
        case Rows(length=length) | RangeSlide(length=length):
            return length is not None
        case Now() | Range():
            return True
        case Retract(when=when) if when == ALWAYS:
            return False
        case Join() | SingleJoin() | SemiJoin() | AntiJoin() | UnionAll():
            return any(map(_has_ends, node.inputs))
    return bool(node.inputs) and not node.is_stream and _has_ends(node.inputs[0])


def _ending(node: Node) -> str | None:
    """The rows of a relation that have a known end."""
    if isinstance(node, UnionAll):
        found = dict.fromkeys(_ending(n) or "" for n in node.inputs if _has_ends(n))
        return " and ".join(found)
    if isinstance(node, (Filter, Project, Exchange, SkewSplit)):
        return _ending(node.input)
    return content(node)


def _each(what: str, below: Node) -> str:
    there = content(below)
    if there == "one row":
        return there
    return f"one row per {what} of {there}" if there else f"none: grows with every new {what}"


def _values(there: str | None) -> str:
    return there if there == "one row" else f"different {there}"


def _window(node: Rows) -> str:
    """What a window by count holds, with rows that are still to enter."""
    rows = _rows_of(node.input)
    within = "" if node.length is None else f" in the last {length_words(node.length, node)}"
    if node.count >= EVER:
        return f"{rows}{within}" if within else f"at most {node.slide:,} {rows} that wait"
    slide = f" and {node.slide:,} that wait" if node.slide > 1 else ""
    most = f"at most {node.count:,} {rows}{within}{slide}"
    if not node.partition_by:
        return most
    each = f"{most} per {_and(node.partition_by)}"
    return each if within else f"none: {each}, and ever more of these"


def _parts(node: Node) -> list[str]:
    """What the inputs of joins above each other hold, one of which may have no bound."""
    if isinstance(node, Join):
        return [part for child in node.inputs for part in _parts(child)]
    if isinstance(node, (Filter, Project, Exchange, SkewSplit)):
        return _parts(node.input)
    return [content(node) or f"all {_rows_of(node)}"]


def _rows_of(node: Node) -> str:
    """`rows of` the streams below; just rows where they are made of others."""
    below = list(walk(node))
    if not all(n.stateless or isinstance(n, Exchange) for n in below):
        return "rows"
    return f"rows of {_and(list(dict.fromkeys(n.stream for n in below if isinstance(n, Scan))))}"


def _and(names: Sequence[str]) -> str:
    return ", ".join(names)
