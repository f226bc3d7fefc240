"""References to the tuples of a sequence: `X.c`, `X.previous.c`, `FIRST(Y).c`, `sum(*Y.c)`."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from millstream.aggregates.aggregate import Aggregate
from millstream.aggregates.call import AggregateCall
from millstream.algebra.types import BOOLEAN, INTEGER
from millstream.bind.names.trees import Find
from millstream.errors import MillstreamError, closest
from millstream.lang import OverFrame, Previous, SequenceElement, StarOf, to_sql
from millstream.patterns.references import Cell
from millstream.patterns.sequence import REACHED, TIMED_OUT, Tally

COUNTS = ("ccount",)
"""ESL's name for the continuous count."""


@dataclass(frozen=True)
class Reference:
    """What an expression says of the tuples of an element: its canonical name and its type.

    `final` means once the star has ended; `counts` is what has to be counted for it.
    """

    name: str
    type: pa.DataType
    element: str
    final: bool = False
    tally: Tally | None = None


@dataclass(frozen=True)
class Elements:
    """The elements of one sequence, by their names in any case, and the columns of its tuples."""

    elements: tuple[SequenceElement, ...]
    columns: pa.Schema
    aggregates: Find
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
            case exp.Dot(this=Previous() | exp.Anonymous()):
                return self._of_tuple(node)
            case exp.Anonymous() | exp.Window():
                return self._aggregate(node)
        return None

    def is_about(self, node: exp.Column) -> bool:
        """Whether a name is that of an element, or of a column of one."""
        return self._named(node.table or node.name) is not None

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
        if not isinstance(inner, exp.Anonymous) or inner.name.lower() not in ("first", "last"):
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
        if final and not self._known(name).star:
            raise _no_star(to_sql(inner), name)
        return self._cell(name, node.expression.name, last=last, back=back, final=final)

    def _cell(
        self, name: str, column: str, last: bool = True, back: int = 0, final: bool = False
    ) -> Reference:
        element = self._known(name)
        field = self._column(column, element.name)
        # a single tuple is the last and the first of its element
        cell = Cell(element.name, field.name, last or not element.star, shift=-back)
        return Reference(str(cell), field.type, element.name, final)

    def _aggregate(self, node: exp.Anonymous | exp.Window) -> Reference | None:
        """`f(Y)`, `f(Y.c)`, `f(*Y)`, `f(*Y.c)`, and those over the last tuples of a star."""
        call = node.this if isinstance(node, exp.Window) else node
        if not isinstance(call, exp.Anonymous) or not call.expressions:
            return None
        given = call.expressions[0]
        if isinstance(given, StarOf):
            name, column = given.this.name, given.args.get("column")
            asked = None if column is None else column.name
        elif isinstance(given, exp.Column) and self._named(given.table) is not None:
            name, asked = given.table, given.name
        elif isinstance(given, exp.Column) and not given.table and self._named(given.name):
            name, asked = given.name, None
        else:
            return None
        word = call.name.lower()
        function = self.aggregates("count" if word in COUNTS else word)
        if function is None:
            return None
        element = self._known(name)
        if not element.star:
            raise _no_star(to_sql(call), element.name)
        rows = None
        if isinstance(node, exp.Window):
            rows = _frame(node)
        tally = self._tally(function, element.name, asked, rows)
        final = isinstance(given, StarOf)
        return Reference(tally.name, tally.call.type, element.name, final, tally)

    def _tally(
        self, function: Aggregate, element: str, column: str | None, rows: int | None
    ) -> Tally:
        field = None if column is None else self._column(column, element)
        kind = function.result(INTEGER if field is None else field.type)
        if field is None and function.arity.least > 0:
            raise MillstreamError(
                f"{function.called}({element}) does not say which column",
                hint=f"Write {function.called}({element}.{self.columns.names[0]}).",
            )
        if kind is None:
            raise MillstreamError(f'aggregate "{function.called}" does not take {element}.{column}')
        inside = element if field is None else f"{element}.{field.name}"
        over = "" if rows is None else f" over {rows}"
        name = f"{function.name}({inside}){over}"
        arguments = () if field is None else (field.name,)
        call = AggregateCall(name, function, arguments, kind)
        return Tally(element, call, None if field is None else field.type, rows)

    def _known(self, name: str) -> SequenceElement:
        element = self._named(name)
        if element is None:
            near = closest(name, self.names)
            raise MillstreamError(
                f'the sequence has no element "{name}"',
                hint=f"Did you mean {near}?" if near else f"It has {', '.join(self.names)}.",
            )
        return element

    def _column(self, name: str, element: str) -> pa.Field:
        for field in self.columns:
            if field.name.lower() == name.lower():
                return field
        names = [field.name for field in self.columns]
        near = closest(name, names)
        raise MillstreamError(
            f'column "{name}" does not exist in the tuples of element "{element}"',
            hint=f'Did you mean "{near}"?' if near else f"They have {', '.join(names)}.",
        )


def _no_star(written: str, element: str) -> MillstreamError:
    return MillstreamError(
        f'{written} is about a star, and element "{element}" is one tuple',
        hint=f"Write *{element} in the sequence, or {element} and a column.",
    )


def _frame(node: exp.Window) -> int | None:
    """How many tuples before the last one a window of rows holds."""
    frame: OverFrame | None = node.args.get("spec")
    plain = frame is not None and frame.kind == "rows" and frame.slide is None and not frame.active
    if not plain or node.args.get("partition_by") or node.args.get("order"):
        raise MillstreamError(
            "a window over the tuples of a star is one of rows",
            hint="Write f(Y.c) OVER (ROWS 4 PRECEDING).",
        )
    assert frame is not None
    return None if frame.length is None else int(str(frame.length))
