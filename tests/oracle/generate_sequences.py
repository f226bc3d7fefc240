"""Sequence patterns and rows by chance, as a search takes them and as queries."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from .sequences import (
    Between,
    Bin,
    Cell,
    Const,
    Element,
    Expr,
    IsNull,
    Key,
    Not,
    Outer,
    Pattern,
    Query,
    Row,
    Tally,
    text,
)


def random_pattern(rng: Random) -> Pattern:
    """Few columns and constants, so that conditions imply and exclude each other."""
    count = rng.choice((1, 2, 3, 3, 4, 4, 5))
    elements = tuple(Element("ABCEF"[i], rng.random() < 0.5) for i in range(count))
    draw = rng.choice((_moves, _moves, _moves, _texts, _anything, _anything, _levels))
    conditions = []
    for at in range(count):
        for _ in range(rng.choice((0, 1, 1, 1, 1, 2))):
            conditions.append(draw(rng, elements[: at + 1]))
        if elements[at].star and rng.random() < 0.45:
            conditions.append(_counted(rng, elements[at]))
    if rng.random() < 0.3:
        conditions.append(_across(rng, elements))
    within = rng.choice((None, None, None, 2, 5, 9))
    timeouts = within is not None and rng.random() < 0.5
    return Pattern(elements, tuple(conditions), within, timeouts)


Elements = tuple[Element, ...]


def _moves(rng: Random, elements: Elements) -> Expr:
    """The price rises or falls, perhaps by more than a part of it."""
    name, column = elements[-1].name, rng.choice("xxd")
    now, before = Cell(name, column), Cell(name, column, back=1)
    move = rng.randrange(8)
    if move < 4:
        return Bin(("<", ">", "<=", ">=")[move], now, before)
    low, high = Bin("*", Const(0.5), before), Bin("*", Const(1.5), before)
    match move:
        case 4:
            return Bin("<", now, low)
        case 5:
            return Bin(">", now, high)
        case 6:
            return Between(now, low, high)
    return Bin(rng.choice(("<", ">")), Bin("-", now, before), Const(rng.choice((-1, 0, 1))))


def _texts(rng: Random, elements: Elements) -> Expr:
    cell = Cell(elements[-1].name, "w", back=rng.choice((0, 0, 0, 1)))
    equal = Bin(rng.choice(("=", "=", "=", "<>", "<", ">=")), cell, Const(rng.choice("abc")))
    if rng.random() < 0.3:
        return Bin("OR", equal, Bin("=", cell, Const(rng.choice("abc"))))
    return equal


def _levels(rng: Random, elements: Elements) -> Expr:
    cell = Cell(elements[-1].name, rng.choice("xd"), back=rng.choice((0, 0, 0, 1)))
    compared = Bin(rng.choice(("<", ">", "<=", ">=", "=")), cell, Const(rng.choice((0, 1, 2, 0.5))))
    match rng.randrange(6):
        case 0:
            return Not(compared)
        case 1:
            return Between(cell, Const(rng.randrange(2)), Const(rng.randrange(3)))
        case 2:
            return IsNull(cell, rng.random() < 0.5)
    return compared


def _anything(rng: Random, elements: Elements) -> Expr:
    draw = rng.choice((_moves, _texts, _levels, _across))
    if rng.random() < 0.15:
        return Bin("OR", draw(rng, elements), draw(rng, elements))
    return draw(rng, elements)


def _across(rng: Random, elements: Elements) -> Expr:
    """With what an earlier element, or the beginning of this one, has."""
    here, other = elements[-1], rng.choice(elements)
    column = rng.choice("xxd")
    way = rng.choice(("FIRST", "LAST", "")) if other.star else ""
    final = here.star and rng.random() < 0.3
    mine = Cell(here.name, column, "LAST" if final else "", final)
    other_cell: Expr = Cell(other.name, column, way, back=rng.choice((0, 0, 1)))
    if rng.random() < 0.3:
        other_cell = Bin("+", other_cell, Const(rng.choice((-1, 1))))
    return Bin(rng.choice(("<", ">", "<=", ">=", "=", "<>")), mine, other_cell)


def _counted(rng: Random, element: Element) -> Expr:
    final = rng.random() < 0.7
    if rng.random() < 0.75:
        tally = Tally("count" if final else "ccount", element.name, None, final)
        op, number = rng.choice(((">=", 2), (">=", 3), ("<=", 2), ("<=", 1), ("=", 2), (">", 1)))
        return Bin(op, tally, Const(number))
    function = rng.choice(("sum", "min", "max", "count", "avg"))
    tally = Tally(function, element.name, rng.choice("xd"), final)
    return Bin(rng.choice((">=", "<", "<=")), tally, Const(rng.choice((1, 2, 3))))


def random_rows(rng: Random, most: int = 26) -> list[Row]:
    """Instants, and cells that stay or move by one as a price does, or jump."""
    now, rows, jumps = 0, [], rng.choice((0.1, 0.5, 1.0))
    low, holes = rng.choice((0, 0, -2)), rng.choice((0, 0, 0.1))
    x, d = 2, 2.0
    for place in range(rng.choice((0, 5, 12, 20, most))):
        now += rng.choice((0, 1, 1, 1, 3))
        x = rng.randint(low, 5) if rng.random() < jumps else x + rng.choice((-1, -1, 0, 1, 1))
        d = rng.randint(2 * low, 8) / 2 if rng.random() < jumps else d * rng.choice((0.25, 1, 2))
        cells = {"x": x, "d": d, "w": rng.choice("aabc")}
        cells = {n: None if rng.random() < holes else v for n, v in cells.items()}
        rows.append(Row(now, cells, place))
    return rows


NAMES = ({"k": 1, "called": "one"}, {"k": 2, "called": "two"}, {"k": 2, "called": "both"})
"""The rows of a table beside the pattern."""

OWN = ("spread", "zigzag", "drift")
"""Aggregates of one's own: two made of blocks, one a class."""


