"""Statements as closures: what they change is computed before anything changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from millstream.algebra.expressions import Expression, conjuncts
from millstream.blocks.foreign import Foreign
from millstream.blocks.general.joins import sought
from millstream.blocks.general.python.methods import method
from millstream.blocks.general.scope import (
    LIVE,
    PARENT,
    RETURNED,
    SQLCODE,
    Code,
    Frame,
    Place,
    Places,
    Scope,
    Shape,
    Ways,
    frame_at,
)
from millstream.blocks.general.table import Table
from millstream.blocks.general.values import Row
from millstream.blocks.routine import RETURN, Block, Delete, Insert, Statement, Update

Run = Callable[[Frame], None]


def block(statements: Block, shape: Shape, ways: Ways, expiring: bool = False) -> tuple[Run, ...]:
    """The statements of a block, each over the same places behind the tables."""
    return tuple(_statement(s, shape, ways, expiring) for s in statements)


def _statement(statement: Statement, shape: Shape, ways: Ways, expiring: bool) -> Run:
    scope = Scope(shape, ways, Places(shape.base), expiring)
    shape.size = max(shape.size, shape.base)
    match statement:
        case Insert():
            run = _insert(statement, scope)
        case Update():
            run = _update(statement, scope)
        case Delete():
            run = _delete(statement, scope)
        case Foreign():
            return method(statement, shape)
    run = _fresh(run, tuple(scope.places.answers))
    return _on_a_copy(run) if shape.library.writes(statement) else run


def _fresh(run: Run, answers: tuple[int, ...]) -> Run:
    """The statement without what was kept when it ran before."""
    if not answers:
        return run

    def cleared(f: Frame) -> None:
        for slot in answers:
            f[slot] = None
        run(f)

    return cleared


def _on_a_copy(run: Run) -> Run:
    """A statement that calls what changes tables: it sees them as they were before it began."""
    return lambda f: run(frozen(f))


def frozen(frame: Frame) -> Frame:
    """A copy of a frame with copies of its tables."""
    copy: Frame = [part.frozen() if isinstance(part, Table) else part for part in frame]
    copy[PARENT] = None if frame[PARENT] is None else frozen(frame[PARENT])
    return copy


def _live(depth: int) -> Callable[[Frame], Frame]:
    around = frame_at(depth)
    return lambda f: around(f[LIVE])


def _insert(statement: Insert, scope: Scope) -> Run:
    every = scope.query(statement.query).all
    to_frame = _live(statement.depth)
    if statement.table == RETURN:

        def give(f: Frame) -> None:
            rows = every(f)
            to_frame(f)[RETURNED].extend(rows)
            f[LIVE][SQLCODE] = 0 if rows else 1

        return give
    slot = scope.shape.up(statement.depth).tables[statement.table].slot

    def insert(f: Frame) -> None:
        rows = every(f)
        to_frame(f)[slot].insert(rows)
        f[LIVE][SQLCODE] = 0 if rows else 1

    return insert


Find = Callable[[Frame], Iterable[tuple[int, Row]]]


def _target(statement: Update | Delete, scope: Scope) -> tuple[Place, Find, Code | None]:
    """The place of a row, the numbered rows that may be meant, and the condition they must meet."""
    table = scope.shape.up(statement.depth).tables[statement.table]
    place = scope.row(statement.label, table.columns)
    around, slot = frame_at(statement.depth), table.slot
    condition = None if statement.where is None else scope.code(statement.where)
    for part in [] if statement.where is None else conjuncts(statement.where):
        if (key := sought(part, statement.label)) is not None:
            return place, _found(around, slot, place.index(key[0]), scope.code(key[1])), condition
    if statement.depth == 0:
        return place, lambda f: f[slot].rows.items(), condition
    return place, lambda f: around(f)[slot].rows.items(), condition


def _found(around: Callable[[Frame], Frame], slot: int, index: int, value: Code) -> Find:
    return lambda f: around(f)[slot].find(index, value(f))


def _update(statement: Update, scope: Scope) -> Run:
    place, find, condition = _target(statement, scope)
    slot, table, to_frame = place.slot, _table(statement, scope), _live(statement.depth)
    change = _changed(statement.values, place, scope)

    def update(f: Frame) -> None:
        changes = []
        for at, row in find(f):
            f[slot] = row
            if condition is None or condition(f):
                changes.append((at, change(f)))
        to_frame(f)[table].update(changes)
        f[LIVE][SQLCODE] = 0 if changes else 1

    return update


def _changed(values: tuple[tuple[str, Expression], ...], place: Place, scope: Scope) -> Code:
    """The new row in place of an old one."""
    codes = {place.index(name): scope.code(value) for name, value in values}
    slot, width = place.slot, len(place.columns)
    if len(codes) == width:
        every = [codes[index] for index in range(width)]
        if width == 2:
            first, second = every
            return lambda f: (first(f), second(f))
        return lambda f: tuple([code(f) for code in every])
    parts = list(codes.items())

    def change(f: Frame) -> Row:
        row = list(f[slot])
        for index, code in parts:
            row[index] = code(f)
        return tuple(row)

    return change


def _delete(statement: Delete, scope: Scope) -> Run:
    place, find, condition = _target(statement, scope)
    slot, table, to_frame = place.slot, _table(statement, scope), _live(statement.depth)

    def delete(f: Frame) -> None:
        gone = []
        for at, row in find(f):
            f[slot] = row
            if condition is None or condition(f):
                gone.append(at)
        to_frame(f)[table].delete(gone)
        f[LIVE][SQLCODE] = 0 if gone else 1

    return delete


def _table(statement: Update | Delete, scope: Scope) -> int:
    return scope.shape.up(statement.depth).tables[statement.table].slot
