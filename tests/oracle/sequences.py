"""Sequence patterns from their definition: one attempt after the other, one row after the other.
Shares no code with the engine: no shift, nothing is known of an attempt but the rows it took."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from statistics import median

from .facts import values_rank
from .values import binary, both, either, negation, total

Cells = dict[str, object]


@dataclass(frozen=True)
class Row:
    """A row: its instant, its cells, its place among all rows that the query reads."""

    at: int
    cells: Cells
    place: int = 0


@dataclass(frozen=True)
class Const:
    value: object


@dataclass(frozen=True)
class Key:
    """A column that the pattern is partitioned by, as it is written."""

    name: str
    alias: str | None = None


@dataclass(frozen=True)
class Outer:
    """A column of another entry of FROM, or `timed_out` and `reached`, which have no alias."""

    name: str
    alias: str | None = None


@dataclass(frozen=True)
class Cell:
    """`A.c`, `FIRST(A).c`, `LAST(*A).previous.c`; `back` counts the `previous`."""

    element: str
    column: str
    way: str = ""
    final: bool = False
    back: int = 0


@dataclass(frozen=True)
class Tally:
    """`f(A)`, `f(*A.c)`, `f(A.c) OVER (ROWS n PRECEDING)`."""

    function: str
    element: str
    column: str | None = None
    final: bool = False
    preceding: int | None = None


@dataclass(frozen=True)
class Bin:
    """Arithmetic, a comparison, AND or OR."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Not:
    operand: Expr


@dataclass(frozen=True)
class IsNull:
    operand: Expr
    negated: bool = False


@dataclass(frozen=True)
class Between:
    operand: Expr
    low: Expr
    high: Expr


Expr = Const | Key | Outer | Cell | Tally | Bin | Not | IsNull | Between


def text(e: Expr) -> str:
    """An expression as SQL."""
    match e:
        case Const(None):
            return "NULL"
        case Const(bool() as value):
            return str(value).upper()
        case Const(str() as value):
            return f"'{value}'"
        case Const(value):
            return repr(value)
        case Key(name, alias) | Outer(name, alias):
            return f"{alias}.{name}" if alias else name
        case Cell(element, column, way, final, back):
            tuple_ = f"{way}({'*' if final else ''}{element})" if way else element
            return ".".join([tuple_, *["previous"] * back, column])
        case Tally(function, element, column, final, preceding):
            inside = ("*" if final else "") + element + (f".{column}" if column else "")
            if function == "distinct":
                function, inside = "count", f"DISTINCT {inside}"
            over = "" if preceding is None else f" OVER (ROWS {preceding} PRECEDING)"
            return f"{function}({inside}){over}"
        case Bin(op, left, right):
            return f"({text(left)} {op} {text(right)})"
        case Not(operand):
            return f"(NOT {text(operand)})"
        case IsNull(operand, negated):
            return f"({text(operand)} IS {'NOT ' if negated else ''}NULL)"
        case Between(operand, low, high):
            return f"({text(operand)} BETWEEN {text(low)} AND {text(high)})"
    raise TypeError(e)


def parts(e: object) -> Iterator[Expr]:
    """Everything inside an expression, itself included."""
    yield e
    for inner in fields(e):
        value = getattr(e, inner.name)
        if is_dataclass(value):
            yield from parts(value)


def references(e: Expr) -> list[Cell | Tally]:
    return [part for part in parts(e) if isinstance(part, Cell | Tally)]


@dataclass(frozen=True)
class Element:
    """One row, or, as a star, one or more."""

    name: str
    star: bool = False


@dataclass(frozen=True)
class Pattern:
    """Elements, and the conjuncts that steer the search for them.

    From the first row of a match to its last, at most `within` passes. With `timeouts`, what is
    still open then is reported.
    """

    elements: tuple[Element, ...]
    conditions: tuple[Expr, ...] = ()
    within: int | None = None
    timeouts: bool = False

    def latest(self, condition: Expr) -> Element:
        """The latest element that a condition names."""
        named = {reference.element for reference in references(condition)}
        return next(e for e in reversed(self.elements) if e.name in named)

    def is_final(self, condition: Expr) -> bool:
        """Whether it waits for the end of its latest element."""
        latest = self.latest(condition)
        mine = [r for r in references(condition) if r.element == latest.name]
        return latest.star and any(reference.final for reference in mine)

    def tests(self, element: Element) -> list[Expr]:
        """What every row that the element takes must meet."""
        return [c for c in self._of(element) if not self.is_final(c)]

    def finals(self, element: Element) -> list[Expr]:
        """What a star must meet that has ended."""
        return [c for c in self._of(element) if self.is_final(c)]

    def _of(self, element: Element) -> list[Expr]:
        return [c for c in self.conditions if self.latest(c) == element]