def random_query(rng: Random) -> Query:
    """A pattern with what is selected of it, and perhaps a table that its matches are joined to."""
    pattern = random_pattern(rng)
    stars = [e for e in pattern.elements if e.star]
    if stars and rng.random() < 0.35:
        pattern = replace(pattern, conditions=(*pattern.conditions, _measured(rng, stars)))
    partition = rng.choice((("k",), ("k",), ()))
    select: list[Expr] = [Key(name) for name in partition]
    for element in pattern.elements:
        select.append(Cell(element.name, rng.choice(("x", "d", "w", "ts")), *_way(rng, element)))
        if element.star and rng.random() < 0.6:
            select.append(_of_star(rng, element))
    if pattern.timeouts:
        select += [Outer("timed_out"), Outer("reached")]
    if not partition or pattern.timeouts or rng.random() < 0.75:
        return Query(pattern, partition, tuple(select))
    first = pattern.elements[0]
    filters: list[Expr] = [Bin("=", Outer("k", "n"), Key("k", "s"))]
    filters.append(Bin("<>", Outer("called", "n"), Const(rng.choice(("one", "two")))))
    if rng.random() < 0.5:
        cell = Cell(first.name, "x", "FIRST" if first.star else "")
        filters.append(Bin(">", Bin("+", cell, Outer("k", "n")), Const(2)))
    select[0] = Outer("called", "n")
    return Query(pattern, partition, tuple(select), tuple(filters), NAMES)


def _way(rng: Random, element: Element) -> tuple[str, bool, int]:
    back = rng.choice((0, 0, 0, 1, 2))
    if not element.star:
        return "", False, back
    way = rng.choice(("FIRST", "LAST", ""))
    return way, way == "LAST" and rng.random() < 0.5, back


def _of_star(rng: Random, element: Element) -> Tally:
    function = rng.choice(("count", "sum", "avg", "min", "max", "median", "distinct", *OWN))
    column = rng.choice("xw") if function in ("min", "max", "distinct") else "x"
    if function == "count" and rng.random() < 0.5:
        return Tally("count", element.name, None, True)
    preceding = rng.choice((None, None, None, 0, 1, 3))
    return Tally(function, element.name, column, rng.random() < 0.5, preceding)


def _measured(rng: Random, stars: list[Element]) -> Expr:
    """A condition on what no search counts by itself."""
    function = rng.choice((*OWN, "median", "sum", "distinct"))
    preceding = rng.choice((1, 2)) if function == "sum" else rng.choice((None, None, 2))
    tally = Tally(function, rng.choice(stars).name, "x", rng.random() < 0.3, preceding)
    op, number = rng.choice(((">=", 0), ("<=", 2), ("<", 4), ("<>", 1), (">", 1)))
    return Bin(op, tally, Const(number))


def written(query: Query, source: str, sequence: tuple[str, ...] = ()) -> str:
    """The query as text, over a stream or relation that is called s."""
    pattern = query.pattern
    by = f" PARTITION BY {', '.join(query.partition)}" if query.partition else ""
    by += f" SEQUENCE BY {', '.join(sequence)}" if sequence else ""
    elements = ", ".join(("*" if e.star else "") + e.name for e in pattern.elements)
    limit = "" if pattern.within is None else f" WITHIN {pattern.within}"
    limit += " WITH TIMEOUTS" if pattern.timeouts else ""
    others = ", names n" if len(query.outer) > 1 else ""
    items = ", ".join(f"{text(e)} AS c{i}" for i, e in enumerate(query.select))
    conditions = " AND ".join(map(text, (*pattern.conditions, *query.filters)))
    where = f" WHERE {conditions}" if conditions else ""
    return f"{items} FROM {source}{by} AS ({elements}){limit}{others}{where}"
