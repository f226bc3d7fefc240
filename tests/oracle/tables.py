"""Tables that change: their rows at every instant, from what fed them."""

from dataclasses import dataclass

from .facts import Fact, Timeline
from .spec import Change, Delete, Insert, Row, TableSpec, Update, instant_of
from .values import Env, value_of

OPS = {
    **dict.fromkeys(("insert", "+", "c", "r", "I"), "+"),
    **dict.fromkeys(("update", "u", "U"), "u"),
    **dict.fromkeys(("delete", "-", "d", "D"), "-"),
}


@dataclass(frozen=True)
class History:
    """What became of a table: its facts over time, the instants of its changes, the late ones."""

    timeline: Timeline
    instants: tuple[int, ...]
    late: tuple[Row, ...]


def history_of(table: TableSpec) -> History:
    """Changes in the order of arrival; one below the largest timestamp before it is late.

    A row of the table is its values and the number of the copy: a change that puts an equal row
    in its place lets nothing enter or leave.
    """
    rows: list[Row] = []
    late: list[Row] = []
    states: dict[int, list[Row]] = {}
    for step in (*table.changes, *table.statements):
        at = instant_of(step.ts if isinstance(step, Change) else step.at)
        if states and at < max(states):
            late += [step.row] if isinstance(step, Change) else []
            continue
        rows = applied(table, rows, step)
        states[at] = rows
    moments = tuple((at, table_facts(table, held)) for at, held in states.items())
    return History(Timeline(moments), tuple(states), tuple(late))


def table_facts(table: TableSpec, rows: list[Row]) -> list[Fact]:
    """A table that meets only later tuples never changes for those it has met."""
    order = None if table.retroactive else ()
    seen: dict[Row, int] = {}
    facts = []
    for row in rows:
        seen[row] = seen.get(row, 0) + 1
        facts.append(Fact((row, seen[row]), None, order, row))
    return facts


def applied(
    table: TableSpec, rows: list[Row], step: Change | Insert | Update | Delete
) -> list[Row]:
    """The rows after one change or statement."""
    match step:
        case Change(op, _, row):
            return removed(table, rows, row) if OPS[op] == "-" else added(table, rows, row)
        case Insert(_, new):
            for row in new:
                rows = added(table, rows, row)
            return rows
        case Delete(_, where):
            return [row for row in rows if not holds(table, where, row)]
        case Update(_, assignments, where):
            changes = dict(assignments)
            return [
                updated(table, changes, row) if holds(table, where, row) else row for row in rows
            ]
    raise TypeError(step)


def added(table: TableSpec, rows: list[Row], row: Row) -> list[Row]:
    """With a key, in the place of the row that has it."""
    if not table.key:
        return [*rows, row]
    return [*(r for r in rows if key_in(table, r) != key_in(table, row)), row]


def removed(table: TableSpec, rows: list[Row], row: Row) -> list[Row]:
    """The row of that key; without a key, one that is equal."""
    if table.key:
        return [r for r in rows if key_in(table, r) != key_in(table, row)]
    place = rows.index(row) if row in rows else len(rows)
    return rows[:place] + rows[place + 1 :]


def key_in(table: TableSpec, row: Row) -> Row:
    return tuple(cell for (name, _), cell in zip(table.columns, row) if name in table.key)


def holds(table: TableSpec, where: object, row: Row) -> bool:
    return where is None or value_of(where, names_in(table, row)) is True


def updated(table: TableSpec, changes: dict, row: Row) -> Row:
    """All new values are computed from the old row."""
    env = names_in(table, row)
    return tuple(
        in_type(type_, value_of(changes[name], env)) if name in changes else cell
        for (name, type_), cell in zip(table.columns, row)
    )


def in_type(type_: str, value: object) -> object:
    return float(value) if type_ == "double" and isinstance(value, int) else value


def names_in(table: TableSpec, row: Row) -> Env:
    return Env(dict(zip((name for name, _ in table.columns), row)))
