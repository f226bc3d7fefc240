"""The machine of MATCH_RECOGNIZE, and what it costs when patterns have very many ways."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from millstream.algebra.expressions import Call, Column, Expression, Literal
from millstream.algebra.types import BOOLEAN, INTEGER
from millstream.patterns.recognition import Recognition
from millstream.patterns.recognition_program import Program, TooLarge
from millstream.patterns.references import Cell
from millstream.patterns.regex import regex_of
from millstream.patterns.sequence import Found


def cell(variable: str, last: bool = True) -> Column:
    return Column(str(Cell(variable, "x", last)), INTEGER)


def compare(left: Expression, operator: str, right: Expression | int) -> Expression:
    other = Literal(right, INTEGER) if isinstance(right, int) else right
    return Call(operator, (left, other), BOOLEAN)


def find(search: Recognition, values: np.ndarray, **more) -> Found:
    count = len(values)
    rows = pa.record_batch({"x": pa.array(values, pa.int64())})
    starts, fresh = np.array([0, count]), np.array([0])
    state = search.empty_state(1)
    return search.find(
        rows, starts, fresh, np.arange(count), np.arange(count), state, now=0, **more
    )


ONES = (("A", compare(cell("A"), "=", 1)), ("B", compare(cell("B"), "=", 2)))


@pytest.mark.parametrize(
    "pattern", ["(A | A)* B", "(A+)+ B", "(A*)* B", "(A? A?)* B", "A* A* A* B"]
)
def test_patterns_with_many_ways_take_time_in_proportion_to_the_rows(pattern: str) -> None:
    search = Recognition(regex_of(pattern), ONES)
    found = find(search, np.ones(20_000, np.int64), closed=True)
    assert len(found.matches) == 0 and len(found.given_up) == 0
    assert found.tests <= 8 * 20_000


def test_an_attempt_that_takes_too_many_steps_is_given_up() -> None:
    """Conditions that look at the first row of the match: every way has to be tried."""
    same = [compare(cell(name), "=", cell("", last=False)) for name in "AC"]
    defines = (("A", same[0]), ("C", same[1]), ("B", compare(cell("B"), "=", 2)))
    search = Recognition(regex_of("(A | C)* B"), defines)
    values = np.array([1] * 24 + [3, 2])
    found = find(search, values, closed=True, steps=10)
    assert 0 in found.given_up[:, 0].tolist() and found.tests <= 10 * 2 * 26
    assert found.matches.found[:, 1].tolist() == [24]


@pytest.mark.parametrize("pattern", ["(A | C)* B", "(A+)+ B", "(A* C*)* B", "A+ C+ A+ C+ B"])
def test_attempts_that_are_given_up_take_time_in_proportion_to_the_rows(pattern: str) -> None:
    """The search goes on at the last row that it has come to, however rows are cut."""
    same = [compare(cell(name), "=", cell("", last=False)) for name in "AC"]
    defines = (("A", same[0]), ("C", same[1]), ("B", compare(cell("B"), "=", 2)))
    search = Recognition(regex_of(pattern), defines)
    values = np.array(([1] * 2_000 + [3, 2]) * 3)
    found = find(search, values, closed=True, steps=20)
    assert found.tests <= 2 * 20 * len(values)
    assert found.given_up[:, 0].tolist() == [0, 2_002, 4_004]
    assert found.given_up[:, 1].tolist() == [2_000, 4_002, 6_004]


def test_the_first_order_of_a_permutation_is_tried_first() -> None:
    program = Program.of(regex_of("permute(A, B, C)"))
    assert [program.variable(line) for line, _ in program.next_takes(program.entry)] == [0, 1, 2]


def test_a_pattern_that_is_too_large_is_refused() -> None:
    with pytest.raises(TooLarge):
        Program.of(regex_of("((A{100}){100}){100}"))
