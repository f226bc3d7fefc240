"""The program of a routine: one function over arrays that goes through the events of instances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from millstream.blocks.layout import Layout
from millstream.blocks.machine import Ending, Frame
from millstream.blocks.native.arenas import make_room, put, room_for
from millstream.blocks.native.frontier import Frontier, Written
from millstream.blocks.native.indexes import close_up, index_anew, table_of
from millstream.blocks.native.kinds import NotNative, Reason, Value, array_type, zero
from millstream.blocks.native.lifted import lifted
from millstream.blocks.native.place import Many, Place, Program, Scope, Single, Variant
from millstream.blocks.native.statements import Refused, write_begins, write_block
from millstream.blocks.queries import Columns
from millstream.blocks.routine import INWINDOW, RETURN, Delete, Routine


def written(routine: Routine, ending: Ending, frame: Frame | None, variant: Variant) -> Written:
    """The program of a routine. Raises `Refused` where a statement has no native form."""
    nullable: set[tuple[str, int]] = set()
    room: dict[str, int | None] = {}
    grows = False
    while True:
        known = len(nullable), dict(room), grows
        writing = _Writing(routine, ending, frame, variant, nullable, room, grows)
        found, grows = writing.whole(), writing.grows
        if (len(nullable), room, grows) == known:
            return found


class _Writing:
    """A program while it is written. `grows` says whether loops return rows: then there is no
    telling how many there will be, and each row looks whether there is room for it."""

    def __init__(
        self,
        routine: Routine,
        ending: Ending,
        frame: Frame | None,
        variant: Variant,
        nullable: set[tuple[str, int]],
        room: dict[str, int | None],
        grows: bool,
    ) -> None:
        self.layout = Layout(routine, frame)
        self.routine, self.ending, self.frame, self.variant = routine, ending, frame, variant
        self.program = Program(
            routine,
            variant,
            nullable,
            room,
            lifted=lifted(self.layout),
            tables=len(routine.tables),
        )
        self.w = self.program.writer
        self.tables = self._tables()
        self.frontier = Frontier(self.layout, self.program, self.tables)
        self.sites, self.most, self.grows = 0, 0, grows
        self.counts = True
        arguments = {name: self._argument("x", j) for j, (name, _) in enumerate(routine.arguments)}
        self.scope = Scope(routine, None, arguments, self.tables, self._give)
        known = {e: self._argument("y", k) for k, e in enumerate(self.program.lifted)}
        self.place = Place(self.program, self.scope, known=known)
        if self.layout.asks_sqlcode:
            self.scope.sqlcode = "q"
        if self.layout.held:
            self.scope.oldest = self._oldest

    def _argument(self, prefix: str, j: int) -> Value:
        return Value(f"{prefix}{j}", f"{prefix}{j}_v" if self.variant.nulls else None)

    def _tables(self) -> dict[str, Single | Many]:
        nullable, found = self.program.nullable, {}
        for i, table in enumerate(self.routine.tables):
            self._mark(f"t{i}", len(table.columns))
            self._check(str(table), table.columns)
            found[table.name] = table_of(self.routine, table, f"t{i}", nullable)
        if self.layout.held:
            assert self.routine.inwindow is not None
            schema = dict(self.layout.tables)[INWINDOW]
            self._mark("w", len(self.routine.inwindow))
            found[INWINDOW] = Many("w", tuple((f.name, f.type) for f in schema), nullable)
        self._check("arguments", self.routine.arguments)
        self._check("the result", self.routine.returns)
        return found

    def _mark(self, table: str, columns: int) -> None:
        """With NULLs at hand, stored columns may hold them."""
        if self.variant.nulls:
            self.program.nullable |= {(table, j) for j in range(columns)}

    def _check(self, what: str, columns: Columns) -> None:
        for _, kind in columns:
            try:
                array_type(kind)
            except NotNative as error:
                raise Refused(Reason(what, str(error))) from None

    def whole(self) -> Written:
        w = self.w
        w.depth = 1
        if self.variant.in_time:
            self._all_in_time()
        else:
            self._one_after_another()
        for name, puts in self.program.puts.items():
            if self.program.room.get(name, 0) is not None:
                self.program.room[name] = puts
        size = f"{self.most} * len(event) + 1" if self.most > 1 else "len(event) + 1"
        return Written(
            self.frontier.text(f"max(16, {size})" if self.grows else size),
            tuple(self.frontier.takes),
            tuple(self.frontier.gives),
            frozenset(self.program.nullable),
            tuple(self.program.texts),
            tuple(self.program.stored),
            self.program.lifted,
            self.program.orders_texts,
        )

    def _one_after_another(self) -> None:
        """The events of an instance, then those of the next."""
        w = self.w
        with w.block("for p in range(len(starts) - 1)"):
            self._load()
            tables = [table for _, table in self.frontier.many]
            if tables:
                w.line("j = starts[p]")
                with w.block("while j < starts[p + 1]"):
                    self._make_room()
                    w.line("until = starts[p + 1]")
                    for room in room_for(self.program, tables):
                        w.line(f"until = min(until, j + {room})")
                    with w.block("while j < until"):
                        w.line("e = event[j]")
                        w.line("j += 1")
                        self._event()
            else:
                with w.block("for j in range(starts[p], starts[p + 1])"):
                    w.line("e = event[j]")
                    self._event()
            if self.ending is Ending.LAST and self.routine.terminate:
                with w.block("if begun and starts[p] < starts[p + 1]"):
                    self._make_room()
                    self._terminate()
            self._store()

    def _make_room(self) -> None:
        for _, table in self.frontier.many:
            if rows := self.program.room.get(table.name):
                make_room(self.w, table, rows)

    def _all_in_time(self) -> None:
        """The events of all instances as they happen: slots are loaded and stored for each."""
        w = self.w
        with w.block("for j in range(len(event))"):
            w.line("e = event[j]")
            w.line("p = partition[e]")
            self._load()
            self._event()
            self._store()

    # One event

    def _event(self) -> None:
        w, layout = self.w, self.layout
        self.program.loops = w.loops
        self._read("x", "a{}[e]", "v{}[e]")
        self._hold("y", len(self.program.lifted), "b{}[e]", "b{}_v[e]")
        if not layout.takes_leavers:
            self._arrival()
            return
        with w.block("if e < arrivals"):
            self._arrival()
        with w.block("else"):
            self._leaver()

    def _read(self, prefix: str, value: str, valid: str) -> None:
        """Hold the arguments of a tuple."""
        self._hold(prefix, len(self.routine.arguments), value, valid)

    def _hold(self, prefix: str, count: int, value: str, valid: str) -> None:
        for j in range(count):
            self.w.line(f"{prefix}{j} = {value.format(j)}")
            if self.variant.nulls:
                self.w.line(f"{prefix}{j}_v = {valid.format(j)}")

    def _arrival(self) -> None:
        w = self.w
        if self.layout.held:
            self._expire_before()
            self._enter()
        if any(table.begins for table in self.routine.tables):
            with w.block("if not begun"):
                write_begins(self.place)
        first, later = self.routine.initialize, self.routine.iterate
        if first == later:
            w.line("begun = True")
            with self._counted():
                write_block(self.place, first, "iterate")
        else:
            with w.block("if not begun"), self._counted():
                w.line("begun = True")
                write_block(self.place, first, "initialize")
            with w.block("else"), self._counted():
                write_block(self.place, later, "iterate")
        if self.ending is Ending.EACH and self.routine.terminate:
            self._terminate()
        elif self.ending is Ending.WANTED and self.routine.terminate:
            with w.when("wanted[e]" if self.variant.wanted else "True"):
                self._terminate()

    def _terminate(self) -> None:
        before = self.sites
        write_block(self.place, self.routine.terminate or (), "terminate")
        self.most += self.sites - before

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Blocks of which one runs for an event: how many rows it returns at most."""
        before = self.sites
        self.loops = self.w.loops
        yield
        self.most = max(self.most, self.sites - before)

    def _enter(self) -> None:
        """The tuple enters the window."""
        w, table = self.w, self.tables[INWINDOW]
        assert isinstance(table, Many)
        w.line("# it enters the window")
        self.program.puts["w"] += 1
        row = [self._argument("x", j) for j in range(len(self.routine.arguments))]
        hidden = ["number[e]"] + (["instant[e]"] if self.layout.keeps_instants else [])
        put(w, table, "w_n", [*row, *map(Value, hidden)])
        w.line("w_n += 1")

    def _expire_before(self) -> None:
        """The tuples that an arrival drives out leave."""
        frame, w = self.frame, self.w
        if frame is None or frame.active:
            return
        columns = len(self.routine.arguments)
        if frame.rows is not None:
            out = f"w_c{columns}[w_b] <= number[e] - {int(frame.rows)}"
        elif frame.length is not None:
            out = f"w_c{columns + 1}[w_b] < instant[e] - {int(frame.length)}"
        else:
            return
        with w.block(f"while w_b < w_n and {out}"):
            self._oldest_leaves(counts=False)

    def _oldest_leaves(self, counts: bool) -> None:
        w, columns = self.w, len(self.routine.arguments)
        block = self.routine.expire or ()
        place = self.place
        if block:
            self._read("z", "w_c{}[w_b]", "w_v{}[w_b]")
            names = [name for name, _ in self.routine.arguments]
            place = self._as_leaver({n: self._argument("z", j) for j, n in enumerate(names)})
            self.counts = counts
            mine = any(isinstance(s, Delete) and s.table == INWINDOW for s in block)
            if mine:
                w.line(f"z_number = w_c{columns}[w_b]")
            write_block(place, block, "expire")
            self.counts = True
            if mine:
                with w.block(f"if w_b < w_n and w_c{columns}[w_b] == z_number"):
                    w.line("w_b += 1")
                return
        w.line("w_b += 1")

    def _as_leaver(self, arguments: dict[str, Value]) -> Place:
        """Where EXPIRE is written: the arguments are those of the tuple that leaves, and it is the
        oldest."""
        scope = Scope(self.routine, None, arguments, self.tables, self._give, self.scope.sqlcode)
        names = [name for name, _ in self.routine.inwindow or ()]
        values = list(arguments.values())
        scope.oldest = lambda name: values[names.index(name)]
        known = {} if self.layout.held else self.place.known
        return replace(self.place, scope=scope, known=known)

    def _leaver(self) -> None:
        """A tuple that leaves is an event."""
        w, columns = self.w, len(self.routine.arguments)
        if not self.layout.held:
            with self._counted():
                write_block(
                    self._as_leaver(self.scope.arguments), self.routine.expire or (), "expire"
                )
            return
        with w.block(f"if w_b < w_n and w_c{columns}[w_b] == number[e]"), self._counted():
            self._oldest_leaves(counts=True)

    def _oldest(self, name: str) -> Value:
        table = self.tables[INWINDOW]
        assert isinstance(table, Many) and self.routine.inwindow is not None
        j = [column for column, _ in self.routine.inwindow].index(name)
        w = self.w
        there = w.named("w_b < w_n")
        value = table.row("w_b")[j]
        code = w.named(f"{value.code} if {there} else {zero(table.columns[j][1])}")
        return Value(code, there if value.valid is None else f"({there} and {value.valid})")

    # Rows that are returned

    def _give(self, place: Place, row: Sequence[Value]) -> None:
        w = self.w
        for j, value in enumerate(row):
            if value.valid is not None:
                self.program.nullable.add((RETURN, j))
        if not self.counts:
            return
        with w.when("wanted[e]" if self.variant.wanted else "True"):
            if w.loops > self.program.loops:
                self.grows = True
            self.sites += 1
            if self.grows:
                with w.block("if r == len(r_event)"):
                    for name, _ in self.frontier.returned:
                        w.line(f"{name} = grown({name}, 2 * len({name}))")
            w.line("r_event[r] = e")
            for j, value in enumerate(row):
                w.line(f"r_c{j}[r] = {value.code}")
                if (RETURN, j) in self.program.nullable:
                    w.line(f"r_v{j}[r] = {value.valid or 'True'}")
            w.line("r += 1")

    # What instances keep

    def _load(self) -> None:
        w = self.w
        for name, *_ in self.frontier.slots:
            w.line(f"{name} = s_{name}[p]")
        for _, table in self.frontier.many:
            t = table.name
            first = table.arrays[0][0]
            w.line(f"{t}_s = {t}_b = {t}_n")
            size = w.named(f"o_{t}[p + 1] - o_{t}[p]")
            with w.block(f"while {t}_n + {size} >= len({first})"):
                for name, _ in table.arrays:
                    w.line(f"{name} = grown({name}, 2 * len({name}))")
            at = w.name("i")
            with w.block(f"for {at} in range({size})"):
                for name, _ in table.kept:
                    w.line(f"{name}[{t}_n + {at}] = i_{name}[o_{t}[p] + {at}]")
                if table.forgets:
                    w.line(f"{t}_a[{t}_n + {at}] = True")
            w.line(f"{t}_n += {size}")
            if table.forgets:
                w.line(f"{t}_dead = 0")
            index_anew(w, table)

    def _store(self) -> None:
        w = self.w
        for name, *_ in self.frontier.slots:
            w.line(f"s_{name}[p] = {name}")
        for _, table in self.frontier.many:
            close_up(w, table, f"{table.name}_dead > 0", anew=False)
            w.line(f"f_{table.name}[p] = {table.name}_b")
            w.line(f"l_{table.name}[p] = {table.name}_n")
