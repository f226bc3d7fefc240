"""MATCH_RECOGNIZE from its definition: the mappings of a pattern one by one, in the order in which
the standard prefers them, and the first whose conditions hold. Shares no code with the operators.

A match of a stream is *decided* at the last row that was asked for until it was found. An attempt
asks for the row at which it begins; for every row at which a mapping comes to a variable, and for
those so far ahead as NEXT in its condition can look, whatever else the condition says; for the row
at which a mapping comes to `$`; and, once it has a match with rows, for those that NEXT in
MEASURES can look at after its last row. What was asked for by an attempt was asked for by those
after it.

Long because the tree of a pattern, that of an expression and the search are one definition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations

from .values import binary, both, either, negation, total

Rows = list[dict[str, object]]
"""The rows of a partition, in order."""

STEPS = 20_000
"""More rows than this are never asked for by one attempt: TooLong."""


class TooLong(Exception):
    """An attempt has more mappings than a test should wait for."""


# Patterns


@dataclass(frozen=True)
class Var:
    """One row that meets the condition of the variable."""

    name: str

    @property
    def sql(self) -> str:
        return self.name


@dataclass(frozen=True)
class Seq:
    """The parts, one after the other; without any, the empty pattern."""

    parts: tuple[Pattern, ...] = ()

    @property
    def sql(self) -> str:
        return " ".join(_in_brackets(p, Choice | Seq) for p in self.parts) if self.parts else "()"


@dataclass(frozen=True)
class Choice:
    """One of the parts, the first preferred."""

    parts: tuple[Pattern, ...]

    @property
    def sql(self) -> str:
        return " | ".join(_in_brackets(p, Choice) for p in self.parts)


@dataclass(frozen=True)
class Repeat:
    """The part again and again: as often as it can be, or as seldom."""

    part: Pattern
    low: int
    high: int | None
    reluctant: bool = False

    @property
    def sql(self) -> str:
        inside = _in_brackets(self.part, Choice | Seq | Repeat | Anchor)
        return f"{inside}{self._quantifier}{'?' if self.reluctant else ''}"

    @property
    def _quantifier(self) -> str:
        match self.low, self.high:
            case 0, None:
                return "*"
            case 1, None:
                return "+"
            case 0, 1:
                return "?"
            case low, None:
                return f"{{{low},}}"
            case 0, high if high:
                return f"{{,{high}}}"
            case low, high if low == high:
                return f"{{{low}}}"
        return f"{{{self.low},{self.high}}}"


@dataclass(frozen=True)
class Permute:
    """The parts in any order, those orders preferred that keep the first ones first."""

    parts: tuple[Pattern, ...]

    @property
    def sql(self) -> str:
        return f"PERMUTE({', '.join(p.sql for p in self.parts)})"


@dataclass(frozen=True)
class Exclude:
    """Rows that ALL ROWS PER MATCH does not show."""

    part: Pattern

    @property
    def sql(self) -> str:
        return f"{{- {self.part.sql} -}}"


@dataclass(frozen=True)
class Anchor:
    """`^` or `$`: the place before the first row, or after the last one."""

    start: bool

    @property
    def sql(self) -> str:
        return "^" if self.start else "$"


Pattern = Var | Seq | Choice | Repeat | Permute | Exclude | Anchor


def _in_brackets(part: Pattern, kinds: object) -> str:
    is_empty = part == Seq()
    return f"({part.sql})" if isinstance(part, kinds) and not is_empty else part.sql  # type: ignore[arg-type]


def parts_of(pattern: Pattern) -> tuple[Pattern, ...]:
    match pattern:
        case Seq(parts) | Choice(parts) | Permute(parts):
            return parts
        case Repeat(part) | Exclude(part):
            return (part,)
    return ()


def leaves_out(pattern: Pattern) -> bool:
    """Whether a part of a pattern is excluded from ALL ROWS PER MATCH."""
    return isinstance(pattern, Exclude) or any(map(leaves_out, parts_of(pattern)))


def variables_of(pattern: Pattern) -> tuple[str, ...]:
    """The variables of a pattern, in the order in which they are named."""
    if isinstance(pattern, Var):
        return (pattern.name,)
    return tuple(dict.fromkeys(v for part in parts_of(pattern) for v in variables_of(part)))


# Expressions


@dataclass(frozen=True)
class Taken:
    """A row that a match has: its place in the partition, its variable; `hidden` by `{- -}`."""

    place: int
    variable: str
    hidden: bool = False


Path = tuple[Taken, ...]


@dataclass(frozen=True)
class View:
    """What an expression sees: a match as far as it has come, and, for FINAL, the whole of it."""

    rows: Rows
    subsets: dict[str, tuple[str, ...]]
    path: Path
    whole: Path
    number: int | None

    def of(self, variable: str, final: bool | None) -> list[int]:
        """The places of the rows of a variable; "" is every variable."""
        path = self.whole if final else self.path
        among = self.subsets.get(variable, (variable,))
        return [t.place for t in path if not variable or t.variable in among]


@dataclass(frozen=True)
class Lit:
    value: object

    @property
    def sql(self) -> str:
        if self.value is None:
            return "NULL"
        return f"'{self.value}'" if isinstance(self.value, str) else str(self.value)


@dataclass(frozen=True)
class Col:
    """A column, inside of `Nav` and `Agg` only."""

    name: str


@dataclass(frozen=True)
class Nav:
    """A value at one row: the last of a variable, or LAST or FIRST with an offset (`first` is None
    if neither is written), and `shift` rows after that one (before it, if negative)."""

    inner: Expr
    variable: str = ""
    first: bool | None = None
    offset: int = 0
    shift: int = 0
    final: bool | None = None

    @property
    def sql(self) -> str:
        text = sql_of(self.inner, self.variable)
        if self.first is not None:
            offset = f", {self.offset}" if self.offset else ""
            text = f"{_tense(self.final)}{'FIRST' if self.first else 'LAST'}({text}{offset})"
        if self.shift:
            by = f", {abs(self.shift)}" if abs(self.shift) != 1 else ""
            text = f"{'NEXT' if self.shift > 0 else 'PREV'}({text}{by})"
        return text


@dataclass(frozen=True)
class Agg:
    """An aggregate over the rows of a variable; without an argument, it counts them."""

    function: str
    variable: str = ""
    argument: Expr | None = None
    final: bool | None = None

    @property
    def sql(self) -> str:
        if self.argument is None:
            inside = f"{self.variable}.*" if self.variable else "*"
        else:
            inside = sql_of(self.argument, self.variable)
        if self.function == "count distinct":
            return f"{_tense(self.final)}count(DISTINCT {inside})"
        return f"{_tense(self.final)}{self.function}({inside})"


@dataclass(frozen=True)
class Classifier:
    """The variable of the last row, or of the last row of some variables."""

    variable: str = ""
    final: bool | None = None

    @property
    def sql(self) -> str:
        return f"{_tense(self.final)}CLASSIFIER({self.variable})"


@dataclass(frozen=True)
class MatchNumber:
    sql = "MATCH_NUMBER()"


@dataclass(frozen=True)
class Bin:
    """A comparison, + - *, AND, OR."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Not:
    operand: Expr


