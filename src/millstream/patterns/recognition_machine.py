"""The machine of a MATCH_RECOGNIZE: a state for each place in its pattern."""

from __future__ import annotations

from millstream.algebra.expressions import TRUE, columns_of, name_text
from millstream.patterns.condition_text import of_variable
from millstream.patterns.machine import FURTHER, MANY, MATCH, START, Edge, Machine, State
from millstream.patterns.recognition import Recognition
from millstream.patterns.recognition_program import TAKE


def machine_of(search: Recognition) -> Machine:
    """A state for the beginning, and one for each place in the pattern that has taken a row."""
    program, numbers = search.program, dict[int, int]()
    states, edges = [State(START)], list[Edge]()
    waiting = [(0, program.entry)]
    while waiting:
        source, line = waiting.pop(0)
        for take, anchors in program.next_takes(line):
            if take not in numbers:
                numbers[take] = len(states)
                states.append(_state(search, take) if len(states) < MANY else State(FURTHER))
                if program.lines[take, 0] == TAKE:
                    waiting.append((numbers[take], int(program.lines[take, 2])))
            edges.append(Edge(source, numbers[take], anchors.strip()))
            if states[-1].name == FURTHER:
                return Machine(tuple(states), tuple(edges))
    return _match_last(Machine(tuple(states), tuple(edges)))


def _state(search: Recognition, line: int) -> State:
    """What the row of a line of the program has to meet."""
    program = search.program
    if program.lines[line, 0] != TAKE:
        return State(MATCH)
    name = search.variables[program.variable(line)]
    condition = dict(search.defines).get(name, TRUE)
    read = columns_of(condition)
    counts = tuple(tally.name for tally in search.tallies if tally.name in read)
    return State(name_text(name), of_variable(condition, name), counts=counts)


def _match_last(machine: Machine) -> Machine:
    """With the state of the match behind all others."""
    at = next(i for i, state in enumerate(machine.states) if state.name == MATCH)
    last = len(machine.states) - 1

    def place(state: int) -> int:
        return last if state == at else state - (state > at)

    states = tuple(s for s in machine.states if s.name != MATCH)
    moved = (Edge(place(e.source), place(e.target), e.anchors) for e in machine.edges)
    return Machine((*states, State(MATCH)), tuple(moved))
