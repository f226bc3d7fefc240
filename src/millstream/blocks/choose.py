"""Which machine runs a routine."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import lru_cache

import pyarrow as pa

from millstream.blocks.general import GeneralMachine
from millstream.blocks.machine import Ending, Fed, Frame, Instances, Machine, Ran
from millstream.blocks.native import MethodMachine, NativeMachine, code_of, why_not
from millstream.blocks.routine import Routine

FEW = 2_000
"""So many events are taken by the general machine sooner than machine code is made."""

PATIENCE = 1.0
"""For so many seconds the general machine may run in all, before machine code is made."""


@dataclass(eq=False)
class Patient:
    """The native machine; where its machine code is not made yet, the general one for few events.

    To make machine code takes seconds, so that a small script is answered long before. Law: both
    machines give the same rows and keep the same instances, so it does not matter who took what.
    """

    native: NativeMachine | MethodMachine
    general: GeneralMachine
    spent: float = field(default=0.0)
    made: bool = field(default=False)

    @property
    def routine(self) -> Routine:
        return self.native.routine

    @property
    def frame(self) -> Frame | None:
        return self.native.frame

    @property
    def slots(self) -> pa.Schema:
        return self.native.slots

    @property
    def tables(self) -> tuple[tuple[str, pa.Schema], ...]:
        return self.native.tables

    @property
    def returns(self) -> pa.Schema:
        return self.native.returns

    @property
    def takes_leavers(self) -> bool:
        return self.native.takes_leavers

    def run(self, fed: Fed, before: Instances, count: int) -> Ran:
        few = len(fed.number) <= FEW and self.spent < PATIENCE
        self.made = self.made or not few or self.native.is_made(fed, before)
        if self.made:
            return self.native.run(fed, before, count)
        started = time.perf_counter()
        ran = self.general.run(fed, before, count)
        self.spent += time.perf_counter() - started
        return ran


@lru_cache(maxsize=1024)
def machine_for(routine: Routine, ending: Ending, frame: Frame, native: bool = True) -> Machine:
    """The native machine where there can be one and is to be one, or else the general one.

    Law: both give the same rows, and either goes on from what the other has kept.
    """
    general = GeneralMachine(routine, ending, frame)
    if native and why_not(routine, ending, frame) is None:
        if code_of(routine) is not None:
            return Patient(MethodMachine(routine, ending, frame, general), general)
        return Patient(NativeMachine(routine, ending, frame), general)
    return general
