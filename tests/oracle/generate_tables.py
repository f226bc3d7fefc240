"""Random tables that change: by a file of changes, or by statements."""

from dataclasses import replace
from random import Random

from .generate_expressions import WORDS, column, condition, number
from .generate_rows import Ground, ground_row, seconds_after, table_columns
from .spec import (
    Bin,
    Change,
    Columns,
    Delete,
    Expr,
    Insert,
    Lit,
    Row,
    TableSpec,
    Update,
)

SPELLINGS = {
    "+": ("insert", "+", "c", "r", "I"),
    "u": ("update", "u", "U"),
    "-": ("delete", "-", "d", "D"),
}


def changing_table(rng: Random, name: str, ground: Ground) -> TableSpec:
    """A table of a few changes, in the time of the streams."""
    columns = table_columns(rng, name)
    key = (columns[0][0],) if rng.random() < 0.6 else ()
    if key and len(columns) > 2 and rng.random() < 0.2:
        key = (columns[0][0], columns[2][0])
    table = TableSpec(name, columns, key=key, domain=ground.domain)
    if rng.random() < 0.35:
        return replace(table, feed="statements", statements=random_statements(rng, table, ground))
    return replace(table, feed="changes", changes=random_changes(rng, table, ground))


def times_of(rng: Random, ground: Ground, count: int) -> list[int]:
    """In order, with ties."""
    now, times = ground.start + rng.choice((-1, 0, 0, 1, 2)), []
    for _ in range(count):
        now += rng.choice((0, 0, 1, 1, 2, 3))
        times.append(now)
    return times


def table_row(rng: Random, table: TableSpec, ground: Ground) -> Row:
    """Keys are not NULL."""
    row = ground_row(rng, ground, table.columns)
    return tuple(
        rng.choice(ground.pools[type_]) if name in table.key else cell
        for (name, type_), cell in zip(table.columns, row)
    )


def random_changes(rng: Random, table: TableSpec, ground: Ground) -> tuple[Change, ...]:
    """Mostly insertions; deletions mostly of rows that are there; few are late."""
    changes: list[Change] = []
    rows: list[Row] = []
    late_share = rng.choice((0, 0, 0.12))
    for time in times_of(rng, ground, rng.choice((1, 3, 5, 7, 8))):
        ops = ("+", "+", "u", "-") if table.key else ("+", "+", "-")
        op, row = rng.choice(ops), table_row(rng, table, ground)
        if op == "-" and rows and rng.random() < 0.85:
            row = rng.choice(rows)
        if changes and rng.random() < late_share:
            time -= rng.randint(1, 3)
        rows.append(row)
        ts = seconds_after(time, 0) if ground.domain == "timestamp" else time
        changes.append(Change(rng.choice(SPELLINGS[op]), ts, row))
    return tuple(changes)


def random_statements(
    rng: Random, table: TableSpec, ground: Ground
) -> tuple[Insert | Update | Delete, ...]:
    """INSERT first; then also UPDATE and DELETE with conditions."""
    statements: list[Insert | Update | Delete] = []
    free = tuple(c for c in table.columns if c[0] not in table.key)
    for time in times_of(rng, ground, rng.choice((1, 2, 3, 4, 5))):
        at = seconds_after(time, 0) if ground.domain == "timestamp" else time
        kind = rng.choice(("insert", "insert", "update", "delete")) if statements else "insert"
        where = None if rng.random() < 0.15 else condition(rng, table.columns, 0)
        if kind == "insert":
            count = rng.choice((1, 1, 2, 3))
            rows = tuple(table_row(rng, table, ground) for _ in range(count))
            statements.append(Insert(at, rows))
        elif kind == "update" and free:
            name, type_ = rng.choice(free)
            new = new_value(rng, table.columns, type_)
            statements.append(Update(at, ((name, new),), where))
        else:
            statements.append(Delete(at, where))
    return tuple(statements)


def new_value(rng: Random, columns: Columns, type_: str) -> Expr:
    """A value for a column: a constant, or one made from the old row."""
    if type_ == "string":
        return rng.choice((Lit(rng.choice(WORDS)), Lit(None)))
    if type_ == "double":
        return number(rng, tuple(c for c in columns if c[1] == "double"), 1)
    old = column(rng, columns, "int", "bigint")
    return rng.choice((Lit(rng.choice((0, 1, 2))), Bin("+", old, Lit(1)) if old else Lit(1)))
