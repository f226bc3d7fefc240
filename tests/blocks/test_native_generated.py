"""Law: the native machine returns what the general one returns."""

from __future__ import annotations

import random
from types import ModuleType

import numpy as np
import pytest

from blocks import built, generated
from blocks.feeding import Tuple, returned
from blocks.test_generated import by_partition
from laws.scale import SCALE
from millstream.algebra.types import INTEGER
from millstream.blocks.general import GeneralMachine
from millstream.blocks.leaves import Argument
from millstream.blocks.machine import Ending, Frame
from millstream.blocks.native import NativeMachine, machine, why_not
from millstream.blocks.routine import Insert, LocalTable, Routine

CASES = 10
PER_CASE = 40 if SCALE == 1 else 1000
COMPILED = (2, 9) if SCALE == 1 else range(150)


def interpreted(source, takes):
    """The program as Python runs it: what Numba makes of it takes seconds to make."""
    module = ModuleType("interpreted")
    exec(compile(source, "<program>", "exec"), module.__dict__)
    return module.run


def check(seed: int) -> bool:
    """Whether the routine of a seed is native, and then gives what it should."""
    rng = random.Random(seed)
    routine = generated.routine(rng, generated.Style(texts=seed % 4 == 0, lifts=seed % 3 == 0))
    frame = generated.frames(rng) if routine.is_window else Frame()
    ending = Ending.NEVER
    if routine.terminate and not routine.is_window:
        ending = rng.choice(list(Ending))
    tuples = generated.tuples(rng, routine.arguments)
    wanted = {at for at in range(len(tuples)) if rng.random() < 0.5}
    chosen = wanted if rng.random() < 0.3 else None
    cuts = [rng.randint(1, 2 * len(tuples)) for _ in range(rng.choice([0, 1, 3]))]
    cuts = [] if ending is Ending.LAST else cuts
    if why_not(routine, ending, frame) is not None:
        return False
    in_time = rng.random() < 0.5
    expected = returned(GeneralMachine(routine, ending, frame), tuples, cuts, chosen)
    try:
        found = returned(NativeMachine(routine, ending, frame), tuples, cuts, chosen, in_time)
    except ZeroDivisionError:  # of interpreted programs: machine code gives infinity
        return False
    context = f"seed {seed}, {frame}, {ending}, cuts {cuts}\n{routine.described}\n{tuples}"
    assert by_partition(found, tuples) == by_partition(expected, tuples), context
    return True


@pytest.mark.parametrize("case", range(CASES))
def test_programs_give_what_the_general_machine_gives(case, monkeypatch):
    monkeypatch.setattr(machine, "compiled", interpreted)
    with np.errstate(all="ignore"):
        seeds = range(case * 1000, case * 1000 + PER_CASE)
        assert sum(map(check, seeds)) > PER_CASE // 10


@pytest.mark.parametrize("count", range(8, 24))
def test_rows_of_loops_and_single_ones_find_room(count, monkeypatch):
    monkeypatch.setattr(machine, "compiled", interpreted)
    columns = (("v", INTEGER),)
    body = (
        Insert("kept", built.values(Argument("x", INTEGER))),
        built.give(built.select(built.source(0, "kept", columns), built.col((0, columns), "v"))),
    )
    routine = Routine(
        "several",
        (("x", INTEGER),),
        columns,
        (LocalTable("kept", columns),),
        initialize=body,
        iterate=body,
        expire=(built.give(built.values(built.lit(-1))),),
        is_window=True,
        inwindow=(("other", INTEGER),),
    )
    tuples = [Tuple(0, at, (at,)) for at in range(count)]
    frame = Frame(rows=1)
    found = returned(NativeMachine(routine, frame=frame), tuples)
    assert found == returned(GeneralMachine(routine, frame=frame), tuples)
    assert len(found) == count * (count + 1) // 2 + count - 1


@pytest.mark.parametrize("seed", COMPILED)
def test_compiled_programs_give_what_the_general_machine_gives(seed):
    check(seed)
