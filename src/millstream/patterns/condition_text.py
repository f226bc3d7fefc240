"""Conditions of patterns as people write them."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass, replace

from millstream.algebra.expressions import (
    TRUE,
    Column,
    Expression,
    conjuncts,
    name_text,
    rewrite,
)
from millstream.patterns.references import Cell, cell_of


@dataclass(frozen=True)
class _Written(Column):
    """A column that stands in a text as it is written."""

    def __str__(self) -> str:
        return self.name


def of_element(
    condition: Expression, element: str, stars: Container[str], final: bool = False
) -> tuple[str, ...]:
    """The parts of a condition of a sequence: `B.price < B.previous.price`. Those that are `final`
    are asked when the star has ended, and have `*B` for all of it."""

    def written(column: Column) -> str:
        cell = cell_of(column.name)
        if cell is None:
            return _of_all(column.name, element) if final else column.name
        steps = ".previous" * -cell.shift
        name = f"*{name_text(element)}" if final and cell.variable == element else ""
        name = name or name_text(cell.variable)
        if cell.variable in stars and (final or cell.variable != element or not cell.last):
            name = f"{'LAST' if cell.last else 'FIRST'}({name})"
        return f"{name}{steps}.{name_text(cell.column)}"

    return _parts(condition, written)


def of_variable(condition: Expression, variable: str) -> tuple[str, ...]:
    """The parts of a condition of MATCH_RECOGNIZE: `price < PREV(price)`."""

    def written(column: Column) -> str:
        cell = cell_of(column.name)
        return column.name if cell is None else _navigated(cell, variable)

    return _parts(condition, written)


def _navigated(cell: Cell, variable: str) -> str:
    mine = cell.is_current and cell.variable in ("", variable)
    name = name_text(cell.column)
    if cell.variable and not mine:
        name = f"{name_text(cell.variable)}.{name}"
    if cell.nth or not cell.last:
        nth = f", {cell.nth}" if cell.nth else ""
        name = f"{'LAST' if cell.last else 'FIRST'}({name}{nth})"
    if cell.shift:
        way, far = ("PREV", -cell.shift) if cell.shift < 0 else ("NEXT", cell.shift)
        name = f"{way}({name}{f', {far}' if far > 1 else ''})"
    return name


def _of_all(name: str, element: str) -> str:
    """An aggregate over a whole star: `count(*B)`."""
    return name.replace(f"({name_text(element)}", f"(*{name_text(element)}", 1)


def _parts(condition: Expression, written: Callable[[Column], str]) -> tuple[str, ...]:
    def said(part: Expression) -> Expression | None:
        return _Written(written(part), part.type) if isinstance(part, Column) else None

    if condition == TRUE:
        return ()
    return tuple(_bare(str(rewrite(part, said))) for part in conjuncts(condition))


def _bare(text: str) -> str:
    """Without the brackets around all of it."""
    if not text.startswith("("):
        return text
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[1:-1] if at == len(text) - 1 else text
    return text


def of_tuple(base: Expression) -> str:
    """A number that is computed of one tuple: `price`."""

    def said(part: Expression) -> Expression | None:
        cell = cell_of(part.name) if isinstance(part, Column) else None
        if cell is None:
            return None
        plain = replace(cell, variable="", shift=0)
        steps = "previous." * -cell.shift
        return _Written(f"{steps}{name_text(plain.column)}", part.type)

    return _bare(str(rewrite(base, said)))