@dataclass(frozen=True)
class IsNull:
    operand: Expr


Expr = Lit | Col | Nav | Agg | Classifier | MatchNumber | Bin | Not | IsNull


def _tense(final: bool | None) -> str:
    return {None: "", False: "RUNNING ", True: "FINAL "}[final]


def sql_of(e: Expr, variable: str = "") -> str:
    """The text of an expression; the columns in it are those of a variable."""
    match e:
        case Col(name):
            return f"{variable}.{name}" if variable else name
        case Bin(op, left, right):
            return f"({sql_of(left, variable)} {op} {sql_of(right, variable)})"
        case Not(operand):
            return f"(NOT {sql_of(operand, variable)})"
        case IsNull(operand):
            return f"({sql_of(operand, variable)} IS NULL)"
    return e.sql


def operands_of(e: Expr) -> tuple[Expr, ...]:
    match e:
        case Bin(_, left, right):
            return left, right
        case Not(operand) | IsNull(operand):
            return (operand,)
    return ()


def value_of(e: Expr, view: View, row: dict[str, object] | None = None) -> object:
    """The value of an expression; None is NULL, and unknown. `row` is that of its columns."""

    def of(inner: Expr) -> object:
        return value_of(inner, view, row)

    match e:
        case Lit(value):
            return value
        case Col(name):
            assert row is not None
            return row[name]
        case Nav():
            place = place_of(e, view)
            return None if place is None else value_of(e.inner, view, view.rows[place])
        case Agg(function, variable, argument, final):
            rows = [view.rows[place] for place in view.of(variable, final)]
            return aggregate(function, [value_of(argument or Lit(1), view, r) for r in rows])
        case Classifier(variable, final):
            places = view.of(variable, final)
            return next((t.variable for t in view.whole if places and t.place == places[-1]), None)
        case MatchNumber():
            return view.number
        case Bin("AND", left, right):
            return both(of(left), of(right))
        case Bin("OR", left, right):
            return either(of(left), of(right))
        case Bin(op, left, right):
            return binary(op, of(left), of(right))
        case Not(operand):
            return negation(of(operand))
        case IsNull(operand):
            return of(operand) is None
    raise TypeError(e)


