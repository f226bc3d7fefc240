"""The native machine of classes in Python; what it is not sure of, Python itself decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.algebra.types import BOOLEAN
from millstream.blocks.layout import BEGUN
from millstream.blocks.machine import Ending, Fed, Frame, Instances, Machine, Ran
from millstream.blocks.native.columns import column_of, read_only, values_of
from millstream.blocks.native.frontier import Parameter
from millstream.blocks.native.keeping import compiled, is_compiled
from millstream.blocks.native.method_program import MethodProgram, method_program
from millstream.blocks.routine import Routine


@dataclass(frozen=True)
class MethodMachine:
    """A class of numbers as machine code.

    Law: what it gives is what Python gives. A step in which something is missing or doubtful, such
    as a NULL, a division by zero or a number of more than 64 bits, is taken by the general machine
    as a whole: instances are only copied here, so nothing has happened yet.
    """

    routine: Routine
    ending: Ending
    frame: Frame | None
    general: Machine

    @property
    def slots(self) -> pa.Schema:
        return self.general.slots

    @property
    def tables(self) -> tuple[tuple[str, pa.Schema], ...]:
        return self.general.tables

    @property
    def returns(self) -> pa.Schema:
        return self.general.returns

    @property
    def takes_leavers(self) -> bool:
        return self.general.takes_leavers

    def is_made(self, fed: Fed, before: Instances) -> bool:
        """Whether the machine code for a step is there already, here or on disk."""
        return is_compiled(self._program(fed).source)

    def _program(self, fed: Fed) -> MethodProgram:
        return method_program(self.routine, self.ending, self.frame, fed.wanted is not None)

    def run(self, fed: Fed, before: Instances, count: int) -> Ran:
        """Take the events of a step; there are `count` instances."""
        slots = _arrays(before, count) if _is_plain(fed, before) else None
        if slots is None:
            return self.general.run(fed, before, count)
        program = self._program(fed)
        code = compiled(program.source, program.takes)
        try:
            given = code(*[_handed(p, fed, slots) for p in program.takes])
        except (ArithmeticError, ValueError):
            return self.general.run(fed, before, count)
        return self._ran(given, slots, before)

    def _ran(self, given: tuple[Any, ...], slots: dict[str, np.ndarray], before: Instances) -> Ran:
        rows, event, *columns = given
        begun = slots[BEGUN]
        kept = []
        for field in self.slots:
            if field.type == BOOLEAN and "." not in field.name:
                kept.append(pa.array(begun))
            else:
                kept.append(column_of(slots[field.name], begun, field.type))
        returned = [column_of(c[:rows].copy(), None, f.type) for c, f in zip(columns, self.returns)]
        after = Instances(pa.RecordBatch.from_arrays(kept, schema=self.slots), before.tables)
        answers = pa.RecordBatch.from_arrays(returned, schema=self.returns)
        return Ran(after, event[:rows].copy(), answers)


def _is_plain(fed: Fed, before: Instances) -> bool:
    """Whether there are no NULLs, and no tuples that were refused."""
    if any(column.null_count for column in fed.arguments):
        return False
    begun = before.slots.column(BEGUN)
    missing = len(begun) - begun.true_count
    values = [c for f, c in zip(before.slots.schema, before.slots.columns) if "." in f.name]
    return all(c.null_count == missing for c in values) and not any(
        len(table.owner) for table in before.tables
    )


def _arrays(before: Instances, count: int) -> dict[str, np.ndarray]:
    """Copies of the slots; those of new instances are zero."""
    found = {}
    for field, column in zip(before.slots.schema, before.slots.columns):
        values = values_of(column)
        found[field.name] = np.zeros(count, values.dtype)
        found[field.name][: len(values)] = values
    return found


def _handed(parameter: Parameter, fed: Fed, slots: dict[str, np.ndarray]) -> Any:
    match parameter.role:
        case "event" | "starts":
            return read_only(getattr(fed.order, parameter.role))
        case "arrivals":
            return fed.order.arrivals
        case "wanted":
            assert fed.wanted is not None
            return read_only(fed.wanted)
        case "argument":
            return read_only(np.ascontiguousarray(values_of(fed.arguments[int(parameter.of[0])])))
    return slots[str(parameter.of[0])]
