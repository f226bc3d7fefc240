"""What is said to match never, or always, does so: patterns by chance against the definition."""

from __future__ import annotations

from random import Random

import pytest

from laws.scale import SCALE
from millstream.patterns.certainty import Why, certainty_of
from oracle import sequences as oracle
from oracle.generate_sequences import random_pattern, random_rows
from oracle.sequences import Bin, Cell, Const, Element
from patterns.chance import sequence_of

CASES = 250 * SCALE


def test_sequences_that_never_match_do_not_and_those_that_always_do_do() -> None:
    said = {True: 0, False: 0}
    for seed in range(CASES):
        rng = Random(seed)
        pattern = random_pattern(rng) if seed % 5 else plain(rng)
        certain = certainty_of(sequence_of(pattern), closed=True)
        if certain is None:
            continue
        said[certain.matches] += 1
        for _ in range(6):
            rows = random_rows(rng)
            found = [m for m in oracle.find(pattern, rows, None) if not m.timed_out]
            if certain.matches:
                spread = pattern.within is not None
                assert spread or len(found) == len(rows) // len(pattern.elements), f"{seed}"
            else:
                assert not found, f"{seed}: {pattern} {rows}"
    assert said[False] > CASES // 10 and said[True] > CASES // 10


def plain(rng: Random) -> oracle.Pattern:
    """Elements that ask nothing, or hardly anything."""
    elements = tuple(Element("ABC"[i], False) for i in range(rng.randint(1, 3)))
    cell = Cell("A", "x")
    always = Bin("OR", oracle.IsNull(cell, False), oracle.IsNull(cell, True))
    conditions = (always,) if rng.random() < 0.5 else ()
    return oracle.Pattern(elements, conditions, None, False)


def test_a_pattern_is_not_said_to_be_certain_for_nothing() -> None:
    """Most patterns that are said to be uncertain do match some rows."""
    found = matched = 0
    for seed in range(60):
        rng = Random(seed)
        pattern = random_pattern(rng)
        if certainty_of(sequence_of(pattern), closed=True) is None:
            found += 1
            matched += any(oracle.find(pattern, random_rows(rng, 60), None) for _ in range(30))
    assert matched > 0.7 * found


def test_the_end_of_rows_ends_a_star() -> None:
    pattern = oracle.Pattern((Element("A", False), Element("B", True)), (), None, False)
    certain = certainty_of(sequence_of(pattern), closed=False)
    assert certain is not None and certain.why is Why.NEVER_ENDS
    assert certainty_of(sequence_of(pattern), closed=True) is None


@pytest.mark.parametrize("previous", [1, 2])
def test_conditions_of_tuples_before_are_of_the_elements_there(previous: int) -> None:
    elements = tuple(Element(name, False) for name in "ABC")
    low = Bin("<", Cell("A", "x"), Const(1))
    high = Bin(">", Cell("C", "x", back=previous), Const(3))
    certain = certainty_of(
        sequence_of(oracle.Pattern(elements, (low, high), None, False)), closed=False
    )
    assert (certain is not None) == (previous == 2)