def place_of(nav: Nav, view: View) -> int | None:
    """The row that a navigation leads to, if there is one."""
    places = view.of(nav.variable, nav.final)
    if nav.offset >= len(places):
        return None
    place = (places[nav.offset] if nav.first else places[-1 - nav.offset]) + nav.shift
    return place if 0 <= place < len(view.rows) else None


def aggregate(function: str, everything: list) -> object:
    """An aggregate over the values of some rows."""
    values = [value for value in everything if value is not None]
    if function == "count":
        return len(values)
    if function == "count distinct":
        return len(set(values))
    if function == "array_agg":
        return tuple(everything) if everything else None
    if not values:
        return None
    match function:
        case "sum":
            return total(values)
        case "avg":
            return total(values) / len(values)
        case "min":
            return min(values)
        case "max":
            return max(values)
    raise ValueError(function)


def ahead(e: Expr | None) -> int:
    """How far NEXT in an expression looks."""
    if e is None:
        return 0
    own = max(e.shift, 0) if isinstance(e, Nav) else 0
    return max([own, *(ahead(operand) for operand in operands_of(e))])


# The search


@dataclass(frozen=True)
class Recognize:
    """What stands in MATCH_RECOGNIZE ( … )."""

    pattern: Pattern
    partition: tuple[str, ...] = ()
    order: tuple[tuple[str, bool], ...] = (("ts", False),)
    """Columns, and whether each goes down."""
    writes_order: bool = True
    measures: tuple[tuple[str, Expr], ...] = ()
    output: str | None = None
    """one, all, show, omit, unmatched; None if nothing is written."""
    skip: str | None = None
    """past, next, first, last, to; None if nothing is written."""
    skip_to: str = ""
    within: int | None = None
    unit: str = ""
    """That of `within`; without one, it is a bare number."""
    subsets: tuple[tuple[str, tuple[str, ...]], ...] = ()
    defines: tuple[tuple[str, Expr], ...] = ()

    @property
    def sql(self) -> str:
        """Everything from `MATCH_RECOGNIZE` to the closing bracket."""
        return f"MATCH_RECOGNIZE ({' '.join(self._clauses())})"

    def _clauses(self) -> Iterator[str]:
        if self.partition:
            yield f"PARTITION BY {', '.join(self.partition)}"
        if self.writes_order:
            order = ", ".join(f"{c} DESC" if down else c for c, down in self.order)
            yield f"ORDER BY {order}"
        if self.measures:
            yield "MEASURES " + ", ".join(f"{sql_of(e)} AS {n}" for n, e in self.measures)
        if self.output is not None:
            yield OUTPUTS[self.output]
        if self.skip is not None:
            yield f"AFTER MATCH SKIP {SKIPS[self.skip]}{self.skip_to}"
        yield f"PATTERN ({self.pattern.sql})"
        if self.within is not None:
            interval = f"INTERVAL '{self.within}' {self.unit}"
            yield f"WITHIN {interval if self.unit else self.within}"
        if self.subsets:
            subsets = (f"{name} = ({', '.join(those)})" for name, those in self.subsets)
            yield f"SUBSET {', '.join(subsets)}"
        if self.defines:
            yield "DEFINE " + ", ".join(f"{v} AS {sql_of(e)}" for v, e in self.defines)

    @property
    def shows_all(self) -> bool:
        return self.output not in (None, "one")

    @property
    def look(self) -> int:
        """How far NEXT in the measures looks."""
        return max((ahead(e) for _, e in self.measures), default=0)