@dataclass(frozen=True)
class Scene:
    """What an expression looks at: the rows of a partition, the places of those that the elements
    took, and a row of the other entries of FROM."""

    rows: list[Row]
    taken: dict[str, list[int]]
    outer: Cells = field(default_factory=dict)


def value(e: Expr, scene: Scene) -> object:
    """The value of an expression; None is NULL and, for conditions, unknown."""

    def of(inner: Expr) -> object:
        return value(inner, scene)

    match e:
        case Const(constant):
            return constant
        case Key(name):
            return scene.rows[0].cells[name]
        case Outer(name):
            return scene.outer[name]
        case Cell():
            return cell(e, scene)
        case Tally():
            return tally(e, scene)
        case Bin("AND", left, right):
            return both(of(left), of(right))
        case Bin("OR", left, right):
            return either(of(left), of(right))
        case Bin(op, left, right):
            return binary(op, of(left), of(right))
        case Not(operand):
            return negation(of(operand))
        case IsNull(operand, negated):
            return (of(operand) is None) != negated
        case Between(operand, low, high):
            x = of(operand)
            return both(binary(">=", x, of(low)), binary("<=", x, of(high)))
    raise TypeError(e)


def cell(e: Cell, scene: Scene) -> object:
    """Of an element that has no rows, and before the beginning of the partition: NULL."""
    places = scene.taken[e.element]
    if not places:
        return None
    place = (places[0] if e.way == "FIRST" else places[-1]) - e.back
    return scene.rows[place].cells[e.column] if place >= 0 else None


def tally(e: Tally, scene: Scene) -> object:
    """An aggregate over the rows of an element, or over the last of them."""
    places = scene.taken[e.element]
    if e.preceding is not None:
        places = places[-(e.preceding + 1) :]
    if e.column is None:
        return len(places)
    values = [v for v in (scene.rows[p].cells[e.column] for p in places) if v is not None]
    if e.function in ("count", "ccount"):
        return len(values)
    if e.function == "distinct":
        return len(set(values))
    if not values:
        return None
    match e.function:
        case "median":
            return median(values)
        case "spread":
            return max(values) - min(values)
        case "zigzag":
            return sum(v if at % 2 == 0 else -v for at, v in enumerate(values))
        case "drift":
            return values[-1] - values[0]
        case "sum":
            return total(values)
        case "avg":
            return total(values) / len(values)
        case "min":
            return min(values)
        case "max":
            return max(values)
    raise TypeError(e)


Moment = tuple[int, int]
"""When something is known: an instant, and the place of the row that tells; −1 for time alone."""


@dataclass(frozen=True)
class Attempt:
    """What became of the search from one row: `match`, `timed out`, `failed`, or `open`, when it
    is known, and where the search goes on after a match."""

    outcome: str
    taken: tuple[tuple[int, ...], ...]
    known: Moment
    after: int = 0


@dataclass(frozen=True)
class Match:
    """The places of the rows of each element, and when this is known."""

    taken: tuple[tuple[int, ...], ...]
    known: Moment
    timed_out: bool = False

    @property
    def reached(self) -> int:
        return sum(1 for places in self.taken if places)


def find(pattern: Pattern, rows: list[Row], now: int | None = None) -> list[Match]:
    """The matches in the rows of one partition.

    `now` is how far the time of a stream has come; without it, no further rows will come. What an
    attempt finds in rows that an earlier one looked at is known when that earlier one has failed.
    """
    found: list[Match] = []
    start, known = 0, (-(2**63), 0)
    while start < len(rows):
        attempt = attempted(pattern, rows, start, now)
        if attempt.outcome == "open":
            break
        known = max(known, attempt.known)
        if attempt.outcome != "failed":
            found.append(Match(attempt.taken, known, attempt.outcome == "timed out"))
        start = attempt.after if attempt.outcome == "match" else start + 1
    return found


