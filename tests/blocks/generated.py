"""Random routines, from a small grammar of blocks, and random tuples to feed them with.

For laws of machines: every routine is determined by its seed. `Style` says what may be in it, so
that a machine that does not take everything is given what it takes.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

import pyarrow as pa

from blocks.built import called, col, lit, op, select, values
from blocks.feeding import Tuple
from millstream.algebra.expressions import Call, Case, Cast, Expression, Literal
from millstream.algebra.types import DOUBLE, INTEGER, STRING
from millstream.blocks.leaves import (
    Among,
    Argument,
    Exists,
    Oldest,
    Quantified,
    Result,
    Scalar,
    SqlCode,
)
from millstream.blocks.machine import Frame
from millstream.blocks.queries import (
    Called,
    Combined,
    Local,
    Ordered,
    Query,
    RoutineName,
    Select,
    Source,
    Tabled,
    Values,
)
from millstream.blocks.routine import (
    INWINDOW,
    RETURN,
    Block,
    Delete,
    Insert,
    LocalTable,
    Routine,
    Statement,
    Update,
    with_calls,
)

KINDS = (INTEGER, INTEGER, DOUBLE, STRING)
TEXTS = ("a", "b", "ab", "")


@dataclass(frozen=True)
class Style:
    """What may be in a routine: subqueries in expressions, several sources, aggregates, set
    operations; texts; calls of other routines; functions of arguments that have no native form;
    windows."""

    subqueries: bool = True
    joins: bool = True
    aggregates: bool = True
    combined: bool = True
    texts: bool = True
    calls: bool = True
    lifts: bool = False
    window: bool | None = None
    most_tables: int = 2


SIMPLE = Style(subqueries=False, joins=False, combined=False, texts=False, calls=False)
"""Statements over one table each."""


def frames(rng: random.Random) -> Frame:
    """A frame of any kind."""
    return rng.choice(
        [
            Frame(),
            Frame(rows=rng.randint(1, 4)),
            Frame(length=rng.randint(0, 5)),
            Frame(length=rng.randint(0, 5), active=True),
        ]
    )


def tuples(rng: random.Random, arguments, size: int = 12, partitions: int = 2) -> list[Tuple]:
    """Tuples in the order of time, with ties, gaps and NULLs."""
    instant, out = 0, []
    for _ in range(size):
        instant += rng.choice([0, 0, 1, 1, 2, 7])
        row = tuple(_value(rng, kind) for _, kind in arguments)
        out.append(Tuple(rng.randrange(partitions), instant, row))
    return out


def _value(rng: random.Random, kind: pa.DataType):
    if rng.random() < 0.15:
        return None
    if kind == INTEGER:
        return rng.choice([0, 1, 2, 3, -1, 5, 5, 2**62])
    if kind == DOUBLE:
        return rng.choice([0.0, 0.5, 1.0, -2.0, 3.25])
    return rng.choice(TEXTS)


def routine(rng: random.Random, style: Style = Style()) -> Routine:  # noqa: B008 (frozen)
    """A routine of any kind; its INSERTs add a few rows each, so that tables stay small."""
    return _Maker(rng, style).routine()


Visible = tuple[Source, ...]


class _Maker:
    def __init__(self, rng: random.Random, style: Style) -> None:
        self.rng, self.style = rng, style
        self.labels = count()
        kinds = KINDS if style.texts else (INTEGER, INTEGER, DOUBLE)
        self.kinds = kinds
        self.arguments = tuple((f"x{i}", rng.choice(kinds)) for i in range(rng.randint(1, 2)))
        self.is_window = rng.random() < 0.6 if style.window is None else style.window
        self.inwindow = tuple((f"w{i}", kind) for i, (_, kind) in enumerate(self.arguments))
        self.tables = tuple(
            (f"t{i}", self._columns(f"c{i}")) for i in range(rng.randint(1, style.most_tables))
        )
        self.returns = self._columns("r")
        self.writes = self.tables[0][1][0][1] == INTEGER

    def _columns(self, prefix: str):
        return tuple((f"{prefix}{i}", self.rng.choice(self.kinds)) for i in range(self._few()))

    def _few(self) -> int:
        return self.rng.choice([1, 2, 2, 3])

    def routine(self) -> Routine:
        rng = self.rng
        iterate = self._block()
        made = Routine(
            "made",
            self.arguments,
            self.returns,
            tuple(LocalTable(n, c, self._begins(c)) for n, c in self.tables),
            initialize=iterate if rng.random() < 0.3 else self._block(),
            iterate=iterate,
            terminate=self._block() if not self.is_window and rng.random() < 0.5 else None,
            expire=self._block() if self.is_window and rng.random() < 0.7 else None,
            is_window=self.is_window,
            inwindow=self.inwindow if self.is_window else None,
        )
        if not self.style.calls:
            return made
        inner = (writer(*self.tables[0]),) if self.writes else ()
        made = replace(made, inner=inner)
        return with_calls(made, {r.name: r for r in (TOTAL, TWICE, UPTO, *inner)})

    def _begins(self, columns) -> Query | None:
        """Rows of the arguments alone: no table is there yet."""
        if self.rng.random() < 0.6:
            return None
        style, window = self.style, self.is_window
        self.style, self.is_window = replace(style, subqueries=False), False
        rows = self._values(columns, ())
        self.style, self.is_window = style, window
        return rows

    def _block(self) -> Block:
        some = tuple(self._statement() for _ in range(self.rng.randint(0, 3)))
        choice = self.rng.random()
        if choice < 0.15:
            return some
        query = self._query(self.returns)
        if choice < 0.6:
            row = tuple(self._expression(kind, (), 3) for _, kind in self.returns)
            query = Values(self.returns, (row,))
        return (*some, Insert(RETURN, query))

    def _statement(self) -> Statement:
        name, columns = self.rng.choice(self.tables)
        label = next(self.labels)
        row = (Source(label, Local(name), columns),)
        match self.rng.choice(["insert", "insert", "update", "update", "delete", "window"]):
            case "insert":
                return Insert(name, self._query(columns))
            case "update":
                some = self.rng.sample(columns, self.rng.randint(1, len(columns)))
                sets = tuple((n, self._expression(kind, row, 2)) for n, kind in some)
                return Update(name, label, sets, self._maybe_condition(row))
            case "window" if self.is_window:
                row = (Source(label, Local(INWINDOW), self.inwindow),)
                return Delete(INWINDOW, label, self._condition(row))
        return Delete(name, label, self._condition(row))

    def _query(self, columns, visible: Visible = (), depth: int = 1) -> Query:
        choice = self.rng.random()
        if choice < 0.35:
            return self._values(columns, visible)
        if choice < 0.45 and self.style.combined and depth:
            return self._combined(columns, visible)
        if choice < 0.65 and self.style.aggregates:
            return self._grouped(columns, visible)
        return self._select(columns, visible)

    def _values(self, columns, visible: Visible) -> Query:
        rows = tuple(
            tuple(self._expression(kind, visible, 2) for _, kind in columns)
            for _ in range(self.rng.choice([1, 1, 1, 2]))
        )
        return Values(columns, rows, self._maybe_condition(visible))

    def _combined(self, columns, visible: Visible) -> Query:
        return Combined(
            self.rng.choice(["union", "intersect", "except"]),
            self.rng.random() < 0.5,
            self._query(columns, visible, 0),
            self._query(columns, visible, 0),
            ((0, self.rng.random() < 0.5, self.rng.random() < 0.5),)
            if self.rng.random() < 0.5
            else (),
            lit(3),
        )

    def _sources(self, visible: Visible) -> Visible:
        first = (self._source(),)
        if not self.style.joins or self.rng.random() < 0.6:
            return first
        return (*first, self._joined((*visible, *first)))

    def _source(self) -> Source:
        if self.style.joins and self.rng.random() < 0.12:
            return self._derived()
        names = [*self.tables, *([(INWINDOW, self.inwindow)] * 2 if self.is_window else [])]
        name, columns = self.rng.choice(names)
        return Source(next(self.labels), Local(name), columns)

    def _derived(self) -> Source:
        """A query in FROM; what writers do depends on how often it is computed, so it has none."""
        columns = self._columns("d")
        writes, self.writes = self.writes, False
        query = self._query(columns, (), 0)
        self.writes = writes
        return Source(next(self.labels), query, columns)

    def _joined(self, before: Visible) -> Source:
        if self.style.calls and self.rng.random() < 0.2:
            number = self._expression(INTEGER, before, 1)
            return Source(next(self.labels), Tabled(RoutineName("upto"), (number,)), UPTO.returns)
        second = self._source()
        join = self.rng.choice(["cross", "cross", "left", "right", "full"])
        if join == "cross":
            return second
        return replace(second, join=join, on=self._link((*before, second)))

    def _link(self, visible: Visible) -> Expression:
        """A condition that is often an equality of columns."""
        left, right = visible[-2], visible[-1]
        pairs = [(a, b) for a, kind in left.columns for b, other in right.columns if kind == other]
        if not pairs or self.rng.random() < 0.2:
            return self._condition(visible)
        a, b = self.rng.choice(pairs)
        return op("=", col(left, a), col(right, b))

    def _where(self, own: Visible, visible: Visible) -> Expression | None:
        if len(own) == 2 and self.rng.random() < 0.6:
            return self._link((*visible, *own))
        return self._maybe_condition((*visible, *own))

    def _select(self, columns, visible: Visible) -> Select:
        own = self._sources(visible)
        here = (*visible, *own)
        outputs = tuple((n, self._expression(kind, here, 2)) for n, kind in columns)
        distinct = self.rng.random() < 0.2
        order = (self._ordered(here),) if not distinct and self.rng.random() < 0.5 else ()
        return Select(
            own,
            outputs,
            self._where(own, visible),
            distinct=distinct,
            order=order,
            limit=lit(self.rng.randint(1, 3)),
            offset=lit(1) if self.rng.random() < 0.1 else None,
        )

    def _ordered(self, visible: Visible) -> Ordered:
        source = self.rng.choice(visible)
        value = col(source, self.rng.choice(source.columns)[0])
        return Ordered(value, self.rng.random() < 0.5, self.rng.random() < 0.5)

    def _grouped(self, columns, visible: Visible) -> Select:
        """Each output is a key or the result of a call."""
        own = self._sources(visible)
        here = (*visible, *own)
        keyed = self.rng.random() < 0.5
        keys: list[Expression] = []
        calls: list[Called] = []
        outputs = []
        for name, kind in columns:
            if keyed and (not keys or self.rng.random() < 0.3):
                keys.append(self._key(kind, here))
                outputs.append((name, keys[-1]))
            else:
                calls.append(self._call(kind, here))
                given, result = calls[-1].columns[0]
                value: Expression = Result(len(calls) - 1, given, result)
                outputs.append((name, value if result == kind else Cast(value, kind)))
        having = None
        if calls and self.rng.random() < 0.2:
            having = op("is_null", Result(0, *calls[0].columns[0]))
            having = op("not", having) if self.rng.random() < 0.7 else having
        return Select(
            own,
            tuple(outputs),
            self._where(own, visible),
            tuple(keys),
            tuple(calls),
            having,
            limit=lit(3),
        )

    def _key(self, kind: pa.DataType, visible: Visible) -> Expression:
        """No literal, which would be a position; no subquery, whose columns would be no keys."""
        style, self.style = self.style, replace(self.style, subqueries=False)
        key = self._expression(kind, visible, 1)
        self.style = style
        return op("coalesce", key, key) if isinstance(key, Literal) else key

    def _call(self, kind: pa.DataType, visible: Visible) -> Called:
        where = self._condition(visible) if self.rng.random() < 0.1 else None
        feeding = (self._ordered(visible),) if self.rng.random() < 0.3 else ()
        distinct = self.rng.random() < 0.1
        if self.style.calls and kind == INTEGER and self.rng.random() < 0.4:
            name = self.rng.choice(["total", "twice", *(["put"] if self.writes else [])])
            argument = self._expression(INTEGER, visible, 1)
            newest = name == "twice" and self.rng.random() < 0.3
            columns = (("v", INTEGER),)
            name_of = RoutineName(name)
            return Called(name_of, (argument,), columns, None, distinct, where, feeding, newest)
        names = {
            INTEGER: ["count", "sum", "min", "max", "first"],
            DOUBLE: ["sum", "avg", "min", "max", "last"],
            STRING: ["min", "max", "first", "string_agg"],
        }[kind]
        name = self.rng.choice(names)
        distinct = distinct and name in ("count", "sum", "min")
        argument = self._expression(kind, visible, 1)
        more = {"parameter": ","} if name == "string_agg" else {}
        if name == "count" and self.rng.random() < 0.5:
            return called("count", where=where)
        return called(name, argument, where=where, feeding=feeding, distinct=distinct, **more)

    def _maybe_condition(self, visible: Visible) -> Expression | None:
        return self._condition(visible) if self.rng.random() < 0.5 else None

    def _condition(self, visible: Visible, depth: int = 1) -> Expression:
        choice = self.rng.random()
        if depth and choice < 0.2:
            return op(
                self.rng.choice(["and", "or"]),
                self._condition(visible, 0),
                self._condition(visible, 0),
            )
        if depth and self.style.subqueries and choice < 0.4:
            return self._asked(visible)
        kind = self.rng.choice(self.kinds)
        left = self._expression(kind, visible, 1)
        if choice > 0.9:
            return op("not", op("is_null", left))
        name = self.rng.choice(["=", "=", "<>", "<", "<=", ">", ">="])
        return op(name, left, self._expression(kind, visible, 1))

    def _asked(self, visible: Visible) -> Expression:
        kind = self.rng.choice(self.kinds)
        query = self._small((("q", kind),), visible)
        left = self._expression(kind, visible, 0)
        match self.rng.choice(["exists", "in", "quantified", "not in"]):
            case "exists":
                return Exists(query)
            case "in":
                return Among(left, query)
            case "not in":
                return op("not", Among(left, query))
        return Quantified(
            self.rng.choice(["=", "<", ">=", "<>"]), self.rng.random() < 0.5, left, query
        )

    def _small(self, columns, visible: Visible) -> Select:
        """A query over one table, often correlated."""
        own = (self._source(),)
        here = (*visible, *own)
        outputs = tuple((n, self._expression(kind, here, 0)) for n, kind in columns)
        where = self._link(here) if len(here) > 1 else self._condition(here, 0)
        return Select(own, outputs, where if self.rng.random() < 0.7 else None)

    def _expression(self, kind: pa.DataType, visible: Visible, depth: int) -> Expression:
        if depth == 0 or self.rng.random() < 0.4:
            return self._leaf(kind, visible)
        if self.style.subqueries and self.rng.random() < 0.12:
            return Scalar(self._scalar(kind, visible), kind)
        if self.rng.random() < 0.1:
            then = self._expression(kind, visible, depth - 1)
            branch = (self._condition(visible, 0), then)
            return Case((branch,), self._leaf(kind, visible), kind)
        return self._operation(kind, visible, depth - 1)

    def _scalar(self, kind: pa.DataType, visible: Visible) -> Query:
        if self.style.aggregates and self.rng.random() < 0.5:
            own = (self._source(),)
            here = (*visible, *own)
            call = called(self.rng.choice(["min", "max"]), self._expression(kind, here, 0))
            return Select(own, (("q", Result(0, "v", kind)),), None, (), (call,))
        return self._small((("q", kind),), visible)

    def _operation(self, kind: pa.DataType, visible: Visible, depth: int) -> Expression:
        def part(of: pa.DataType = kind) -> Expression:
            return self._expression(of, visible, depth)

        if self.style.lifts and kind in (INTEGER, STRING) and self.rng.random() < 0.6:
            return self._of_arguments(kind)
        if kind == STRING:
            joined = Call("concat", (part(), part()), STRING)
            return Call("left", (joined, lit(3)), STRING)
        if self.rng.random() < 0.15:
            return op(self.rng.choice(["coalesce", "least", "greatest"]), part(), part())
        if kind == INTEGER:
            return op(self.rng.choice(["+", "-", "*", "+", "div", "%"]), part(), part())
        match self.rng.choice(["+", "-", "half", "/", "cast"]):
            case "half":
                return op("*", lit(0.5), part())
            case "/":
                return op("/", part(), part())
            case "cast":
                return Cast(part(INTEGER), DOUBLE)
            case name:
                return op(name, part(), part())

    def _of_arguments(self, kind: pa.DataType) -> Expression:
        name, of = self.rng.choice(self.arguments)
        if kind == INTEGER:
            hashed = Call("hash", (Argument(name, of), lit(self.rng.randint(0, 1))), INTEGER)
            return op("%", hashed, lit(self.rng.choice([1, 2, 3])))
        text = Argument(name, of) if of == STRING else Cast(Argument(name, of), STRING)
        return Call("upper", (text,), STRING)

    def _leaf(self, kind: pa.DataType, visible: Visible) -> Expression:
        known: list[Expression] = [
            col(source, name) for source in visible for name, k in source.columns if k == kind
        ]
        known += [Argument(name, k) for name, k in self.arguments if k == kind]
        if self.is_window:
            known += [Oldest(name, k) for name, k in self.inwindow if k == kind]
        if kind == INTEGER and self.rng.random() < 0.1:
            known.append(SqlCode())
        if known and self.rng.random() < 0.8:
            return self.rng.choice(known)
        if self.rng.random() < 0.1:
            return Literal(None, kind)
        some: Sequence = {INTEGER: (0, 1, 2), DOUBLE: (0.5, 1.0, 2.0), STRING: TEXTS}[kind]
        return lit(self.rng.choice(some))


_X, _N = Argument("x", INTEGER), Argument("n", INTEGER)
_SUM = (("s", INTEGER),)
_SUMMED = Source(0, Local("kept"), _SUM)
TOTAL = Routine(
    "total",
    (("x", INTEGER),),
    (("v", INTEGER),),
    (LocalTable("kept", _SUM),),
    initialize=(Insert("kept", values(_X)),),
    iterate=(Update("kept", 0, (("s", op("-", _X, col(_SUMMED, "s"))),)),),
    terminate=(Insert(RETURN, select(_SUMMED, col(_SUMMED, "s"))),),
)
"""A blocking aggregate that goes by order."""

_TWO = (
    Insert(RETURN, values(_X, where=op(">", _X, lit(0)))),
    Insert(RETURN, values(op("+", _X, lit(1)), where=op(">", _X, lit(1)))),
)
TWICE = Routine("twice", (("x", INTEGER),), (("v", INTEGER),), (), _TWO, _TWO)
"""An aggregate that returns no, one or two rows for a tuple."""

UPTO = Routine(
    "upto",
    (("n", INTEGER),),
    (("i", INTEGER),),
    initialize=tuple(Insert(RETURN, values(lit(i), where=op(">=", _N, lit(i)))) for i in (1, 2, 3)),
    is_function=True,
)
"""A table function: the numbers up to its argument, and to three."""


def writer(table: str, columns) -> Routine:
    """An aggregate defined inside another one: it counts the rows of its table, and adds one, as
    long as there are few."""
    label = Source(0, Local(table, 1), columns)
    counted = select(label, Result(0, "v", INTEGER), keys=(), calls=(called("count"),))
    row = (_X, *(Literal(None, kind) for _, kind in columns[1:]))
    few = op("<", Scalar(replace(counted, sources=(replace(label, label=1),)), INTEGER), lit(6))
    block = (Insert(RETURN, counted), Insert(table, Values(columns, (row,), few), 1))
    return Routine("put", (("x", INTEGER),), (("v", INTEGER),), (), block, block)