OUTPUTS = {
    "one": "ONE ROW PER MATCH",
    "all": "ALL ROWS PER MATCH",
    "show": "ALL ROWS PER MATCH SHOW EMPTY MATCHES",
    "omit": "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
    "unmatched": "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
}
SKIPS = {
    "past": "PAST LAST ROW",
    "next": "TO NEXT ROW",
    "first": "TO FIRST ",
    "last": "TO LAST ",
    "to": "TO ",
}


@dataclass(frozen=True)
class Match:
    """A match that began at row `start`; `decided` is the last row that was asked for."""

    number: int
    start: int
    path: Path
    decided: int


@dataclass
class Attempt:
    """The search from one row; `reach` is the last row it has asked for so far."""

    query: Recognize
    rows: Rows
    start: int
    number: int
    reach: int = 0
    steps: int = 0
    defines: dict[str, Expr] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.reach = self.start
        self.defines = dict(self.query.defines)

    def preferred(self) -> Path | None:
        return next(self.ways(self.query.pattern, (), False), None)

    def ways(self, part: Pattern, path: Path, hidden: bool) -> Iterator[Path]:
        """How a mapping can go on by a part of the pattern, in the order of preferment."""
        match part:
            case Var(name):
                if self.takes(name, path):
                    yield (*path, Taken(self.start + len(path), name, hidden))
            case Seq(()):
                yield path
            case Seq((first, *rest)):
                for longer in self.ways(first, path, hidden):
                    yield from self.ways(Seq(tuple(rest)), longer, hidden)
            case Choice(parts):
                for one in parts:
                    yield from self.ways(one, path, hidden)
            case Permute(parts):
                for order in permutations(parts):
                    yield from self.ways(Seq(order), path, hidden)
            case Repeat():
                yield from self.repeated(part, 0, path, hidden)
            case Exclude(inside):
                yield from self.ways(inside, path, True)
            case Anchor(start):
                if self.is_at(start, self.start + len(path)):
                    yield path

    def repeated(self, part: Repeat, times: int, path: Path, hidden: bool) -> Iterator[Path]:
        """What goes beyond the least number takes a row each time."""
        if part.reluctant and times >= part.low:
            yield path
        if part.high is None or times < part.high:
            for longer in self.ways(part.part, path, hidden):
                if times < part.low or len(longer) > len(path):
                    yield from self.repeated(part, times + 1, longer, hidden)
        if not part.reluctant and times >= part.low:
            yield path

    def takes(self, variable: str, path: Path) -> bool:
        """Whether the next row meets the condition of a variable."""
        self.steps += 1
        if self.steps > STEPS:
            raise TooLong
        place, condition = self.start + len(path), self.defines.get(variable)
        self.reach = max(self.reach, place)
        if place >= len(self.rows) or self.is_beyond(place):
            return False
        self.reach = max(self.reach, place + ahead(condition))
        if condition is None:
            return True
        here = (*path, Taken(place, variable))
        view = View(self.rows, dict(self.query.subsets), here, here, self.number)
        return value_of(condition, view) is True

    def is_beyond(self, place: int) -> bool:
        """Whether a row comes too late for a match that begins here."""
        if self.query.within is None:
            return False
        time = self.query.order[0][0]
        return self.rows[place][time] - self.rows[self.start][time] > self.query.within  # type: ignore[operator]

    def is_at(self, start: bool, place: int) -> bool:
        if start:
            return place == 0
        self.reach = max(self.reach, place)
        return place == len(self.rows)


