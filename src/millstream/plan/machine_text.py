"""The machines of the patterns of a plan as text: states, conditions, edges, and shift and next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from millstream.algebra.expressions import name_text
from millstream.algebra.lengths import length_text
from millstream.algebra.node import Node, walk
from millstream.operators import Match, Rematch
from millstream.patterns import recognition_machine, sequence_machine
from millstream.patterns.machine import FURTHER, MATCH, Machine, Shifts
from millstream.patterns.recognition import Recognition
from millstream.patterns.search import Search
from millstream.patterns.sequence import Sequence

SURE_OF = "while no {} is negative"
NAIVE = "after a failure the next attempt begins one tuple after the start of that one (naive)"
KEY = "+ such a tuple meets it, - it does not, ? it may"


@dataclass(frozen=True)
class Shown:
    """A pattern to be shown: what is looked for, its machine, how its search goes on after a
    failure if it has tables for that, and otherwise what bounds it."""

    title: str
    machine: Machine
    shifts: Shifts | None
    bound: str = ""


def shown(plan: Node, skips: bool = True) -> list[Shown]:
    """The patterns of a plan, each once; `skips` says that the search is the optimized one."""
    found = [node for node in walk(plan) if isinstance(node, Match | Rematch)]
    return [_of(node, skips) for node in dict.fromkeys(found)]


def _of(node: Match | Rematch, skips: bool) -> Shown:
    search, closed = node.search, isinstance(node, Rematch)
    title = _pattern(search)
    if node.partition_by:
        title += f", by {', '.join(map(name_text, node.partition_by))}"
    if search.within is not None:
        title += f", within {length_text(search.within, node.time_domain)}"
    match search:
        case Sequence():
            shifts = sequence_machine.shifts_of(search, closed=closed) if skips else None
            return Shown(title, sequence_machine.machine_of(search), shifts, NAIVE)
        case Recognition():
            return Shown(title, recognition_machine.machine_of(search), None, _bound(search))
    raise TypeError(search)


def _pattern(search: Search) -> str:
    if isinstance(search, Recognition):
        skip = f"{search.skip} {name_text(search.skip_to)}" if search.skip_to else search.skip
        return f"MATCH_RECOGNIZE ({search.pattern}), after a match skip {skip}"
    assert isinstance(search, Sequence)
    return f"sequence ({', '.join(map(str, search.elements))})"


def _bound(search: Recognition) -> str:
    if len(search.tests.code.code) == 0:
        return "each place of the pattern is tried once per row at most"
    return "conditions look at other rows of the match: SET pattern_steps bounds the ways"


def machine_text(patterns: Iterable[Shown]) -> str:
    """All of them, one below the other."""
    return "\n\n".join("\n".join(_lines(pattern)) for pattern in patterns)


def _lines(pattern: Shown) -> Iterator[str]:
    yield pattern.title
    yield from table([("state", "takes a tuple if", "then"), *_states(pattern.machine)])
    yield ""
    yield from below_states(pattern)


def below_states(pattern: Shown) -> Iterator[str]:
    """How the search goes on after a failure, and where that comes from; or what bounds it."""
    if pattern.shifts is None:
        yield pattern.bound
    else:
        yield from _shifts(pattern.shifts)


def _states(machine: Machine) -> Iterator[tuple[str, ...]]:
    """A line for each state and each of its conditions; then what follows."""
    for number, state in machine.numbered:
        if state.name in (MATCH, FURTHER):
            continue
        asks = [_joined(state.asks, number)]
        asks += [f"at its end: {condition}" for condition in state.ends]
        asks += [f"counting {tally}" for tally in state.counts]
        first, *more = asks
        yield f"{number} {state.name}", first, next_states(machine, number)
        yield from (("", line, "") for line in more)


def _joined(asks: tuple[str, ...], number: int) -> str:
    return " and ".join(asks) if asks else "" if number == 0 else "any"


def next_states(machine: Machine, number: int) -> str:
    """The states that follow one, in the order in which they are tried."""
    words = []
    for edge in machine.after(number):
        name = machine.states[edge.target].name
        numbered = name if name in (MATCH, FURTHER) else f"{edge.target} {name}"
        words.append(f"{edge.anchors} {numbered}".strip())
    return ", else ".join(words)


def _shifts(shifts: Shifts) -> Iterator[str]:
    yield from table(
        [("failed at", "shift: begins again at", "next: goes on with"), *_of_shifts(shifts)]
    )
    if not shifts.says:
        return
    yield ""
    yield f"what the conditions say: {KEY}"
    if shifts.sure:
        yield f"  {SURE_OF.format(' or '.join(shifts.sure))}"
    yield from table(
        [("a tuple that", *shifts.elements), *((who, *said) for who, said in shifts.says)]
    )


def _of_shifts(shifts: Shifts) -> Iterator[tuple[str, str, str]]:
    for line in shifts.lines:
        for at, (begins, goes_on) in enumerate(zip(line.begins, line.goes_on)):
            yield "" if at else line.failed, f"or {begins}" if at else begins, goes_on


def table(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Rows with their columns below each other."""
    cells = list(rows)
    widths = [max(map(len, column)) for column in zip(*cells)]
    for row in cells:
        padded = "  ".join(cell.ljust(width) for cell, width in zip(row, widths))
        yield f"  {padded}".rstrip()
