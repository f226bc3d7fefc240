"""References to the tuples of a sequence: `X.c`, `X.previous.c`, `FIRST(Y).c`, `sum(*Y.c)`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from millstream.algebra.expressions import Expression
from millstream.algebra.types import BOOLEAN, INTEGER
from millstream.errors import MillstreamError, closest
from millstream.lang import Previous, SequenceElement, StarOf, to_sql
from millstream.patterns.references import Cell
from millstream.patterns.sequence import REACHED, TIMED_OUT
from millstream.patterns.tallies import Tally

ENDS = ("first", "last")
OF_TUPLES = (exp.Dot, exp.Anonymous, exp.Window, exp.Filter)
"""What can say something of the tuples of an element, beside columns."""


@dataclass(frozen=True)
class Reference:
    """What an expression says of the tuples of an element: its canonical name and its type.

    `final` means once the star has ended; `tally` is what has to be counted for it, and `computed`
    are the columns that it takes and that have to be computed of each tuple.
    """

    name: str
    type: pa.DataType
    element: str
    final: bool = False
    tally: Tally | None = None
    computed: tuple[tuple[str, Expression], ...] = ()


@dataclass(frozen=True)
class Elements:
    """The elements of one sequence, by their names in any case, and the columns of its tuples.

    `aggregate` says what a node is that calls an aggregate over the tuples of one of them.
    """

    elements: tuple[SequenceElement, ...]
    columns: pa.Schema
    aggregate: Callable[[exp.Expr, Elements], Reference | None]
    timeouts: bool = False

    @property
    def names(self) -> list[str]:
        return [element.name for element in self.elements]

    def place(self, name: str) -> int:
        """Where an element stands in the sequence."""
        return self.names.index(name)

    def reference(self, node: exp.Expr) -> Reference | None:
        """What a node says of the tuples of an element; None if it is about something else."""
        match node:
            case exp.Column() if self._named(node.table) is not None:
                return self._cell(node.table, node.name)
            case exp.Dot(this=Previous() | exp.Anonymous() | exp.Window()):
                return self._of_tuple(node) or self.aggregate(node, self)
            case exp.Anonymous() | exp.Window() | exp.Filter():
                return self._end(node) or self.aggregate(node, self)
            case StarOf():
                raise MillstreamError(
                    f"{to_sql(node)} stands inside of an aggregate, or of FIRST and LAST",
                    hint=f"Write LAST({to_sql(node)}), or an aggregate.",
                )
        return None

    def all_of(self, name: str) -> list[tuple[str, Reference]]:
        """All columns of an element's tuple, for `X.*`; nothing if there is no such element."""
        if self._named(name) is None:
            return []
        return [(column, self._cell(name, column)) for column in self.columns.names]

    def _end(self, node: exp.Expr) -> Reference | None:
        """`FIRST(Y.c)` and `LAST(*Y.c)`, which are FIRST(Y).c and LAST(*Y).c."""
        if not isinstance(node, exp.Anonymous) or node.name.lower() not in ENDS:
            return None
        last = node.name.lower() == "last"
        match node.expressions:
            case [exp.Column(table=str() as table) as plain] if self._named(table) is not None:
                return self._cell(table, plain.name, last=last)
            case [StarOf(args={"column": exp.Identifier() as column}) as star]:
                if not self.known(star.this.name).star:
                    raise no_star(to_sql(node), star.this.name)
                return self._cell(star.this.name, column.name, last=last, final=True)
        return None

    def is_about(self, node: exp.Column) -> bool:
        """Whether a name is that of an element, or of a column of one."""
        return self._named(node.table or node.name) is not None

    def names_element(self, node: exp.Expr) -> bool:
        """Whether a node is a part of an expression that is about an element: `Y`, `*Y.c`, `Y.c`,
        `Y.previous.c`."""
        match node:
            case StarOf():
                return True
            case exp.Column():
                return self.is_about(node)
            case exp.Dot(this=Previous() as inner):
                while isinstance(inner, Previous):
                    inner = inner.this
                return isinstance(inner, exp.Identifier)
        return False

    def told(self, node: exp.Expr) -> Reference | None:
        """`timed_out` and `reached`, where attempts whose time ran out are reported."""
        known = {TIMED_OUT: BOOLEAN, REACHED: INTEGER} if self.timeouts else {}
        if isinstance(node, exp.Column) and node.name.lower() in known:
            name = node.name.lower()
            return Reference(name, known[name], self.names[-1])
        return None

    def _named(self, name: str) -> SequenceElement | None:
        found = (e for e in self.elements if name and e.name.lower() == name.lower())
        return next(found, None)

    def _of_tuple(self, node: exp.Dot) -> Reference | None:
        """`X.previous.c`, `FIRST(Y).c`, `LAST(*Y).previous.c`."""
        inner, back = node.this, 0
        while isinstance(inner, Previous):
            inner, back = inner.this, back + 1
        if isinstance(inner, exp.Identifier):
            return self._cell(inner.name, node.expression.name, back=back)
        if not isinstance(inner, exp.Anonymous) or inner.name.lower() not in ENDS:
            return None
        given, final = inner.expressions, False
        match given:
            case [StarOf() as star] if star.args.get("column") is None:
                name, final = star.this.name, True
            case [exp.Column(name=name) as plain] if not plain.table:
                pass
            case _:
                return None
        last = inner.name.lower() == "last"
        if final and not self.known(name).star:
            raise no_star(to_sql(inner), name)
        return self._cell(name, node.expression.name, last=last, back=back, final=final)

    def _cell(
        self, name: str, column: str, last: bool = True, back: int = 0, final: bool = False
    ) -> Reference:
        element = self.known(name)
        field = self.column(column, element.name)
        # a single tuple is the last and the first of its element
        cell = Cell(element.name, field.name, last or not element.star, shift=-back)
        return Reference(str(cell), field.type, element.name, final)

    def no_column(self, name: str) -> MillstreamError | None:
        """What is wrong with a name that stands alone, if it has to do with the tuples."""
        found = self._named(name)
        if found is not None:
            column = self.columns.names[0]
            return MillstreamError(
                f'element "{found.name}" of the sequence is a tuple, and no value',
                hint=f"Write {found.name}.{column}, with a column"
                + (f", or count(*{found.name})." if found.star else "."),
            )
        if name.lower() in (TIMED_OUT, REACHED) and not self.timeouts:
            return MillstreamError(
                f'column "{name.lower()}" is there where attempts that time out are reported',
                hint="Write WITHIN and a length, WITH TIMEOUTS, behind the elements.",
            )
        if any(field.name.lower() == name.lower() for field in self.columns):
            return MillstreamError(
                f'column "{name}" is one of the tuples of a sequence',
                hint=f"Say of which one: {self.names[0]}.{name}.",
            )
        return None

    def known(self, name: str) -> SequenceElement:
        element = self._named(name)
        if element is None:
            near = closest(name, self.names)
            raise MillstreamError(
                f'the sequence has no element "{name}"',
                hint=f"Did you mean {near}?" if near else f"It has {', '.join(self.names)}.",
            )
        return element

    def column(self, name: str, element: str) -> pa.Field:
        for field in self.columns:
            if field.name.lower() == name.lower():
                return field
        names = [field.name for field in self.columns]
        near = closest(name, names)
        raise MillstreamError(
            f'column "{name}" does not exist in the tuples of element "{element}"',
            hint=f'Did you mean "{near}"?' if near else f"They have {', '.join(names)}.",
        )


def no_star(written: str, element: str) -> MillstreamError:
    return MillstreamError(
        f'{written} is about a star, and element "{element}" is one tuple',
        hint=f"Write *{element} in the sequence, or {element} and a column; to aggregate over "
        "matches, put the sequence into a subquery.",
    )
