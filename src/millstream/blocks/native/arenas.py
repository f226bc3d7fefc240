"""Rows of a table in its arrays: room for one more, and its values."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.blocks.native.indexes import index_anew
from millstream.blocks.native.kinds import Value
from millstream.blocks.native.place import Many, Program
from millstream.blocks.native.writer import Writer


def room_for(program: Program, tables: Sequence[Many]) -> list[str]:
    """How many events can be taken, as far as tables have room for the rows that these put in.

    So arrays are only replaced between events, and looked at once for many: where they may be
    replaced amid the statements, each of those would take longer.
    """
    found = []
    for table in tables:
        if rows := program.room.get(table.name):
            t = table.name
            found.append(f"(len({table.arrays[0][0]}) - {t}_n) // {rows}")
            if table.key is not None:
                found.append(f"(len({t}_e) // 2 - {t}_used) // {rows}")
    return found


def make_room(w: Writer, table: Many, rows: int) -> None:
    """Make room for some rows: where more than half of the rows have left, the others move to the
    front; otherwise the arrays grow."""
    t = table.name
    with w.block(f"if {t}_n + {rows} > len({table.arrays[0][0]})"):
        if table.key is not None:
            grow(w, table)
        else:
            with w.block(f"if 2 * ({t}_b - {t}_s) > {t}_n - {t}_s + {2 * rows}"):
                at = w.name("i")
                with w.block(f"for {at} in range({t}_n - {t}_b)"):
                    for name, _ in table.arrays:
                        w.line(f"{name}[{t}_s + {at}] = {name}[{t}_b + {at}]")
                w.line(f"{t}_n -= {t}_b - {t}_s")
                w.line(f"{t}_b = {t}_s")
            with w.block("else"):
                grow(w, table)
    if table.key is not None:
        with w.block(f"if 2 * ({t}_used + {rows}) > len({t}_e)"):
            index_anew(w, table, f"2 * len({t}_e)")


def grow(w: Writer, table: Many) -> None:
    for name, _ in table.arrays:
        w.line(f"{name} = grown({name}, 2 * len({name}))")


def put(w: Writer, table: Many, at: str, row: Sequence[Value]) -> None:
    for mine, value in zip(table.row(at), row):
        w.line(f"{mine.code} = {value.code}")
        if mine.valid is not None:
            w.line(f"{mine.valid} = {value.valid or 'True'}")
