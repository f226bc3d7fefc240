"""Statements as code: a statement sees the tables as they were before it began."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass, replace
from functools import partial

from millstream.algebra.expressions import Expression, conjuncts
from millstream.blocks.foreign import Foreign
from millstream.blocks.leaves import Field
from millstream.blocks.native.arenas import grow, put
from millstream.blocks.native.expressions import value_of
from millstream.blocks.native.indexes import (
    all_rows,
    close_up,
    fixes_key,
    forget,
    index_again,
    index_row,
    keep_before,
    rows_of_key,
)
from millstream.blocks.native.kinds import NotNative, Reason, Value
from millstream.blocks.native.place import Many, Place, Single, may_be_null
from millstream.blocks.native.repeated import repeated
from millstream.blocks.native.selects import answered, where, write_query
from millstream.blocks.native.writer import Writer
from millstream.blocks.queries import Local, Query, RoutineName
from millstream.blocks.routine import (
    RETURN,
    Block,
    Delete,
    Insert,
    Statement,
    Update,
)
from millstream.blocks.walking import parts_of


class Refused(Exception):
    """A statement has no native form."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.reason = reason


def write_block(place: Place, block: Block, label: str) -> None:
    with suppress(NotNative):  # which the statement tells of
        place = place.knowing({e: place.w.fixed(value_of(place, e)) for e in repeated(block)})
    for number, statement in enumerate(block, 1):
        try:
            place.w.line(f"# {label} {number}: {_words(place, statement)}")
            write_statement(place, statement)
        except NotNative as error:
            raise Refused(Reason(str(statement), str(error))) from None


def _words(place: Place, statement: Statement) -> str:
    """What a statement does, in generated names."""
    if isinstance(statement, Foreign):
        raise NotNative("it is written in Python")
    what = type(statement).__name__.lower()
    if isinstance(statement, Insert) and statement.table == RETURN and not statement.depth:
        return "insert into return"
    return f"{what} {place.table(statement.table, statement.depth).name}"


def write_begins(place: Place) -> None:
    """Empty tables, and the rows that they begin with."""
    for table in place.scope.routine.tables:
        if table.begins is None:
            continue
        target = place.table(table.name)
        place.w.line(f"# {target.name} begins")
        try:
            write_query(place, table.begins, partial(_put_into, target))
        except NotNative as error:
            raise Refused(Reason(str(table), str(error))) from None


def _put_into(table: Single | Many, place: Place, row: Sequence[Value]) -> None:
    _append(place, table, row)


def write_statement(place: Place, statement: Statement) -> None:
    w, code = place.w, place.scope.sqlcode
    if isinstance(statement, Foreign):
        raise NotNative("it is written in Python")
    if statement.depth:
        raise NotNative("a change of a table of the definition around has no native form")
    touched = None
    if code is not None:
        touched = w.name()
        w.line(f"{touched} = 1")
    match statement:
        case Insert():
            _insert(place, statement, touched)
        case Update():
            _update(place, statement, touched)
        case Delete():
            _delete(place, statement, touched)
    if code is not None:
        w.line(f"{code} = {touched}")


def _touch(w: Writer, touched: str | None) -> None:
    if touched is not None:
        w.line(f"{touched} = 0")


def _insert(place: Place, statement: Insert, touched: str | None) -> None:
    w = place.w
    if statement.table == RETURN:

        def give(at: Place, row: Sequence[Value]) -> None:
            place.scope.give(at, row)
            _touch(w, touched)

        write_query(place, statement.query, give)
        return
    table = place.table(statement.table)
    if isinstance(table, Many) and _reads(place, statement.query, statement.table):
        end = w.name()
        w.line(f"{end} = {table.name}_n")
        place = replace(place, ends={**place.ends, table.name: end})

    def append(at: Place, row: Sequence[Value]) -> None:
        _append(at, table, row)
        _touch(w, touched)

    write_query(place, statement.query, append)


def _append(place: Place, table: Single | Many, row: Sequence[Value]) -> None:
    w = place.w
    for j, value in enumerate(row):
        may_be_null(place, table.name, j, value)
    if isinstance(table, Single):
        row = [w.fixed(value) for value in row]
        for mine, value in zip(table.row(), row):
            w.line(f"{mine.code} = {value.code}")
            if mine.valid is not None:
                w.line(f"{mine.valid} = {value.valid or 'True'}")
        w.line(f"{table.name} = True")
        return
    loose = counts_on_room(place, table) is None
    if loose:
        with w.block(f"if {table.name}_n == len({table.arrays[0][0]})"):
            grow(w, table)
    put(w, table, f"{table.name}_n", row)
    index_row(w, table, row[table.key or 0], loose)
    w.line(f"{table.name}_n += 1")


