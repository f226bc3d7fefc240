"""Law: the general machine returns what the definition says, however events are cut into steps."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from blocks import generated, written
from blocks.feeding import returned
from laws.scale import SCALE
from millstream.bind.blocks import routine_from_text
from millstream.blocks.general import GeneralMachine, table
from millstream.blocks.machine import Ending, Frame
from oracle.blocks import answers

CASES = 20
PER_CASE = 15 if SCALE == 1 else 150


def by_partition(rows, tuples):
    """Rows by partition, in order; -0.0 is not 0.0."""
    out = defaultdict(list)
    for at, leaves, row in rows:
        out[tuples[at].partition].append((at, leaves, repr(row)))
    return dict(out)


def check(seed: int) -> None:
    rng = random.Random(seed)
    routine = generated.routine(rng)
    frame = generated.frames(rng) if routine.is_window else Frame()
    ending = Ending.NEVER
    if routine.terminate and not routine.is_window:
        ending = rng.choice(list(Ending))
    tuples = generated.tuples(rng, routine.arguments)
    wanted = {at for at in range(len(tuples)) if rng.random() < 0.5}
    chosen = wanted if rng.random() < 0.3 else None
    cuts = [rng.randint(1, 2 * len(tuples)) for _ in range(rng.choice([0, 1, 3]))]
    cuts = [] if ending is Ending.LAST else cuts
    machine = GeneralMachine(routine, ending, frame)
    found = returned(machine, tuples, cuts, chosen)
    if not frame.active:
        found = [row for row in found if not row[1]]
    expected = answers(routine, tuples, frame, ending, chosen)
    context = f"seed {seed}, {frame}, {ending}, cuts {cuts}\n{routine.described}\n{tuples}"
    assert by_partition(found, tuples) == by_partition(expected, tuples), context


def check_text(seed: int) -> None:
    rng = random.Random(seed)
    routine = generated.routine(rng)
    if " newest" in routine.described:  # what machines do, and authors cannot write
        return
    tuples = generated.tuples(rng, routine.arguments)
    text = written.script(routine)
    found = returned(GeneralMachine(routine_from_text(text)), tuples)
    expected = answers(routine, tuples)
    assert by_partition(found, tuples) == by_partition(expected, tuples), f"seed {seed}\n{text}"


@pytest.mark.parametrize("case", range(CASES))
def test_text_means_the_tree_that_it_was_written_from(case):
    for seed in range(case * 1000, case * 1000 + PER_CASE // 5):
        check_text(seed)


@pytest.mark.parametrize("case", range(CASES))
def test_general_is_as_defined(case, monkeypatch):
    """In every second case, indexes are made of the smallest tables too."""
    monkeypatch.setattr(table, "SMALL", table.SMALL if case % 2 else 0)
    for seed in range(case * 1000, case * 1000 + PER_CASE):
        check(seed)
