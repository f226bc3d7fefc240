"""Which machine runs a routine."""

from __future__ import annotations

from functools import lru_cache

from millstream.blocks.general import GeneralMachine
from millstream.blocks.machine import Ending, Frame, Machine
from millstream.blocks.native import NativeMachine, why_not
from millstream.blocks.routine import Routine


@lru_cache(maxsize=1024)
def machine_for(routine: Routine, ending: Ending, frame: Frame, native: bool = True) -> Machine:
    """The native machine where there can be one and is to be one, or else the general one.

    Law: both give the same rows, and either goes on from what the other has kept.
    """
    if native and why_not(routine, ending, frame) is None:
        return NativeMachine(routine, ending, frame)
    return GeneralMachine(routine, ending, frame)
