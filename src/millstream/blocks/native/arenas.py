"""Rows of a table in its arrays: room for one more, and its values."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.blocks.native.kinds import Value
from millstream.blocks.native.place import Many
from millstream.blocks.native.writer import Writer


def make_room(w: Writer, table: Many, may_shift: bool = True) -> None:
    """Make sure that there is room for a row: where more than half of the rows have left, the
    others move to the front; otherwise the arrays grow."""
    t = table.name
    first = table.arrays[0][0]
    with w.block(f"if {t}_n == len({first})"):
        grow = [f"{name} = grown({name}, 2 * len({name}))" for name, _ in table.arrays]
        if not may_shift:
            for line in grow:
                w.line(line)
            return
        with w.block(f"if 2 * ({t}_b - {t}_s) > {t}_n - {t}_s"):
            at = w.name("i")
            with w.block(f"for {at} in range({t}_n - {t}_b)"):
                for name, _ in table.arrays:
                    w.line(f"{name}[{t}_s + {at}] = {name}[{t}_b + {at}]")
            w.line(f"{t}_n -= {t}_b - {t}_s")
            w.line(f"{t}_b = {t}_s")
        with w.block("else"):
            for line in grow:
                w.line(line)


def put(w: Writer, table: Many, at: str, row: Sequence[Value]) -> None:
    for mine, value in zip(table.row(at), row):
        w.line(f"{mine.code} = {value.code}")
        if mine.valid is not None:
            w.line(f"{mine.valid} = {value.valid or 'True'}")