def counts_on_room(place: Place, table: Many) -> int | None:
    """Note that a row is put in; how many an event puts in, None if there is no telling."""
    program = place.program
    program.puts[table.name] += 1
    if place.w.loops > program.loops or program.calling:
        program.room[table.name] = None
    return program.room.get(table.name, 0)


def _reads(place: Place, tree: object, name: str) -> bool:
    """Whether a query reads a table of the routine, or calls a routine that might."""
    for part in parts_of(tree):
        if isinstance(part, Local) and part.name == name and not part.depth:
            return True
        if isinstance(part, RoutineName):
            return True
    return False


def _update(place: Place, statement: Update, touched: str | None) -> None:
    w, table = place.w, place.table(statement.table)
    names = [name for name, _ in table.columns]
    changed = [names.index(name) for name, _ in statement.values]
    expressions = [value for _, value in statement.values]

    def compute(inside: Place) -> list[Value]:
        row = [w.fixed(value_of(inside, e)) for e in expressions]
        for j, value in zip(changed, row):
            may_be_null(inside, table.name, j, value)
        return row

    def change(row: list[Value], mine: list[Value]) -> None:
        for j, value in zip(changed, row):
            w.line(f"{mine[j].code} = {value.code}")
            if (valid := mine[j].valid) is not None:
                w.line(f"{valid} = {value.valid or 'True'}")
        _touch(w, touched)

    if isinstance(table, Single):
        with w.block(f"if {table.name}"):
            inside = place.with_row(statement.label, table.columns, table.row())
            with where(inside, _conditions(statement)) as met:
                change(compute(met), table.row())
        return
    outer, inner = _split(statement)
    with where(place, outer) as here:
        here = here.knowing(answered(here, (statement.where, *expressions), {statement.label}))
        if not _left_open(here, (*inner, *expressions), statement):
            with (
                rows_to_change(here, table, statement.label, inner) as (inside, at, rest, _),
                where(inside, rest) as met,
            ):
                change(compute(met), table.row(at))
            return
        _update_later(here, statement, table, inner, compute, change)


def _update_later(place, statement, table, inner, compute, change):  # type: ignore[no-untyped-def]
    """An UPDATE that looks at other rows of its table: all is computed before it is changed."""
    w = place.w
    scratch = w.name("t")
    kinds = dict(table.columns)
    columns = tuple((name, kinds[name]) for name, _ in statement.values)
    store = Many(scratch + "n", columns, {(scratch + "n", j) for j in range(len(columns))})
    chosen = w.name()
    size = f"{table.name}_n - {table.name}_b + 1"
    w.line(f"{chosen} = np.zeros({size}, np.bool_)")
    for line in store.allocate(size):
        w.line(line)
    with all_rows(w, table) as at:
        inside = place.with_row(statement.label, table.columns, table.row(at))
        with where(inside, inner) as met:
            row = compute(met)
            w.line(f"{chosen}[{at} - {table.name}_b] = True")
            put(w, store, f"{at} - {table.name}_b", row)
    with all_rows(w, table) as at:
        w.line(f"if not {chosen}[{at} - {table.name}_b]:")
        w.line("    continue")
        change(store.row(f"{at} - {table.name}_b"), table.row(at))


def _delete(place: Place, statement: Delete, touched: str | None) -> None:
    w, table = place.w, place.table(statement.table)
    if isinstance(table, Single):
        with w.block(f"if {table.name}"):
            inside = place.with_row(statement.label, table.columns, table.row())
            with where(inside, _conditions(statement)):
                table.clear(w)
                _touch(w, touched)
        return
    outer, inner = _split(statement)
    with where(place, outer) as here:
        if not inner:
            _delete_all(w, table, touched)
            return
        here = here.knowing(answered(here, tuple(inner), {statement.label}))
        if _left_open(here, tuple(inner), statement):
            _delete_later(here, statement, table, inner, touched)
        elif fixes_key(table, table.columns, statement.label, inner):
            _delete_found(here, statement, table, inner, touched)
        else:
            with keeping(w, table) as (at, drop):
                inside = here.with_row(statement.label, table.columns, table.row(at))
                with where(inside, inner):
                    w.line(f"{drop} = True")
                    _touch(w, touched)


