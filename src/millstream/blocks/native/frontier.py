"""What a program is handed and gives: arrays of events, arguments, slots and tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from millstream.algebra.expressions import Expression
from millstream.algebra.types import BOOLEAN
from millstream.blocks.layout import BEGUN, SQLCODE, Layout
from millstream.blocks.native.kinds import array_type
from millstream.blocks.native.place import Many, Program, Single
from millstream.blocks.queries import Stored
from millstream.blocks.routine import RETURN


@dataclass(frozen=True)
class Parameter:
    """An array that a program is handed, or gives: `role` says what it holds, `of` of what."""

    name: str
    type: str
    role: str
    of: tuple[str | int, ...] = ()


@dataclass(frozen=True)
class Written:
    """The source of a program, and what it is handed and gives, in order."""

    source: str
    takes: tuple[Parameter, ...]
    gives: tuple[Parameter, ...]
    nullable: frozenset[tuple[str, int]]
    texts: tuple[str, ...]
    stored: tuple[Stored, ...]
    lifted: tuple[Expression, ...]
    orders_texts: bool


@dataclass(frozen=True)
class Frontier:
    """Where a program meets the outside."""

    layout: Layout
    program: Program
    tables: dict[str, Single | Many]

    @property
    def many(self) -> list[tuple[str, Many]]:
        return [(n, t) for n, t in self.tables.items() if isinstance(t, Many)]

    @property
    def singles(self) -> list[Single]:
        return [t for t in self.tables.values() if isinstance(t, Single)]

    @property
    def returned(self) -> list[tuple[str, str]]:
        found = [("r_event", "np.int64")]
        for j, (_, kind) in enumerate(self.layout.routine.returns):
            found.append((f"r_c{j}", array_type(kind)))
            if (RETURN, j) in self.program.nullable:
                found.append((f"r_v{j}", "np.bool_"))
        return found

    @property
    def slots(self) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
        """Of every slot: its name in the program, its type, its role, which slot it is."""
        yield "begun", "np.bool_", "slot", (BEGUN,)
        if self.layout.asks_sqlcode:
            yield "q", "np.int64", "slot", (SQLCODE,)
        for table in self.singles:
            yield table.name, array_type(BOOLEAN), "slot", (table.name,)
            for j, (_, kind) in enumerate(table.columns):
                of = (f"{table.name}.c{j}",)
                yield f"{table.name}_c{j}", array_type(kind), "slot", of
                if (valid := table.valid(j)) is not None:
                    yield valid, "np.bool_", "slot valid", of

    @property
    def takes(self) -> list[Parameter]:
        if self.program.variant.in_time:
            roles = [("event", "sequence"), ("partition", "partition")]
        else:
            roles = [("event", "event"), ("starts", "starts")]
        found = [
            *(Parameter(name, "np.int64", role) for name, role in roles),
            Parameter("instant", "np.int64", "instant"),
            Parameter("number", "np.int64", "number"),
            Parameter("arrivals", "int", "arrivals"),
        ]
        if self.program.variant.wanted:
            found.append(Parameter("wanted", "np.bool_", "wanted"))
        for j, (_, kind) in enumerate(self.layout.routine.arguments):
            found.append(Parameter(f"a{j}", array_type(kind), "argument", (j,)))
            if self.program.variant.nulls:
                found.append(Parameter(f"v{j}", "np.bool_", "argument valid", (j,)))
        for k, expression in enumerate(self.program.lifted):
            found.append(Parameter(f"b{k}", array_type(expression.type), "lifted", (k,)))
            if self.program.variant.nulls:
                found.append(Parameter(f"b{k}_v", "np.bool_", "lifted valid", (k,)))
        for k in range(len(self.program.texts)):
            found.append(Parameter(f"d{k}", "int", "text", (k,)))
        for k, stored in enumerate(self.program.stored):
            found += self._of_stored(k, stored)
        for name, kind, role, of in self.slots:
            found.append(Parameter(f"s_{name}", kind, role, of))
        for name, table in self.many:
            found.append(Parameter(f"o_{table.name}", "np.int64", "offsets", (name,)))
            for array, kind in table.kept:
                role = "column" if "_c" in array else "valid"
                j = int(array.rpartition("_")[2][1:])
                found.append(Parameter(f"i_{array}", kind, role, (name, j)))
        return found

    def _of_stored(self, k: int, stored: Stored) -> list[Parameter]:
        found = [Parameter(f"g{k}_n", "int", "stored length", (k,))]
        for j, field in enumerate(stored.rows.schema):
            found.append(Parameter(f"g{k}_c{j}", array_type(field.type), "stored", (k, j)))
            if (f"g{k}", j) in self.program.nullable:
                found.append(Parameter(f"g{k}_v{j}", "np.bool_", "stored valid", (k, j)))
        return found

    @property
    def gives(self) -> list[Parameter]:
        found = [Parameter("r", "int", "rows")]
        for name, kind in self.returned:
            role = {"e": "row event", "c": "row", "v": "row valid"}[name[2]]
            of = () if role == "row event" else (int(name[3:]),)
            found.append(Parameter(name, kind, role, of))
        for name, table in self.many:
            found.append(Parameter(f"f_{table.name}", "np.int64", "first", (name,)))
            found.append(Parameter(f"l_{table.name}", "np.int64", "last", (name,)))
            for array, kind in table.kept:
                role = "column" if "_c" in array else "valid"
                j = int(array.rpartition("_")[2][1:])
                found.append(Parameter(array, kind, role, (name, j)))
        return found

    @property
    def _indexes(self) -> bool:
        return any("indexed(" in line for line in self.program.writer.lines)

    def text(self, size: str) -> str:
        lines = ["import math", "", "import numpy as np", ""]
        lines += ["from millstream.blocks.native.runtime import *", "", ""]
        lines.append("def run(")
        lines += [f"    {p.name}," for p in self.takes]
        lines.append("):")
        top = ["none = np.empty(0, np.bool_)"] if self._indexes else []
        top += ["r = 0", *(f"{name} = np.empty({size}, {kind})" for name, kind in self.returned)]
        for _, table in self.many:
            t = table.name
            top.append(f"f_{t} = np.zeros(len(starts) - 1, np.int64)")
            top.append(f"l_{t} = np.zeros(len(starts) - 1, np.int64)")
            top += table.allocate(f"2 * len(i_{table.arrays[0][0]}) + 1024")
            top.append(f"{t}_n = 0")
        lines += ["    " + line for line in [*top, *self.program.top]]
        lines += self.program.writer.lines
        lines.append("    return (")
        lines += [f"        {p.name}," for p in self.gives]
        lines.append("    )")
        return "\n".join(lines) + "\n"
