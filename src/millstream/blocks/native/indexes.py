"""Indexes of local tables: rows by the value of a column that statements look up by equality."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from millstream.algebra.expressions import Call, Expression, conjuncts
from millstream.blocks.layout import holds_one_row
from millstream.blocks.leaves import Field
from millstream.blocks.native.counting import counters
from millstream.blocks.native.kinds import WHOLE, Value, array_type
from millstream.blocks.native.place import Many, Single
from millstream.blocks.native.writer import Writer
from millstream.blocks.queries import Columns, Local, Select
from millstream.blocks.routine import Delete, LocalTable, Routine, Update
from millstream.blocks.walking import parts_of


def table_of(
    routine: Routine, table: LocalTable, name: str, nullable: set[tuple[str, int]]
) -> Single | Many:
    """A table of a routine as a program holds it."""
    if holds_one_row(routine, table.name):
        return Single(name, table.columns, nullable, counters(routine, table))
    key = key_of(routine, table)
    forgets = key is not None and any(
        isinstance(s, Delete) and s.table == table.name for s in routine.statements()
    )
    return Many(name, table.columns, nullable, counters(routine, table), key=key, forgets=forgets)


def key_of(routine: Routine, table: LocalTable) -> int | None:
    """The column to find rows by: one that conditions fix, and that no statement sets.

    One that the author wants indexed comes first, then the one that is looked up most.
    """
    names = [name for name, _ in table.columns]
    times = [0] * len(names)
    for statement in routine.statements():
        for part in parts_of(statement):
            for condition, label in _conditions(part, table.name):
                column = _fixed(condition, label)
                if column is not None and column[0] in names:
                    times[names.index(column[0])] += 1
        if isinstance(statement, Update) and statement.table == table.name:
            for name, _ in statement.values:
                times[names.index(name)] = -1_000_000
    for columns in table.indexes:
        for name in columns:
            times[names.index(name)] += 1_000
    for j, (_, kind) in enumerate(table.columns):
        if array_type(kind) != WHOLE:
            times[j] = 0
    most = max(times)
    return times.index(most) if most % 1_000 > 0 else None


def _conditions(part: object, table: str) -> Iterator[tuple[Expression, int]]:
    """The conditions under which rows of a table are looked at, with their label."""
    if isinstance(part, (Update, Delete)) and part.table == table and part.where is not None:
        yield from ((condition, part.label) for condition in conjuncts(part.where))
    if isinstance(part, Select) and part.where is not None:
        for source in part.sources:
            if isinstance(source.of, Local) and source.of.name == table:
                yield from ((condition, source.label) for condition in conjuncts(part.where))


def _fixed(condition: Expression, label: int) -> tuple[str, Expression] | None:
    """The column of a source that a condition fixes, and the value that it is to have."""
    match condition:
        case Call(function="=", arguments=(Field(label=at, name=name, type=kind), other)) if (
            at == label
        ):
            pass
        case Call(function="=", arguments=(other, Field(label=at, name=name, type=kind))) if (
            at == label
        ):
            pass
        case _:
            return None
    own = any(isinstance(p, Field) and p.label == label for p in parts_of(other))
    return None if own or other.type != kind else (name, other)


def fixes_key(
    table: Many, columns: Columns, label: int, conditions: Sequence[Expression]
) -> tuple[Expression, Expression] | None:
    """The condition that fixes the key of a table, and the value that the key is to have."""
    if table.key is None:
        return None
    for condition in conditions:
        found = _fixed(condition, label)
        if found is not None and found[0] == columns[table.key][0]:
            return condition, found[1]
    return None


@contextmanager
def all_rows(w: Writer, table: Many, end: str | None = None) -> Iterator[str]:
    """A loop over the rows of a table; gives the name of the row."""
    t, at = table.name, w.name("i")
    first = "0" if table.stored else f"{t}_b"
    with w.block(f"for {at} in range({first}, {end or t + '_n'})"):
        if table.forgets:
            w.line(f"if not {t}_a[{at}]:")
            w.line("    continue")
        yield at


@contextmanager
def rows_of_key(
    w: Writer, table: Many, key: Value, end: str | None = None
) -> Iterator[tuple[str, tuple[str, str]]]:
    """A loop over the rows of a key, in the order of insertion; gives the names of the row, of the
    slot of the key, and of the row before."""
    t = table.name
    slot, before, at, after = w.name(), w.name("i"), w.name("i"), w.name("i")
    value = w.named(key.code)
    w.line(f"{slot} = slot_of({value}, {t}_bits) & {t}_mask")
    with w.block(f"while {t}_h[{slot} + 1] != -1 and {t}_h[{slot}] != {value}"):
        w.line(f"{slot} = ({slot} + step_of({value})) & {t}_mask")
    w.line(f"{before} = -1")
    first = f"{t}_h[{slot} + 1]"
    w.line(f"{after} = {first}" + (f" if {key.valid} else -1" if key.valid is not None else ""))
    with w.block(f"while {after} >= 0" if end is None else f"while 0 <= {after} < {end}"):
        w.line(f"{at} = {after}")
        w.line(f"{after} = {t}_y[{at}]")
        yield at, (slot, before)


def keep_before(w: Writer, names: tuple[str, str], at: str, gone: str) -> None:
    """At the end of a loop over the rows of a key: this row comes before the next, if it stays."""
    w.line(f"{names[1]} = {names[1]} if {gone} else {at}")


def _masks(table: Many) -> tuple[str, str]:
    assert table.key is not None
    return table.valid(table.key) or "none", f"{table.name}_a" if table.forgets else "none"


def index_anew(w: Writer, table: Many, size: str = "16", last: str | None = None) -> None:
    """Make an index of the rows of a table."""
    if table.key is None:
        return
    t = table.name
    valid, alive = _masks(table)
    w.line(
        f"{t}_h, {t}_e, {t}_used, {t}_bits, {t}_mask = indexed("
        f"{t}_c{table.key}, {valid}, {alive}, {t}_y, {t}_b, {last or t + '_n'}, {size})"
    )


def index_again(w: Writer, table: Many) -> None:
    """Index the rows of a table in the place of those that the index has."""
    if table.key is None:
        return
    t = table.name
    valid, alive = _masks(table)
    w.line(
        f"{t}_used = refilled({t}_h, {t}_e, "
        f"{t}_c{table.key}, {valid}, {alive}, {t}_y, {t}_b, {t}_n, {t}_bits)"
    )


def index_row(w: Writer, table: Many, key: Value, loose: bool) -> None:
    """Put the row that lies at the end into the index, for which there is room if not `loose`."""
    t = table.name
    if table.forgets:
        w.line(f"{t}_a[{t}_n] = True")
    if table.key is None:
        return
    own = f"{t}_c{table.key}[{t}_n]"
    with w.when(key.valid or "True"):
        w.line(f"{t}_used += link({t}_h, {t}_e, {t}_y, {t}_bits, {own}, {t}_n)")
        if loose:
            with w.block(f"if 2 * {t}_used > len({t}_e)"):
                index_anew(w, table, f"2 * len({t}_e)", f"{t}_n + 1")


def forget(w: Writer, table: Many, at: str, names: tuple[str, str]) -> None:
    """Delete a row that was found by its key."""
    t = table.name
    w.line(f"unlink({t}_h, {t}_e, {t}_y, {names[0]}, {names[1]}, {at})")
    w.line(f"{t}_a[{at}] = False")
    w.line(f"{t}_dead += 1")


def close_up(w: Writer, table: Many, condition: str, anew: bool = True) -> None:
    """Move rows together where many have been deleted."""
    if not table.forgets:
        return
    t = table.name
    with w.block(f"if {condition}"):
        stay, at = w.name(), w.name("i")
        w.line(f"{stay} = {t}_b")
        with w.block(f"for {at} in range({t}_b, {t}_n)"), w.block(f"if {t}_a[{at}]"):
            for name, _ in table.arrays:
                w.line(f"{name}[{stay}] = {name}[{at}]")
            w.line(f"{stay} += 1")
        w.line(f"{t}_n = {stay}")
        w.line(f"{t}_dead = 0")
        if anew:
            index_again(w, table)