def _delete_all(w: Writer, table: Many, touched: str | None) -> None:
    t = table.name
    if touched is not None:
        there = f"{t}_n - {t}_dead" if table.forgets else f"{t}_n"
        w.line(f"{touched} = 0 if {t}_b < {there} else 1")
    w.line(f"{t}_b = {t}_n")
    if table.forgets:
        w.line(f"{t}_dead = 0")
    if table.key is not None:
        w.line(f"{t}_b = {t}_n = {t}_s")
        index_again(w, table)


def _delete_later(
    place: Place, statement: Delete, table: Many, inner: list[Expression], touched: str | None
) -> None:
    """A DELETE that looks at other rows of its table: it is known of all rows before one goes."""
    w, t = place.w, table.name
    gone = w.name()
    w.line(f"{gone} = np.zeros({t}_n - {t}_b + 1, np.bool_)")
    with all_rows(w, table) as at:
        inside = place.with_row(statement.label, table.columns, table.row(at))
        with where(inside, inner):
            w.line(f"{gone}[{at} - {t}_b] = True")
    with keeping(w, table) as (at, drop):
        w.line(f"{drop} = {gone}[{at} - {t}_b]")
        if touched is not None:
            w.line(f"{touched} = 0 if {drop} else {touched}")


def _delete_found(
    place: Place, statement: Delete, table: Many, inner: list[Expression], touched: str | None
) -> None:
    """A DELETE of rows that are found by their key."""
    w, t = place.w, table.name
    with rows_to_change(place, table, statement.label, inner) as (inside, at, rest, names):
        gone = w.name()
        w.line(f"{gone} = False")
        with where(inside, rest):
            w.line(f"{gone} = True")
            forget(w, table, at, names)
            _touch(w, touched)
        keep_before(w, names, at, gone)
    close_up(w, table, f"2 * {t}_dead > {t}_n - {t}_b + 32")


@contextmanager
def rows_to_change(
    place: Place, table: Many, label: int, conditions: list[Expression]
) -> Iterator[tuple[Place, str, list[Expression], tuple[str, str]]]:
    """A loop over the rows that may meet conditions: the place inside, the name of the row, the
    conditions that are left, and the names that `rows_of_key` gives."""
    found = fixes_key(table, table.columns, label, conditions)
    if found is None:
        with all_rows(place.w, table) as at:
            inside = place.with_row(label, table.columns, table.row(at))
            yield inside, at, conditions, ("", "")
        return
    condition, other = found
    with rows_of_key(place.w, table, value_of(place, other)) as (at, names):
        inside = place.with_row(label, table.columns, table.row(at))
        yield inside, at, [c for c in conditions if c is not condition], names


@contextmanager
def keeping(w: Writer, table: Many) -> Iterator[tuple[str, str]]:
    """A loop over rows, of which those stay that it does not drop; they keep their order. Gives
    the names of the row, and of whether it is dropped."""
    t, stay, drop = table.name, w.name(), w.name()
    w.line(f"{stay} = {t}_b")
    with all_rows(w, table) as at:
        w.line(f"{drop} = False")
        yield at, drop
        with w.block(f"if not {drop}"):
            with w.block(f"if {stay} != {at}"):
                for name, _ in table.arrays:
                    w.line(f"{name}[{stay}] = {name}[{at}]")
            w.line(f"{stay} += 1")
    w.line(f"{t}_n = {stay}")
    if table.forgets:
        w.line(f"{t}_dead = 0")
    index_again(w, table)


def _conditions(statement: Update | Delete) -> list[Expression]:
    return conjuncts(statement.where) if statement.where is not None else []


def _split(statement: Update | Delete) -> tuple[list[Expression], list[Expression]]:
    """The conditions that do not look at the row, which can be tested before, and the others."""
    outer: list[Expression] = []
    inner: list[Expression] = []
    for condition in _conditions(statement):
        parts = list(parts_of(condition))
        looks = any(isinstance(p, Field) and p.label == statement.label for p in parts)
        (inner if looks or any(isinstance(p, Query) for p in parts) else outer).append(condition)
    return outer, inner


def _left_open(place: Place, tree: Sequence[object], statement: Update | Delete) -> bool:
    """Whether a subquery that is not answered yet reads the table that is changed."""
    stack = list(tree)
    while stack:
        part = stack.pop()
        if isinstance(part, Expression) and part in place.known:
            continue
        if isinstance(part, Query) and _reads(place, part, statement.table):
            return True
        stack += _children(part)
    return False


def _children(part: object) -> list[object]:
    if isinstance(part, tuple):
        return list(part)
    return [getattr(part, f.name) for f in fields(part)] if is_dataclass(part) else []  # type: ignore[arg-type]
