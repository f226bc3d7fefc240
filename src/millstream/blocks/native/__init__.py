"""Routines as machine code: a generator of source, kept and compiled by Numba."""

from __future__ import annotations

from millstream.blocks.machine import Ending, Frame
from millstream.blocks.native.kinds import Reason
from millstream.blocks.native.machine import NativeMachine, program_of
from millstream.blocks.native.method_machine import MethodMachine
from millstream.blocks.native.method_program import code_of, method_program
from millstream.blocks.native.place import Variant
from millstream.blocks.native.statements import Refused
from millstream.blocks.routine import Routine

__all__ = ["MethodMachine", "NativeMachine", "Reason", "code_of", "source_of", "why_not"]


def why_not(routine: Routine, ending: Ending, frame: Frame | None) -> Reason | None:
    """What keeps a routine from being native; None if nothing does."""
    try:
        if code_of(routine) is not None:
            method_program(routine, ending, frame, False)
            return None
        program_of(routine, ending, frame, Variant(nulls=True))
    except Refused as refused:
        return refused.reason
    return None


def source_of(routine: Routine, ending: Ending, frame: Frame | None) -> str:
    """The source of the program of a routine, for columns without NULLs.

    Law: it holds no text that the author of the routine has written.
    """
    if code_of(routine) is not None:
        return method_program(routine, ending, frame, False).source
    return program_of(routine, ending, frame, Variant()).source
