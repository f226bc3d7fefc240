"""Rows that are put in order: they are kept in arrays, and merged in an order of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from millstream.algebra.expressions import Expression
from millstream.blocks.native.arenas import put
from millstream.blocks.native.expressions import value_of
from millstream.blocks.native.kinds import Value, zero
from millstream.blocks.native.ordering import comes_before
from millstream.blocks.native.place import Many, Place, may_be_null
from millstream.blocks.native.writer import Writer
from millstream.blocks.queries import Columns, Ordered

Loop = Callable[[Callable[[Place], None]], None]
"""Writes the loops over rows, with what is written for each of them."""


@dataclass(frozen=True)
class Kept:
    """Rows in arrays of their own, `<name>_n` of them; `<name>_o` is their order."""

    table: Many

    @property
    def name(self) -> str:
        return self.table.name

    def row(self, at: str) -> list[Value]:
        return self.table.row(at)


def keep(place: Place, expressions: Sequence[Expression], loop: Loop) -> Kept:
    """Keep the values of expressions, for every row of a loop, as they come."""
    program, w = place.program, place.w
    columns: Columns = tuple((f"c{j}", e.type) for j, e in enumerate(expressions))
    for _, kind in columns:
        zero(kind)
    table = Many(f"t{program.tables}", columns, program.nullable)
    program.tables += 1
    program.top += table.allocate("16")
    t = table.name
    w.line(f"{t}_n = 0")

    def take(inside: Place) -> None:
        row = [w.fixed(value_of(inside, e)) for e in expressions]
        for j, value in enumerate(row):
            may_be_null(inside, t, j, value)
        with w.block(f"if {t}_n == len({table.arrays[0][0]})"):
            for name, _ in table.arrays:
                w.line(f"{name} = grown({name}, 2 * len({name}))")
        put(w, table, f"{t}_n", row)
        w.line(f"{t}_n += 1")

    loop(take)
    return Kept(table)


def put_in_order(place: Place, kept: Kept, order: Sequence[Ordered]) -> None:
    """Order rows by their first columns, which hold what `order` goes by; ties stay as they are.

    Runs of 1, 2, 4, … rows are merged. Cost: n log n comparisons.
    """
    w, t = place.w, kept.name
    width, low, middle, high = (w.name() for _ in range(4))
    left, right, at, later = (w.name() for _ in range(4))
    w.line(f"{t}_o = np.arange({t}_n)")
    w.line(f"{t}_p = np.empty({t}_n, np.int64)")
    w.line(f"{width} = 1")
    with w.block(f"while {width} < {t}_n"):
        w.line(f"{low} = 0")
        with w.block(f"while {low} < {t}_n"):
            w.line(f"{middle} = min({low} + {width}, {t}_n)")
            w.line(f"{high} = min({low} + 2 * {width}, {t}_n)")
            w.line(f"{left} = {low}")
            w.line(f"{right} = {middle}")
            with w.block(f"for {at} in range({low}, {high})"):
                w.line(f"{later} = {left} >= {middle}")
                with w.block(f"if not {later} and {right} < {high}"):
                    _compare(w, place, kept, order, (left, right), later)
                with w.block(f"if {later}"):
                    w.line(f"{t}_p[{at}] = {t}_o[{right}]")
                    w.line(f"{right} += 1")
                with w.block("else"):
                    w.line(f"{t}_p[{at}] = {t}_o[{left}]")
                    w.line(f"{left} += 1")
            w.line(f"{low} = {high}")
        w.line(f"{t}_o, {t}_p = {t}_p, {t}_o")
        w.line(f"{width} *= 2")


def _compare(
    w: Writer,
    place: Place,
    kept: Kept,
    order: Sequence[Ordered],
    sides: tuple[str, str],
    later: str,
) -> None:
    first, second = (w.named(f"{kept.name}_o[{side}]") for side in sides)
    mine, theirs = kept.row(second), kept.row(first)
    w.line(f"{later} = {comes_before(place, order, mine, theirs)}")


def write_kept(
    place: Place,
    kept: Kept,
    first: int,
    sink: Callable[[Place, list[Value]], None],
    stop: str | None,
) -> None:
    """The rows in their order, from a column on."""
    w, t = place.w, kept.name
    at = w.name("i")
    with w.block(f"for {at} in range({t}_n)"):
        row = w.named(f"{t}_o[{at}]")
        sink(place, [w.fixed(value) for value in kept.row(row)[first:]])
        if stop is not None:
            with w.block(f"if {stop}"):
                w.line("break")
