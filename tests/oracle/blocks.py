"""What routines mean: a slow interpreter of their checked trees that follows the definitions.

It shares no code with the machines. A statement works on a copy of all tables; a query forms every
combination of rows before it tests any; nothing is kept from one evaluation to the next.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from millstream.blocks.machine import Ending, Frame
from millstream.blocks.queries import Combined, Local, RoutineName, Select, Stored, Tabled, Values
from millstream.blocks.routine import INWINDOW, RETURN, Delete, Insert, Routine, Update
from oracle.block_values import aggregated, compared, computed, converted, internal, sorted_rows

Row = tuple[Any, ...]


@dataclass
class Instance:
    """The tables of a group, partition or call; `window` has numbers, instants and rows."""

    routine: Routine
    calls: dict[str, Routine]
    around: Instance | None = None
    arguments: Row = ()
    tables: dict[str, list[Row]] = field(default_factory=dict)
    window: list[tuple[int, int, Row]] = field(default_factory=list)
    sqlcode: int = 0
    begun: bool = False
    leaving: Row | None = None
    returned: list[Row] = field(default_factory=list)

    def up(self, depth: int) -> Instance:
        return self if depth == 0 else self.around.up(depth - 1)  # type: ignore[union-attr]

    def rows(self, name: str) -> list[Row]:
        return [row for _, _, row in self.window] if name == INWINDOW else self.tables[name]

    def columns(self, name: str):
        if name == INWINDOW:
            return self.routine.inwindow
        return next(t.columns for t in self.routine.tables if t.name == name)

    def begin(self) -> None:
        self.begun, self.sqlcode = True, 0
        self.tables = {table.name: [] for table in self.routine.tables}
        for table in self.routine.tables:
            if table.begins is not None:
                self.tables[table.name] = rows_of(table.begins, Env(self, self))

    def enter(self, number: int, instant: int, row: Row) -> None:
        """A tuple arrives: it is in the window before any statement runs."""
        self.arguments, self.leaving = row, None
        first = not self.begun
        self.window.append((number, instant, row))
        if first:
            self.begin()
        run(self.routine.initialize if first else self.routine.iterate, self)

    def terminate(self) -> None:
        self.leaving = None
        run(self.routine.terminate or (), self)

    def expire(self, number: int) -> None:
        """A tuple leaves: EXPIRE sees it, then it is gone; nothing if it has been deleted."""
        rows = [row for n, _, row in self.window if n == number]
        for row in rows:
            self.arguments = self.leaving = row
            run(self.routine.expire or (), self)
            self.window = [entry for entry in self.window if entry[0] != number]


@dataclass(frozen=True)
class Env:
    """What an expression may name: `live` is the instance, `seen` a copy from before the
    statement; rows by the label of their source; results of calls."""

    live: Instance
    seen: Instance
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    results: tuple[dict[str, Any], ...] = ()

    def having(self, label: int, row: dict[str, Any]) -> Env:
        return replace(self, rows={**self.rows, label: row})


def run(block, instance: Instance) -> None:
    for statement in block:
        seen = copy.copy(instance)
        part: Instance | None = seen
        while part is not None:
            part.tables = {name: list(rows) for name, rows in part.tables.items()}
            part.window = list(part.window)
            part.around = copy.copy(part.around)
            part = part.around
        env = Env(instance, seen)
        match statement:
            case Insert():
                touched = _insert(statement, env)
            case Update():
                touched = _update(statement, env)
            case Delete():
                touched = _delete(statement, env)
        instance.sqlcode = 0 if touched else 1


def _insert(statement: Insert, env: Env) -> int:
    rows = rows_of(statement.query, env)
    target = env.live.up(statement.depth)
    if statement.table == RETURN:
        target.returned += rows
    else:
        target.tables[statement.table] = target.tables[statement.table] + rows
    return len(rows)


def _meant(statement: Update | Delete, env: Env) -> list[tuple[int, Env]]:
    """The rows that fulfil the condition, by their place."""
    instance = env.seen.up(statement.depth)
    names = [name for name, _ in instance.columns(statement.table)]
    found = []
    for at, row in enumerate(instance.rows(statement.table)):
        here = env.having(statement.label, dict(zip(names, row)))
        if statement.where is None or value(statement.where, here) is True:
            found.append((at, here))
    return found


def _update(statement: Update, env: Env) -> int:
    target = env.live.up(statement.depth)
    names = [name for name, _ in target.columns(statement.table)]
    found = _meant(statement, env)
    rows = list(env.seen.up(statement.depth).rows(statement.table))
    for at, here in found:
        row = dict(zip(names, rows[at]))
        row.update({name: value(e, here) for name, e in statement.values})
        rows[at] = tuple(row.values())
    target.tables[statement.table] = rows
    return len(found)


def _delete(statement: Delete, env: Env) -> int:
    target = env.live.up(statement.depth)
    gone = {at for at, _ in _meant(statement, env)}
    if statement.table == INWINDOW:
        target.window = [entry for at, entry in enumerate(target.window) if at not in gone]
    else:
        rows = target.tables[statement.table]
        target.tables[statement.table] = [r for at, r in enumerate(rows) if at not in gone]
    return len(gone)


def rows_of(query, env: Env) -> list[Row]:
    match query:
        case Values(rows=rows, where=where):
            if where is not None and value(where, env) is not True:
                return []
            return [tuple(value(e, env) for e in row) for row in rows]
        case Combined():
            return _combined(query, env)
        case Select():
            return _selected(query, env)
    raise TypeError(query)


def _selected(query: Select, env: Env) -> list[Row]:
    envs = [e for e in _joined(query.sources, env) if _holds(query.where, e)]
    if query.keys is not None:
        envs = [e for e in _grouped(query, envs, env) if _holds(query.having, e)]
    made = []
    for here in envs:
        row = tuple(value(e, here) for _, e in query.outputs)
        made.append((row, [value(part.value, here) for part in query.order]))
    if query.distinct:
        made = [pair for at, pair in enumerate(made) if pair[0] not in [r for r, _ in made[:at]]]
    by = [(part.descending, part.nulls_first) for part in query.order]
    rows = [row for row, _ in sorted_rows(made, by)]
    return _cut(rows, query, env)


def _holds(condition, env: Env) -> bool:
    return condition is None or value(condition, env) is True


def _cut(rows: list[Row], query: Select | Combined, env: Env) -> list[Row]:
    skipped = None if query.offset is None else value(query.offset, env)
    most = None if query.limit is None else value(query.limit, env)
    rows = rows[max(skipped or 0, 0) :]
    return rows if most is None else rows[: max(most, 0)]


def _joined(sources, env: Env) -> list[Env]:
    """Every combination of rows, as the joins make them, from the first source on."""
    envs = [env]
    for at, source in enumerate(sources):
        names = [name for name, _ in source.columns]
        out, matched, right = [], set(), []
        for here in envs:
            right = [dict(zip(names, row)) for row in _source(source.of, here)]
            pairs = [(i, here.having(source.label, row)) for i, row in enumerate(right)]
            good = [(i, e) for i, e in pairs if _holds(source.on, e)]
            matched |= {i for i, _ in good}
            out += [e for _, e in good]
            if not good and source.join in ("left", "full"):
                out.append(here.having(source.label, dict.fromkeys(names)))
        if source.join in ("right", "full"):
            right = [dict(zip(names, row)) for row in _source(source.of, env)]
            for i, row in enumerate(right):
                if i not in matched:
                    here = env
                    for other in sources[:at]:
                        nothing = dict.fromkeys(name for name, _ in other.columns)
                        here = here.having(other.label, nothing)
                    out.append(here.having(source.label, row))
        envs = out
    return envs


def _source(of, env: Env) -> list[Row]:
    match of:
        case Local(name=name, depth=depth):
            return env.seen.up(depth).rows(name)
        case Stored(rows=batch):
            return [tuple(internal(v) for v in row.values()) for row in batch.to_pylist()]
        case Tabled(routine=name, arguments=arguments):
            row = tuple(value(e, env) for e in arguments)
            return called(name, [row], False, env)
    return rows_of(of, env)


def _grouped(query: Select, envs: list[Env], env: Env) -> list[Env]:
    groups: list[tuple[Row, list[Env]]] = []
    for here in envs:
        key = tuple(value(e, here) for e in query.keys or ())
        mine = next((members for known, members in groups if known == key), None)
        if mine is None:
            groups.append((key, [here]))
        else:
            mine.append(here)
    if not query.keys and not groups:
        groups = [((), [])]
    out = []
    for _, members in groups:
        answers = [_answer(call, members, env) for call in query.calls]
        for results in product(*answers):
            first = members[0] if members else env
            out.append(replace(first, results=results if query.calls else first.results))
    return out


def _answer(call, members: list[Env], env: Env) -> list[dict[str, Any]]:
    """The rows that a call gives for a group."""
    fed = [
        (
            tuple(value(e, here) for e in call.arguments),
            [value(p.value, here) for p in call.feeding],
        )
        for here in members
        if _holds(call.where, here)
    ]
    by = [(part.descending, part.nulls_first) for part in call.feeding]
    rows = [row for row, _ in sorted_rows(fed, by)]
    if call.distinct:
        rows = [row for at, row in enumerate(rows) if row not in rows[:at]]
    names = [name for name, _ in call.columns]
    if isinstance(call.function, RoutineName):
        given = called(call.function, rows, call.newest, env)
    else:
        given = [(aggregated(call.function.name, rows, call.parameter),)]
    return [dict(zip(names, row)) for row in given]


def called(name: RoutineName, rows: list[Row], newest: bool, env: Env) -> list[Row]:
    """What a new instance of a routine returns for some tuples."""
    routine = env.live.calls[name.name]
    around: Instance | None = env.live
    while around is not None and routine not in around.routine.inner:
        around = around.around
    instance = Instance(routine, env.live.calls, around)
    for number, row in enumerate(rows):
        if newest:
            instance.returned = []
        instance.enter(number, number, row)
    if rows:
        instance.terminate()
    return instance.returned


def _combined(query: Combined, env: Env) -> list[Row]:
    left, right = rows_of(query.left, env), rows_of(query.right, env)
    if query.operator == "union":
        rows = left + right
    else:
        rows, rest = [], list(right)
        for row in left:
            there = row in rest
            if there and query.all:
                rest.remove(row)
            if there == (query.operator == "intersect"):
                rows.append(row)
    if not query.all:
        rows = [row for at, row in enumerate(rows) if row not in rows[:at]]
    by = [(descending, nulls) for _, descending, nulls in query.order]
    made = [(row, [row[place] for place, _, _ in query.order]) for row in rows]
    return _cut([row for row, _ in sorted_rows(made, by)], query, env)


def value(e, env: Env) -> Any:
    """The value of an expression, by the name of its kind."""
    return _VALUES[type(e).__name__](e, env)


def _case(e, env: Env) -> Any:
    for condition, result in e.branches:
        if value(condition, env) is True:
            return value(result, env)
    return value(e.default, env)


def _argument(e, env: Env) -> Any:
    instance = env.live.up(e.depth)
    return dict(zip([name for name, _ in instance.routine.arguments], instance.arguments))[e.name]


def _oldest(e, env: Env) -> Any:
    names = [name for name, _ in env.seen.routine.inwindow]
    row = env.seen.leaving
    if row is None:
        row = env.seen.window[0][2] if env.seen.window else (None,) * len(names)
    return dict(zip(names, row))[e.name]


def _scalar(e, env: Env) -> Any:
    rows = rows_of(e.query, env)
    return rows[0][0] if rows else None


def _any(e, env: Env) -> bool | None:
    operator, every = getattr(e, "operator", "="), getattr(e, "every", False)
    a = value(e.value, env)
    found = [compared(operator, a, row[0]) for row in rows_of(e.query, env)]
    if every:
        return False if False in found else None if None in found else True
    return True if True in found else None if None in found else False


_VALUES = {
    "Literal": lambda e, env: internal(e.value),
    "Argument": _argument,
    "Field": lambda e, env: env.rows[e.label][e.name],
    "Result": lambda e, env: env.results[e.call][e.name],
    "Oldest": _oldest,
    "SqlCode": lambda e, env: env.seen.sqlcode,
    "Scalar": _scalar,
    "Exists": lambda e, env: len(rows_of(e.query, env)) > 0,
    "Among": _any,
    "Quantified": _any,
    "Call": lambda e, env: computed(e.function, e.type, [value(a, env) for a in e.arguments]),
    "Cast": lambda e, env: converted(value(e.argument, env), e.type),
    "Case": _case,
}

Answer = tuple[int, bool, Row]
"""The tuple that a row was returned for, whether it did so by leaving, and the row."""


def answers(
    routine: Routine,
    tuples: Sequence[Any],
    frame: Frame = Frame(),  # noqa: B008 (frozen)
    ending: Ending = Ending.NEVER,
    wanted: set[int] | None = None,
) -> list[Answer]:
    """What a routine returns for tuples in the order of time, each with its partition, instant and
    row; window by window, tuple at a time."""
    calls = {routine.name: routine, **routine.calls}
    instances: dict[int, Instance] = {}
    out: list[Answer] = []

    def give(at: int, leaves: bool, instance: Instance) -> None:
        if wanted is None or at in wanted:
            out.extend((at, leaves, row) for row in instance.returned)
        instance.returned = []

    for at, arrived in enumerate(tuples):
        if frame.active:
            _time_drives_out(tuples, at, frame, instances, give)
        instance = instances.setdefault(arrived.partition, Instance(routine, calls))
        number = sum(t.partition == arrived.partition for t in tuples[: at + 1])
        if not frame.active:
            for n, ts, _ in list(instance.window):
                out_of_rows = frame.rows is not None and n <= number - frame.rows
                if out_of_rows or (
                    frame.length is not None and ts + frame.length < arrived.instant
                ):
                    instance.expire(n)
            instance.returned = []
        instance.enter(number, arrived.instant, arrived.row)
        if ending is Ending.EACH or (ending is Ending.WANTED and (wanted is None or at in wanted)):
            instance.terminate()
        last = not any(t.partition == arrived.partition for t in tuples[at + 1 :])
        if ending is Ending.LAST and last:
            instance.terminate()
        give(at, False, instance)
    return out


def _time_drives_out(tuples, at: int, frame: Frame, instances, give) -> None:
    """The tuples before that are out of the window at the instant of an arrival, but were not at
    that of the arrival before."""
    now = tuples[at].instant
    before = tuples[at - 1].instant if at else now
    for i in range(at):
        gone = tuples[i].instant + frame.length + 1
        if before < gone <= now:
            mine = tuples[i].partition
            number = sum(t.partition == mine for t in tuples[: i + 1])
            instances[mine].expire(number)
            give(i, True, instances[mine])
