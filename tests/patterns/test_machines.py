"""Machines of patterns to look at: they take just what the pattern says."""

from __future__ import annotations

import re
from itertools import product
from random import Random

import pytest

from millstream.algebra.expressions import Call, Column, Expression, Literal
from millstream.algebra.types import BOOLEAN, INTEGER
from millstream.patterns import recognition_machine, sequence_machine
from millstream.patterns.machine import FURTHER, MANY, MATCH, START, Edge, Machine, State
from millstream.patterns.recognition import Recognition
from millstream.patterns.references import Cell
from millstream.patterns.regex import regex_of
from millstream.patterns.sequence import Element, Sequence
from oracle.generate_sequences import random_pattern
from patterns.chance import sequence_of


def takes(machine: Machine, word: str) -> bool:
    """Whether rows of these variables lead from the start to the match."""
    at = {0}
    for letter in word:
        ways = [edge for state in at for edge in machine.after(state)]
        at = {e.target for e in ways if machine.states[e.target].name.lstrip("*") == letter}
    return any(machine.states[e.target].name == MATCH for state in at for e in machine.after(state))


def random_regex(rng: Random, depth: int = 3) -> tuple[str, str]:
    """The same expression for MATCH_RECOGNIZE, and as Python has it."""
    if depth == 0 or rng.random() < 0.2:
        letter = rng.choice("ABC")
        return letter, letter
    one, other = random_regex(rng, depth - 1), random_regex(rng, depth - 1)
    match rng.randrange(5):
        case 0 | 1:
            return f"{one[0]} {other[0]}", one[1] + other[1]
        case 2:
            return f"({one[0]} | {other[0]})", f"(?:{one[1]}|{other[1]})"
        case 3:
            return f"permute(A, {one[0]})", f"(?:A{one[1]}|{one[1]}A)"
    sign = rng.choice(("*", "+", "?", "{2}", "{1,2}", "{2,}", "*?", "+?"))
    return f"({one[0]}){sign}", f"(?:{one[1]}){sign}"


WORDS = ["".join(letters) for n in range(6) for letters in product("ABC", repeat=n)]


@pytest.mark.parametrize("seed", range(60))
def test_the_machine_of_a_regular_expression_takes_what_it_takes(seed: int) -> None:
    written, meant = random_regex(Random(seed))
    machine = recognition_machine.machine_of(Recognition(regex_of(written)))
    whole = re.compile(meant)
    for word in WORDS:
        assert takes(machine, word) == bool(whole.fullmatch(word)), f"{written}: {word}"


@pytest.mark.parametrize("seed", range(40))
def test_the_machine_of_a_sequence_takes_its_elements(seed: int) -> None:
    sequence = sequence_of(random_pattern(Random(seed)))
    machine = sequence_machine.machine_of(sequence)
    whole = re.compile("".join(e.name + "+" * e.star for e in sequence.elements))
    for word in ("".join(w) for n in range(5) for w in product("ABCEF", repeat=n)):
        assert takes(machine, word) == bool(whole.fullmatch(word))
    assert [s.name for s in machine.states[1:-1]] == [str(e) for e in sequence.elements]


def cell(variable: str, last: bool = True, shift: int = 0, nth: int = 0) -> Column:
    return Column(str(Cell(variable, "x", last, nth, shift)), INTEGER)


def compare(left: Expression, operator: str, right: Expression | int) -> Expression:
    other = Literal(right, INTEGER) if isinstance(right, int) else right
    return Call(operator, (left, other), BOOLEAN)


def test_conditions_stand_where_they_are_tested() -> None:
    rises = compare(cell("B"), ">", cell("B", shift=-2))
    above = compare(cell("B", last=False), ">", cell("A"))
    both = Call("and", (rises, above), BOOLEAN)
    ended = compare(cell("B"), "<", 9)
    later = compare(cell("C"), "=", cell("B", last=False))
    elements = Element("A"), Element("B", True, both, ended), Element("C", test=later)
    machine = sequence_machine.machine_of(Sequence(elements))
    assert machine.states == (
        State(START),
        State("A"),
        State("*B", ("B.x > B.previous.previous.x", "FIRST(B).x > A.x"), ("LAST(*B).x < 9",)),
        State("C", ("C.x = FIRST(B).x",)),
        State(MATCH),
    )


def test_conditions_of_variables_are_written_as_in_define() -> None:
    asked = Call(
        "or",
        (compare(cell("", shift=-1), "<", cell("A", nth=2)), compare(cell("B"), "=", cell("A"))),
        BOOLEAN,
    )
    search = Recognition(regex_of("^ A+ (B | C)? $"), (("B", asked),))
    machine = recognition_machine.machine_of(search)
    assert [s.name for s in machine.states] == [START, "A", "B", "C", MATCH]
    assert machine.states[2].asks == ("(PREV(x) < LAST(A.x, 2)) or (x = A.x)",)
    assert machine.after(0) == (Edge(0, 1, "^"),)
    assert machine.after(1) == (Edge(1, 1), Edge(1, 2), Edge(1, 3), Edge(1, 4, "$"))


def test_large_machines_are_cut() -> None:
    machine = recognition_machine.machine_of(Recognition(regex_of("A{1000} B")))
    assert len(machine.states) == MANY + 1
    assert machine.states[-1].name == FURTHER


def test_what_conditions_say_of_each_other() -> None:
    """A fall, a rise, and a value: what a fall says of the others, and what its failing says."""
    fall = compare(cell("A"), "<", cell("A", shift=-1))
    rise = compare(cell("B"), ">", cell("B", shift=-1))
    low = compare(cell("C"), "<=", cell("C", shift=-1))
    elements = Element("A", True, fall), Element("B", True, rise), Element("C", test=low)
    shifts = sequence_machine.shifts_of(Sequence(elements), closed=False)
    assert dict(shifts.says) == {
        "met *A": ("+", "-", "+"),
        "did not meet *A": ("-", "?", "?"),
        "met *B": ("-", "+", "-"),
        "did not meet *B": ("?", "-", "?"),
        "met C": ("?", "-", "+"),
        "did not meet C": ("-", "?", "-"),
    }
    assert [line.failed for line in shifts.lines] == ["*B", "C"]
    closed = sequence_machine.shifts_of(Sequence(elements), closed=True)
    assert "the rows end in *A" in [line.failed for line in closed.lines]