def matches(query: Recognize, rows: Rows, ends: bool) -> list[Match]:
    """The matches in a partition, in order. One that `ends` has no more rows than these; of another
    one, the matches are those that are decided by these rows."""
    found: list[Match] = []
    start, decided = 0, 0
    while start < len(rows):
        attempt = Attempt(query, rows, start, len(found) + 1)
        path = attempt.preferred()
        goes_on = start + 1
        decided = max(decided, attempt.reach)
        is_good = path is not None
        if path:
            place = next_start(query, path)
            is_good, goes_on = place is not None, place or start + 1
            decided = max(decided, path[-1].place + query.look if is_good else 0)
        if not ends and decided >= len(rows):
            break
        if is_good and path is not None:
            found.append(Match(len(found) + 1, start, path, decided))
        start = goes_on
    return found


def next_start(query: Recognize, path: Path) -> int | None:
    """Where the search goes on after a match; None if the skip leads nowhere, or to its start."""
    if query.skip == "next":
        return path[0].place + 1
    if query.skip in (None, "past"):
        return path[-1].place + 1
    among = dict(query.subsets).get(query.skip_to, (query.skip_to,))
    places = [t.place for t in path if t.variable in among]
    if not places:
        return None
    place = places[0] if query.skip == "first" else places[-1]
    return None if place == path[0].place else place


def rows_of(query: Recognize, rows: Rows, match: Match) -> Iterator[dict[str, object]]:
    """The rows that are shown for a match, with all columns and the measures."""
    whole, subsets = match.path, dict(query.subsets)

    def shown(row: dict[str, object], path: Path) -> dict[str, object]:
        view = View(rows, subsets, path, whole, match.number)
        return row | {name: value_of(e, view) for name, e in query.measures}

    if not query.shows_all or (not whole and query.output != "omit"):
        yield shown(rows[match.start], whole)
        return
    for n, taken in enumerate(whole):
        if not taken.hidden:
            yield shown(rows[taken.place], whole[: n + 1])


def unmatched(query: Recognize, rows: Rows, found: list[Match]) -> Iterator[dict[str, object]]:
    """The rows that no match has and at which no empty one begins."""
    seen = {t.place for match in found for t in match.path} | {m.start for m in found if not m.path}
    for place, row in enumerate(rows):
        if place not in seen:
            yield row | {name: None for name, _ in query.measures}


def partitions(query: Recognize, rows: Rows) -> list[Rows]:
    """NULLs are one partition."""
    parts: dict[tuple, Rows] = {}
    for row in rows:
        parts.setdefault(tuple(row[c] for c in query.partition), []).append(row)
    return list(parts.values())


def of_stream(query: Recognize, rows: Rows) -> list[tuple[int, dict[str, object]]]:
    """What a stream gives, with its instants. The rows are in order, equal times as they came."""
    time, found = query.order[0][0], []
    for part in partitions(query, rows):
        for match in matches(query, part, ends=False):
            instant = part[match.decided][time]
            found += [(instant, row) for row in rows_of(query, part, match)]
    return found  # type: ignore[return-value]


def of_table(query: Recognize, rows: Rows) -> Rows:
    """What the rows of a table give."""
    shown: Rows = []
    for part in partitions(query, rows):
        part = ordered(query, part)
        found = matches(query, part, ends=True)
        shown += [row for match in found for row in rows_of(query, part, match)]
        if query.output == "unmatched":
            shown += unmatched(query, part, found)
    return shown


def ordered(query: Recognize, rows: Rows) -> Rows:
    """By the columns of ORDER BY, then by the others; NULL is below every value."""
    names = [name for name, _ in query.order]
    others = [name for name in (rows[0] if rows else ()) if name not in names]
    for name, down in reversed([*query.order, *((name, False) for name in others)]):
        rows = sorted(rows, key=lambda row: _key(row[name]), reverse=down)
    return rows


def _key(value: object) -> tuple:
    return (value is not None, value if value is not None else 0)
