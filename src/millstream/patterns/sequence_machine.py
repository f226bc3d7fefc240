"""The machine of a sequence, and the tables by which its search goes on after a failure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from millstream.algebra.expressions import TRUE, Expression, rewrite
from millstream.conditions.implications import Fact, Sense, impossible
from millstream.patterns.condition_text import of_element, of_tuple
from millstream.patterns.knowledge import Failure, Reason, negative
from millstream.patterns.machine import (
    ALWAYS,
    MATCH,
    NEVER,
    PERHAPS,
    START,
    Edge,
    Machine,
    Shift,
    Shifts,
    State,
)
from millstream.patterns.scene import of_row
from millstream.patterns.sequence import Sequence
from millstream.patterns.skipping import Start

WHY = {Reason.END: "the rows end", Reason.TIME: "time is over"}


def machine_of(sequence: Sequence) -> Machine:
    """A state for each element: a star has an edge to itself, and goes on when it ends."""
    stars = frozenset(e.name for e in sequence.elements if e.star)
    states, edges = [State(START)], [Edge(0, 1)]
    for at, element in enumerate(sequence.elements, 1):
        counts = tuple(t.name for t in sequence.tallies if t.element == element.name)
        asks = of_element(element.test, element.name, stars)
        ends = of_element(element.final, element.name, stars, final=True)
        states.append(State(str(element), asks, ends, counts))
        edges += [Edge(at, at)] if element.star else []
        edges.append(Edge(at, at + 1))
    return Machine((*states, State(MATCH)), tuple(edges))


def shifts_of(sequence: Sequence, *, closed: bool) -> Shifts:
    """What is done after each failure, and what conditions say of each other."""
    tables = sequence.tables[True]
    found, seen = list[Shift](), set[tuple[str, ...]]()
    for (reason, at, taken), same in groupby(
        tables.starts, key=lambda f: (f.reason, f.element, f.taken)
    ):
        failures = list(same)
        if reason is Reason.END and not closed:
            continue
        for failure in dict.fromkeys((failures[-1], failures[0])):
            starts = tables.starts[failure]
            if (key := (str(reason), str(at), str(taken), repr(starts))) in seen:
                continue
            seen.add(key)
            doubt = failure is not failures[-1]
            found.append(_shift(sequence, failure, starts, doubt))
    names = tuple(str(element) for element in sequence.elements)
    sure = tuple(of_tuple(base) for base in tables.bases)
    return Shifts(tuple(found), names, tuple(_says(sequence, tables.bases)), sure)


def _shift(sequence: Sequence, failure: Failure, starts: tuple[Start, ...], doubt: bool) -> Shift:
    element = sequence.elements[failure.element]
    what = f"the end of {element}" if failure.taken else str(element)
    if failure.reason is not Reason.CONDITION:
        what = f"{WHY[failure.reason]} {'in' if failure.taken else 'before'} {element}"
    what += ", a number may be negative" if doubt else ""
    begins = tuple(_place(sequence, failure, s.span, s.offset) for s in starts)
    goes_on = tuple(_goes_on(sequence, failure, start) for start in starts)
    return Shift(what, begins, goes_on)


def _place(sequence: Sequence, failure: Failure, span: int, offset: int) -> str:
    """A tuple of the attempt that failed."""
    if span == failure.spans:
        if failure.reason is not Reason.CONDITION:
            return "the next tuple"
        return "the tuple after that" if offset else "the tuple it failed at"
    element = sequence.elements[span]
    if not element.star:
        return f"the tuple of {element}"
    return f"the {('first', 'second', 'last')[offset]} tuple of {element}"


def _goes_on(sequence: Sequence, failure: Failure, start: Start) -> str:
    name = str(sequence.elements[start.element])
    if start.goes_on is None:
        return f"{name}, there"
    return f"{name}, at {_place(sequence, failure, start.goes_on, 0)}"


def _says(
    sequence: Sequence, bases: tuple[Expression, ...]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """A line for the tuples that meet the conditions of an element, and for those that do not."""
    tests = sequence.tests
    sure: list[Fact] = [(negative(rewrite(base, of_row)), Sense.NOT_TRUE) for base in bases]
    for element, local, cross in zip(sequence.elements, tests.local, tests.cross):
        met: list[Fact] = [*sure, (local, Sense.TRUE)]
        yield f"met {element}", tuple(_told(met, *other) for other in zip(tests.local, tests.cross))
        if local == TRUE and cross == TRUE:
            continue
        refused = [*sure, (local, Sense.NOT_TRUE)] if cross == TRUE else sure
        yield (
            f"did not meet {element}",
            tuple(_told(refused, *other) for other in zip(tests.local, tests.cross)),
        )


def _told(facts: list[Fact], local: Expression, cross: Expression) -> str:
    if impossible([*facts, (local, Sense.TRUE)]):
        return NEVER
    always = cross == TRUE and impossible([*facts, (local, Sense.NOT_TRUE)])
    return ALWAYS if always else PERHAPS
