"""The native machine: columns in, machine code over them, columns out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.algebra.expressions import Expression
from millstream.algebra.types import BOOLEAN, STRING
from millstream.blocks.layout import Layout
from millstream.blocks.machine import Ending, Fed, Frame, Instances, Ran, Rows
from millstream.blocks.native.columns import Texts, column_of, read_only, valid_of, values_of
from millstream.blocks.native.frontier import Parameter, Written
from millstream.blocks.native.keeping import compiled, is_compiled
from millstream.blocks.native.lifted import columns, lifted
from millstream.blocks.native.place import Variant
from millstream.blocks.native.program import written
from millstream.blocks.routine import INWINDOW, Routine
from millstream.columns.native import native
from millstream.state.ordered_run import InTime

UNBOUNDED = Frame()


@lru_cache(maxsize=1024)
def program_of(routine: Routine, ending: Ending, frame: Frame | None, variant: Variant) -> Written:
    return written(routine, ending, frame, variant)


@dataclass(frozen=True)
class NativeMachine:
    """A routine as machine code. Raises `Refused` at its first step if it has no native form: ask
    `why_not` before.

    Cost: the events, and the rows of the instances that are handed in, which are copied once.
    """

    routine: Routine
    ending: Ending = Ending.NEVER
    frame: Frame | None = UNBOUNDED

    @cached_property
    def layout(self) -> Layout:
        return Layout(self.routine, self.frame)

    @property
    def slots(self) -> pa.Schema:
        return self.layout.slots

    @property
    def tables(self) -> tuple[tuple[str, pa.Schema], ...]:
        return self.layout.tables

    @property
    def returns(self) -> pa.Schema:
        return self.layout.returns

    @property
    def takes_leavers(self) -> bool:
        return self.layout.takes_leavers

    def run(self, fed: Fed, before: Instances, count: int) -> Ran:
        """Take the events of a step; there are `count` instances."""
        more = self._lifted(fed)
        program = self._program(fed, more, before)
        step = _Step(self.layout, program, fed, more, before, count)
        given = compiled(program.source, program.takes)(*map(step.array, program.takes))
        return step.ran(given)

    def is_made(self, fed: Fed, before: Instances) -> bool:
        """Whether the machine code for a step is there already, here or on disk."""
        return is_compiled(self._program(fed, self._lifted(fed), before).source)

    def _lifted(self, fed: Fed) -> tuple[pa.Array, ...]:
        """What the program does not compute itself, by event."""
        names = [name for name, _ in self.routine.arguments]
        return columns(self._expressions, names, fed.arguments)

    @cached_property
    def _expressions(self) -> tuple[Expression, ...]:
        return lifted(self.layout)

    def _program(self, fed: Fed, more: tuple[pa.Array, ...], before: Instances) -> Written:
        """The program for columns without NULLs, if these are."""
        counts, timely = fed.wanted is not None, self._takes_as_they_happen(fed)
        plain = Variant(wanted=counts, in_time=timely)
        program = program_of(self.routine, self.ending, self.frame, plain)
        unknown = any(column.null_count for column in (*fed.arguments, *more))
        if unknown or self._unforeseen(program, before):
            return program_of(self.routine, self.ending, self.frame, Variant(True, counts, timely))
        return program

    def _takes_as_they_happen(self, fed: Fed) -> bool:
        """With nothing but slots to keep, events need not be sorted by instance."""
        timely = isinstance(fed.order, InTime) and not self.layout.tables
        return timely and self.ending is not Ending.LAST

    def _unforeseen(self, program: Written, before: Instances) -> bool:
        """Whether a stored column holds a NULL that the program does not look for."""
        for single in self.layout.singles:
            i = self.routine.tables.index(single)
            there = before.slots.column(f"t{i}")
            for j in range(len(single.columns)):
                if (f"t{i}", j) not in program.nullable:
                    column = before.slots.column(f"t{i}.c{j}")
                    if column.null_count > len(column) - there.true_count:
                        return True
        for (name, _), held in zip(self.layout.tables, before.tables):
            table = self.short_name(name)
            for j, column in enumerate(held.rows.columns):
                if column.null_count and (table, j) not in program.nullable:
                    return True
        return False

    def short_name(self, table: str) -> str:
        """What a table is called in the program."""
        names = [t.name for t in self.routine.tables]
        return "w" if table == INWINDOW else f"t{names.index(table)}"


class _Step:
    """The arrays of a step."""

    def __init__(
        self,
        layout: Layout,
        program: Written,
        fed: Fed,
        more: tuple[pa.Array, ...],
        before: Instances,
        count: int,
    ) -> None:
        self.layout, self.program, self.fed, self.count = layout, program, fed, count
        self.more = more
        self.before = before
        self.held = dict(zip((name for name, _ in layout.tables), before.tables))
        self.changed: dict[tuple[str, str], np.ndarray] = {}
        self.texts, self.codes = self._encoded()

    def _encoded(self) -> tuple[Texts, dict[tuple[Any, ...], np.ndarray]]:
        """The strings of the step as codes, by where they stand."""
        found: dict[tuple[Any, ...], pa.Array] = {}
        if self.program.texts:
            found["text",] = pa.array(self.program.texts, STRING)
        for j, column in enumerate(self.fed.arguments):
            found["argument", j] = column
        for k, column in enumerate(self.more):
            found["lifted", k] = column
        for field, column in zip(self.layout.slots, self.before.slots.columns):
            found["slot", field.name] = column
        for name, held in self.held.items():
            for j, column in enumerate(held.rows.columns):
                found["column", name, j] = column
        for k, stored in enumerate(self.program.stored):
            for j, column in enumerate(stored.rows.columns):
                found["stored", k, j] = column
        found = {where: column for where, column in found.items() if column.type == STRING}
        texts = Texts.of(list(found.values()), self.program.orders_texts)
        return texts, dict(zip(found, texts.codes))

    def array(self, parameter: Parameter) -> Any:
        """What a program is handed for a parameter."""
        found = self._array(parameter)
        if isinstance(found, np.ndarray) and not parameter.role.startswith("slot"):
            return read_only(found)
        return found

    def _array(self, parameter: Parameter) -> Any:
        fed, of = self.fed, parameter.of
        match parameter.role:
            case "event" | "starts" | "instant" | "sequence" | "partition":
                return getattr(fed.order, parameter.role)
            case "arrivals":
                return fed.order.arrivals
            case "number":
                return fed.number
            case "wanted":
                return fed.wanted
            case "argument" | "argument valid":
                return self._values(parameter, ("argument", *of), fed.arguments[int(of[0])])
            case "lifted" | "lifted valid":
                return self._values(parameter, ("lifted", *of), self.more[int(of[0])])
            case "text":
                return int(self.codes["text",][int(of[0])])
            case "stored length":
                return self.program.stored[int(of[0])].rows.num_rows
            case "stored" | "stored valid":
                rows = self.program.stored[int(of[0])].rows
                return self._values(parameter, ("stored", *of), rows.column(int(of[1])))
            case "slot" | "slot valid":
                return self._slot(parameter, str(of[0]))
            case "offsets":
                return np.searchsorted(self.held[str(of[0])].owner, np.arange(self.count + 1))
        rows = self.held[str(of[0])].rows
        return self._values(parameter, ("column", *of), rows.column(int(of[1])))

    def _values(self, parameter: Parameter, where: tuple[Any, ...], column: pa.Array) -> np.ndarray:
        if parameter.role.endswith("valid"):
            return valid_of(column)
        return self.codes[where] if where in self.codes else values_of(column)

    def _slot(self, parameter: Parameter, name: str) -> np.ndarray:
        """A slot of every instance; those that are new have a zero."""
        found = self._values(parameter, ("slot", name), self.before.slots.column(name))
        out = np.zeros(self.count, found.dtype)
        out[: len(found)] = found
        self.changed[parameter.role, name] = out
        return out

    # What comes out

    def ran(self, given: tuple[Any, ...]) -> Ran:
        results = {(p.role, *p.of): value for p, value in zip(self.program.gives, given)}
        rows = results["rows",]
        columns = []
        for j, field in enumerate(self.layout.returns):
            valid = results.get(("row valid", j))
            columns.append(
                self._column(
                    _cut(results["row", j], rows),
                    None if valid is None else valid[:rows],
                    field.type,
                )
            )
        returned = pa.RecordBatch.from_arrays(columns, schema=self.layout.returns)
        event = _cut(results["row event",], rows)
        after = Instances(self._slots_after(), tuple(self._tables_after(results)))
        return Ran(after, event, returned)

    def _column(self, values: np.ndarray, valid: np.ndarray | None, kind: pa.DataType) -> pa.Array:
        if kind == STRING:
            return self.texts.column(values, valid)
        return column_of(values, valid, kind)

    def _slots_after(self) -> pa.RecordBatch:
        columns, there = [], None
        for field in self.layout.slots:
            values = self.changed["slot", field.name]
            valid = self.changed.get(("slot valid", field.name))
            if "." in field.name:
                assert there is not None
                valid = there if valid is None else valid & there
            elif field.type == BOOLEAN:
                there = values
            columns.append(self._column(values, valid, field.type))
        return pa.RecordBatch.from_arrays(columns, schema=self.layout.slots)

    def _tables_after(self, results: dict[tuple[Any, ...], Any]) -> list[Rows]:
        found = []
        for name, schema in self.layout.tables:
            first, last = results["first", name], results["last", name]
            columns = []
            for j, field in enumerate(schema):
                values = _gathered(results["column", name, j], first, last)
                valid = results.get(("valid", name, j))
                known = None if valid is None else _gathered(valid, first, last)
                columns.append(self._column(values, known, field.type))
            owner = np.repeat(np.arange(self.count), last - first)
            found.append(Rows(owner, pa.RecordBatch.from_arrays(columns, schema=schema)))
        return found


def _gathered(column: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    if len(first) == 1:
        return column[first[0] : last[0]].copy()
    return _stretches(column, first, last)


@native
def _stretches(column, first, last):  # type: ignore[no-untyped-def]
    """The values of stretches, one after the other."""
    size = 0
    for i in range(len(first)):
        size += last[i] - first[i]
    out = np.empty(size, column.dtype)
    at = 0
    for i in range(len(first)):
        for j in range(first[i], last[i]):
            out[at] = column[j]
            at += 1
    return out


def _cut(values: np.ndarray, length: int) -> np.ndarray:
    """The first values; memory that is mostly not used is given back."""
    return values[:length] if 2 * length > len(values) else values[:length].copy()
