"""Routines that blocks call: written out where they are called, on an instance of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from millstream.blocks.leaves import SqlCode
from millstream.blocks.native.expressions import value_of
from millstream.blocks.native.indexes import index_anew, table_of
from millstream.blocks.native.kinds import NotNative, Value, array_type, zero
from millstream.blocks.native.ordered import keep, put_in_order, write_kept
from millstream.blocks.native.place import Many, Place, Scope, Single, Sink, may_be_null
from millstream.blocks.native.selects import feed, finish_group, where, write_rows
from millstream.blocks.native.statements import write_begins, write_block
from millstream.blocks.native.totals import total_of
from millstream.blocks.queries import Called, RoutineName, Select, Tabled
from millstream.blocks.routine import Routine
from millstream.blocks.walking import parts_of


class Instance:
    """An instance of a called routine, which lives as long as the call."""

    def __init__(self, place: Place, name: RoutineName, give: Sink) -> None:
        program = place.program
        if name.name in program.calling:
            raise NotNative("a recursion has no native form")
        self.called = name.name
        self.routine = routine = program.routine.calls[name.name]
        w = place.w
        self.arguments = []
        for _, kind in routine.arguments:
            mine = w.name("u")
            known = f"{mine}_v" if (mine, 0) in program.nullable else None
            self.arguments.append(Value(mine, known))
            w.line(f"{mine} = {zero(kind)}")
            if known is not None:
                w.line(f"{known} = True")
        self.scope = Scope(
            routine,
            _around(place.scope, routine),
            {n: mine for mine, (n, _) in zip(self.arguments, routine.arguments)},
            local_tables(place, routine),
            give,
        )
        if any(isinstance(p, SqlCode) for s in routine.statements() for p in parts_of(s)):
            self.scope.sqlcode = w.name("q")
            w.line(f"{self.scope.sqlcode} = 0")
        self.begun = w.name()
        w.line(f"{self.begun} = False")

    def place(self, outside: Place) -> Place:
        program = outside.program
        return Place(program, self.scope, outside.fields, outside.results, ends=outside.ends)

    def feed(self, outside: Place, values: Sequence[Value]) -> None:
        """Give it a row."""
        self.bind(outside, values)
        self._inside(outside, ("begin",))

    def bind(self, outside: Place, values: Sequence[Value]) -> None:
        """Set its arguments."""
        w = outside.w
        for mine, value in zip(self.arguments, [w.fixed(value) for value in values]):
            may_be_null(outside, mine.code, 0, value)
            w.line(f"{mine.code} = {value.code}")
            if mine.valid is not None:
                w.line(f"{mine.valid} = {value.valid or 'True'}")

    def run_block(self, outside: Place, label: str) -> None:
        self._inside(outside, (label,))

    def _inside(self, outside: Place, labels: tuple[str, ...]) -> None:
        program, place = outside.program, self.place(outside)
        calling = program.calling
        program.calling = (*calling, self.called)
        w, routine = outside.w, self.routine
        for label in labels:
            if label != "begin":
                write_block(place, getattr(routine, label) or (), label)
                continue
            with w.block(f"if not {self.begun}"):
                w.line(f"{self.begun} = True")
                write_begins(place)
                write_block(place, routine.initialize, "initialize")
            with w.block("else"):
                write_block(place, routine.iterate, "iterate")
        program.calling = calling


def local_tables(place: Place, routine: Routine) -> dict[str, Single | Many]:
    """Fresh tables for a call; where a table is filled anew, it begins empty."""
    program, w = place.program, place.w
    found: dict[str, Single | Many] = {}
    for table in routine.tables:
        for _, kind in table.columns:
            array_type(kind)
        made = table_of(routine, table, f"t{program.tables}", program.nullable)
        program.tables += 1
        found[table.name] = made
        if isinstance(made, Single):
            made.clear(w)
            continue
        t = made.name
        program.top += made.allocate("16")
        w.line(f"{t}_s = {t}_b = {t}_n = 0")
        if made.forgets:
            w.line(f"{t}_dead = 0")
        index_anew(w, made)
    return found


def _around(scope: Scope, routine: Routine) -> Scope | None:
    """The scope of the definition that a routine stands in."""
    at: Scope | None = scope
    while at is not None:
        if routine in at.routine.inner:
            return at
        at = at.parent
    return None


def write_own_calls(place: Place, query: Select, sink: Sink) -> None:
    """A Select without GROUP BY that calls own aggregates."""
    if any(call.distinct for call in query.calls):
        raise NotNative("DISTINCT in a call has no native form")
    if len(query.calls) == 1 and not query.calls[0].newest:
        _write_one(place, query, sink)
    else:
        _write_several(place, query, sink)


def _write_one(place: Place, query: Select, sink: Sink) -> None:
    """One call: each row that it returns goes where those of the query go."""
    (call,) = query.calls
    assert isinstance(call.function, RoutineName)

    def give(_: Place, row: Sequence[Value]) -> None:
        finish_group(place, query, _results(0, call, row), sink)

    instance = Instance(place, call.function, give)
    _write_fed(place, query, lambda at: _feed(at, call, instance))
    if instance.routine.terminate:
        with place.w.block(f"if {instance.begun}"):
            instance.run_block(place, "terminate")


def _write_fed(place: Place, query: Select, take: Callable[[Place], None]) -> None:
    """The rows of a query in the order in which its calls are fed."""
    orders = {call.feeding for call in query.calls}
    if len(orders) > 1:
        raise NotNative("calls that are fed in different orders have no native form")
    (order,) = orders

    def rows(each: Callable[[Place], None]) -> None:
        write_rows(place, query, lambda inside, _: each(inside), None)

    if not order:
        rows(take)
        return
    wanted = [e for call in query.calls for e in (*call.arguments, call.where) if e is not None]
    expressions = [*(part.value for part in order), *dict.fromkeys(wanted)]
    kept = keep(place, expressions, rows)
    put_in_order(place, kept, order)
    write_kept(place, kept, 0, lambda at, row: take(at.knowing(dict(zip(expressions, row)))), None)


def _feed(inside: Place, call: Called, instance: Instance) -> None:
    with where(inside, [call.where] if call.where is not None else []):
        instance.feed(inside, [value_of(inside, a) for a in call.arguments])


def _results(at: int, call: Called, row: Sequence[Value]) -> dict[tuple[int, str], Value]:
    return {(at, name): value for (name, _), value in zip(call.columns, row)}


class _Kept:
    """A call whose one row is kept until all calls have theirs."""

    def __init__(self, place: Place, call: Called) -> None:
        assert isinstance(call.function, RoutineName)
        w = self.w = place.w
        self.call, self.sites, self.loops = call, 0, 0
        self.found = w.name()
        self.row = [Value(w.name(), w.name()) for _ in call.columns]
        w.line(f"{self.found} = False")
        for value, (_, kind) in zip(self.row, call.columns):
            w.line(f"{value.code} = {zero(kind)}")
            w.line(f"{value.valid} = False")
        self.instance = Instance(place, call.function, self.give)

    def give(self, _: Place, row: Sequence[Value]) -> None:
        if self.w.loops > self.loops or self.sites:
            raise NotNative("of several calls in one SELECT one may give many rows")
        self.sites += 1
        self.w.line(f"{self.found} = True")
        for mine, value in zip(self.row, row):
            self.w.line(f"{mine.code} = {value.code}")
            self.w.line(f"{mine.valid} = {value.valid or 'True'}")

    def feed(self, inside: Place) -> None:
        routine, self.loops = self.instance.routine, self.w.loops
        if not self.call.newest:
            self.loops = -1  # what it returns while it is fed would be many rows
        with where(inside, [self.call.where] if self.call.where is not None else []):
            if self.call.newest:
                self.w.line(f"{self.found} = False")
            self.instance.feed(inside, [value_of(inside, a) for a in self.call.arguments])
        merged = routine.initialize == routine.iterate
        self.sites = min(self.sites, 1) if self.call.newest or merged else self.sites

    def end(self, place: Place) -> None:
        self.loops = self.w.loops
        if self.instance.routine.terminate:
            with self.w.block(f"if {self.instance.begun}"):
                self.instance.run_block(place, "terminate")


def _write_several(place: Place, query: Select, sink: Sink) -> None:
    kept: dict[int, _Kept] = {}
    totals = {}
    for i, call in enumerate(query.calls):
        if isinstance(call.function, RoutineName):
            kept[i] = _Kept(place, call)
        else:
            totals[i] = total_of(place, call)

    def take(inside: Place) -> None:
        for i, call in enumerate(query.calls):
            if i in kept:
                kept[i].feed(inside)
            else:
                feed(inside, call, totals[i])

    _write_fed(place, query, take)
    results: dict[tuple[int, str], Value] = {}
    for i, call in enumerate(query.calls):
        if i in kept:
            kept[i].end(place)
            results.update(_results(i, call, kept[i].row))
        else:
            results.update(_results(i, call, [totals[i].finish(place)]))
    with place.w.block(f"if {' and '.join(one.found for one in kept.values())}"):
        finish_group(place, query, results, sink)


def write_function(place: Place, called: Tabled, sink: Sink) -> None:
    """A call of a table function: its statements, with its rows where they are returned."""
    values = [place.w.fixed(value_of(place, a)) for a in called.arguments]
    inner = replace(place, known={})

    def give(_: Place, row: Sequence[Value]) -> None:
        sink(inner, [place.w.fixed(value) for value in row])

    instance = Instance(place, called.routine, give)
    instance.bind(place, values)
    write_begins(instance.place(place))
    instance.run_block(place, "initialize")
