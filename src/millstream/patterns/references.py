"""What conditions and results of a pattern read of its tuples."""

from __future__ import annotations

import re
from dataclasses import dataclass

from millstream.algebra.expressions import name_text

_NAME = r'(?:[^\W\d][\w.]*|#\w+|"(?:[^"]|"")*")'
_CELL = re.compile(rf"(first|last)\(({_NAME})?(?:, (\d+))?\)\.({_NAME})(?:@([+-]\d+))?")


@dataclass(frozen=True)
class Cell:
    """A column of one tuple: of the last or the first of a variable's, or the nth from there.

    `shift` goes so many tuples on in the partition, whatever these matched; −1 is the one before.
    The variable "" stands for all tuples of the match.

    >>> str(Cell("Y", "price", shift=-1)), str(Cell("Y", "price", last=False, nth=2))
    ('last(Y).price@-1', 'first(Y, 2).price')
    """

    variable: str
    column: str
    last: bool = True
    nth: int = 0
    shift: int = 0

    def __str__(self) -> str:
        variable = name_text(self.variable) if self.variable else ""
        nth = f", {self.nth}" if self.nth else ""
        shift = f"@{self.shift:+d}" if self.shift else ""
        end = "last" if self.last else "first"
        return f"{end}({variable}{nth}).{name_text(self.column)}{shift}"

    @property
    def is_current(self) -> bool:
        """Whether it is of the tuple under test, where that is one of the variable."""
        return self.last and self.nth == 0

    @property
    def place(self) -> tuple[str, bool, int]:
        """The tuple it is counted from."""
        return self.variable, self.last, self.nth


def shifted_name(column: str, shift: int) -> str:
    """The name of a column as it is so many tuples on."""
    return f"{column}@{shift:+d}" if shift else column


def unshifted(name: str) -> tuple[str, int]:
    """The column and the shift of a name.

    >>> unshifted("price@-2"), unshifted("price")
    (('price', -2), ('price', 0))
    """
    found = re.fullmatch(r"(.*)@([+-]\d+)", name, re.DOTALL)
    return (found[1], int(found[2])) if found else (name, 0)


def cell_of(name: str) -> Cell | None:
    """The cell of a canonical name, if it is one.

    >>> cell_of('last("a b").price@-1')
    Cell(variable='a b', column='price', last=True, nth=0, shift=-1)
    """
    found = _CELL.fullmatch(name)
    if found is None:
        return None
    end, variable, nth, column, shift = found.groups()
    return Cell(
        _plain(variable or ""), _plain(column), end == "last", int(nth or 0), int(shift or 0)
    )


def _plain(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