def attempted(pattern: Pattern, rows: list[Row], start: int, now: int | None) -> Attempt:
    """Element by element from one row on."""
    elements, k, i = pattern.elements, 0, start
    taken: list[list[int]] = [[] for _ in elements]
    last = None if pattern.within is None else rows[start].at + pattern.within

    def holds(conditions: list[Expr]) -> bool:
        scene = Scene(rows, {e.name: places for e, places in zip(elements, taken)})
        return all(value(condition, scene) is True for condition in conditions)

    def ended(outcome: str, known: Moment, after: int = 0) -> Attempt:
        return Attempt(outcome, tuple(map(tuple, taken)), known, after)

    while True:
        element, is_last = elements[k], k == len(elements) - 1
        here = rows[i] if i < len(rows) else None
        time = now if here is None else here.at
        is_over = last is not None and time is not None and time > last
        if here is None and now is not None and not (is_over and pattern.timeouts):
            return ended("open", (now, -1))
        if here is None or is_over:
            known = (last + 1, -1) if is_over and pattern.timeouts else moment(here)
            if is_last and element.star and taken[k]:
                good = holds(pattern.finals(element))
                return ended("match" if good else "failed", known, i)
            gives_up = is_over and pattern.timeouts
            return ended("timed out" if gives_up else "failed", known)
        taken[k].append(i)
        if holds(pattern.tests(element)):
            i += 1
            if not element.star and is_last:
                return ended("match", moment(here), i)
            k += not element.star
            continue
        taken[k].pop()
        if not taken[k] or not holds(pattern.finals(element)):
            return ended("failed", moment(here))
        if is_last:
            return ended("match", moment(here), i)
        k += 1


def moment(row: Row | None) -> Moment:
    """The moment of a row; that of the end, where there are no instants."""
    return (0, 0) if row is None else (row.at, row.place)


@dataclass(frozen=True)
class Query:
    """What is asked of a pattern: its partitions, what filters finished matches, what is selected.

    `outer` are the rows of the other entries of FROM, as one relation.
    """

    pattern: Pattern
    partition: tuple[str, ...] = ()
    select: tuple[Expr, ...] = ()
    filters: tuple[Expr, ...] = ()
    outer: tuple[Cells, ...] = ({},)

    def given(self, rows: list[Row], match: Match) -> list[tuple]:
        """The rows that are selected of a match."""
        taken = {e.name: list(places) for e, places in zip(self.pattern.elements, match.taken)}
        more = {"timed_out": match.timed_out, "reached": match.reached}
        scenes = [Scene(rows, taken, outer | more) for outer in self.outer]
        return [
            tuple(value(e, scene) for e in self.select)
            for scene in scenes
            if all(value(condition, scene) is True for condition in self.filters)
        ]


def partitions(rows: Iterable[Row], names: tuple[str, ...]) -> list[list[Row]]:
    found: dict[tuple, list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row.cells[name] for name in names), []).append(row)
    return list(found.values())


def stream_answer(query: Query, rows: list[Row], now: int) -> list[tuple[int, tuple]]:
    """Instants and rows of a pattern over a stream, in order, when its time has come to `now`."""
    numbered = [replace(row, place=place) for place, row in enumerate(rows)]
    found = [
        (match.known, row)
        for mine in partitions(numbered, query.partition)
        for match in find(query.pattern, mine, now)
        for row in query.given(mine, match)
    ]
    return [(known[0], row) for known, row in sorted(found, key=lambda pair: pair[0])]


def relation_answer(
    query: Query, rows: list[Cells], sequence: tuple[str, ...], instant=lambda value: value
) -> list[tuple]:
    """The bag that a pattern gives over rows that are all there is, in the order of `sequence`."""
    ordered = sorted(rows, key=lambda cells: order_of(cells, sequence))
    placed = [Row(instant(cells[sequence[0]]), cells) for cells in ordered]
    return [
        row
        for mine in partitions(placed, query.partition)
        for match in find(query.pattern, mine)
        for row in query.given(mine, match)
    ]


def order_of(cells: Cells, sequence: tuple[str, ...]) -> tuple:
    """Ties go by the other columns, in their order; NULL first."""
    others = [name for name in cells if name not in sequence]
    return values_rank(tuple(cells[name] for name in (*sequence, *others)))
