"""What every operator of a query keeps, its bound, and what it holds: EXPLAIN STATE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from millstream.algebra.node import Node
from millstream.algebra.state_parts import Extent, StatePart, Structure
from millstream.engine.holdings import Held, Holding
from millstream.operators import Rematch, Stored
from millstream.operators.rematch import searched
from millstream.plan.annotate import line_of, outline, shortened
from millstream.plan.bounds import bound

LONGEST = 90
"""So much of an operator's line is shown."""

SIZES = (("GB", 10**9), ("MB", 10**6), ("kB", 10**3))
TITLES = ("what it keeps", "structure", "at most", "holds now")


def state_report(roots: Sequence[Node], held: Held | None) -> str:
    """A line for every part of every operator's state; what it holds if the query has run."""
    every = (node for root in roots for _, node in outline(root))
    nodes = dict.fromkeys(node for node in every if node.state_parts or isinstance(node, Stored))
    if not nodes:
        return "no operator keeps anything"
    rows = [row for node in nodes for row in _rows(node, held)]
    widths = [max(len(row[i]) for row in (TITLES, *rows)) for i in range(len(TITLES))]
    lines = [_line(TITLES, widths, held)]
    for node in nodes:
        elsewhere = "" if node.state_parts else ", read from the state below"
        lines.append(shortened(line_of(node, 0), LONGEST) + elsewhere)
        lines += [_line(row, widths, held) for row in _rows(node, held)]
        lines += _searched(node, held)
    return "\n".join([*lines, _sum(nodes, held)])


def structure_of(node: Node, kept: StatePart) -> str:
    """How a part of the state lies, in a word or two."""
    match kept.structure:
        case Structure.DUE:
            return node.state_layout.buffer.value
        case Structure.HASH if kept.extent is Extent.ROWS:
            return f"hash, lazy {node.state_layout.lazy:.0%}"
    return kept.structure.value


def _rows(node: Node, held: Held | None) -> Iterator[tuple[str, ...]]:
    for kept in node.state_parts:
        holds = "" if held is None else _amount(held.of(node, kept.part))
        yield kept.words, structure_of(node, kept), bound(node, kept), holds
    known = {kept.part for kept in node.state_parts}
    for (name, part), holding in held.found.items() if held is not None else ():
        if name == node.state_name and part not in known:
            yield f"{part}, to be taken over", "", "what was left", _amount(holding)


def _searched(node: Node, held: Held | None) -> Iterator[str]:
    """How many rows a pattern over a relation has searched for each change of it."""
    if held is None or not isinstance(node, Rematch):
        return
    states = (states[node.state_name] for states in held.states if node.state_name in states)
    found = [searched(state) for state in states]
    instants, rows = sum(i for i, _ in found), sum(r for _, r in found)
    if instants:
        many = f"{instants:,} instant{'' if instants == 1 else 's'} of partitions"
        yield f"  -- {many} at which rows changed: {rows / instants:,.1f} rows searched for each"


def _line(row: Sequence[str], widths: Sequence[int], held: Held | None) -> str:
    shown = row if held is not None else row[:-1]
    return "  " + "  ".join(f"{cell:<{w}}" for cell, w in zip(shown, widths)).rstrip()


def _sum(nodes: Sequence[Node] | dict[Node, None], held: Held | None) -> str:
    if held is None:
        return "-- it has not run: what it holds is not known"
    names = {node.state_name for node in nodes}
    parts = (holding for (name, _), holding in held.found.items() if name in names)
    return f"-- in all {_amount(sum(parts, Holding()))} after batch {held.batch}"


def _amount(holding: Holding) -> str:
    if holding.rows == 0:
        return "nothing"
    rows = f"{holding.rows:,} row{'' if holding.rows == 1 else 's'}"
    chunks = f"{holding.chunks:,} chunk{'' if holding.chunks == 1 else 's'}"
    return f"{rows}, {chunks}, {_size(holding.bytes)}"


def _size(count: int) -> str:
    """Bytes in the unit that suits them.

    >>> _size(980), _size(2_500), _size(3_000_000)
    ('980 bytes', '2.5 kB', '3.0 MB')
    """
    if count < 1_000:
        return f"{count} bytes"
    unit, size = next((u, s) for u, s in SIZES if count >= s)
    return f"{count / size:,.1f} {unit}"
