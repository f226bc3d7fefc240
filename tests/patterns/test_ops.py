"""Skipping changes nothing: patterns and rows by chance, however rows are cut into steps."""

from __future__ import annotations

from random import Random

import pytest

from laws.scale import SCALE
from oracle.generate_sequences import random_pattern
from oracle.sequences import text
from patterns.chance import (
    Driven,
    expected,
    random_cuts,
    random_partitions,
    sequence_of,
)

CHUNK = 250
CASES = 500 if SCALE == 1 else 3_000


def check(seed: int) -> None:
    rng = Random(seed)
    pattern = random_pattern(rng)
    sequence = sequence_of(pattern)
    for _ in range(2):
        partitions = random_partitions(rng)
        cuts = random_cuts(rng, partitions)
        closed = rng.random() < 0.25 and not pattern.timeouts
        ways = [Driven(sequence, partitions, skips) for skips in (True, False)]
        for at, (upto, now) in enumerate(cuts):
            ends = closed and at == len(cuts) - 1
            for way in ways:
                way.step(upto, now, ends)
            if at == len(cuts) - 1 or rng.random() < 0.1:
                answer = shown(expected(pattern, partitions, upto, None if ends else now), ends)
                for way in ways:
                    assert shown(way.found, ends) == answer, told(
                        seed, pattern, partitions, cuts, way
                    )
        quick, naive = ways
        assert quick.tests <= naive.tests, told(seed, pattern, partitions, cuts, quick)


def shown(found: list[tuple], ends: bool) -> list[str]:
    """Matches as text, without the moments they were decided at where the end of rows decides."""
    return sorted(repr((line[0], line[2]) if ends else line) for line in found)


def told(seed, pattern, partitions, cuts, way) -> str:
    conditions = " AND ".join(map(text, pattern.conditions))
    return (
        f"{seed}, skips {way.skips}: {pattern.elements} {conditions}\n{pattern.within} "
        f"{pattern.timeouts}\n{partitions}\n{cuts}\nfound {way.found}"
    )


def test_a_few_cases_quickly() -> None:
    for seed in range(70_000, 70_060):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, CASES, CHUNK))
def test_skipping_changes_nothing(start: int) -> None:
    for seed in range(start, start + CHUNK):
        check(seed)
