"""What is known of the tuples of an attempt that failed.

An attempt has taken spans of tuples, one for each element. Tuples have names here: the only one of
a plain element, the first and the last of a star, one later than the first, and the one at which
the attempt failed. Conditions over these names, true or not, are what is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from millstream.algebra.expressions import (
    TRUE,
    Call,
    Column,
    Expression,
    Literal,
    columns_of,
    rewrite,
    walk,
)
from millstream.algebra.types import BOOLEAN, DOUBLE, INTEGER
from millstream.conditions.implications import Fact, Sense, impossible
from millstream.conditions.terms import scaled_of
from millstream.patterns.references import Cell, cell_of

if TYPE_CHECKING:
    from millstream.patterns.sequence import Sequence
from millstream.patterns.tallies import Tally


class Reason(Enum):
    """Why an attempt failed: by a tuple, or by what a star that it ends has to meet; because there
    are no more rows; or because its time was over, when nothing is known of the tuple."""

    CONDITION = 0
    END = 1
    TIME = 2


class Part(Enum):
    """Which tuple of a span; `START` is a later one, not the last, at which another attempt
    begins."""

    ONLY = "only"
    FIRST = "first"
    LATER = "later"
    START = "start"
    LAST = "last"
    NEXT = "next"


class Spot(NamedTuple):
    """A tuple of a span, or one so many tuples before it. `NEXT` is the tuple after all spans."""

    span: int
    part: Part
    shift: int = 0

    def __str__(self) -> str:
        return f"{self.part.value} {self.span} {self.shift}"


@dataclass(frozen=True)
class Named(Column):
    """A column of such a tuple, or a count up to it."""

    spot: Spot


@dataclass(frozen=True)
class Failure:
    """An attempt that failed at an element, of which it had `taken` tuples or not.

    In the first `sure` spans no number that conditions multiply is negative; in those of all
    spans and one more, neither is any of the tuple at which it failed.
    """

    reason: Reason
    element: int
    taken: bool
    sure: int = 0

    @property
    def spans(self) -> int:
        return self.element + self.taken


class Taken(NamedTuple):
    """The tuples of an element: its first and last, if they have names, and what is known of all
    of them: that they are a span from its first tuple on, or from a later one."""

    first: Spot | None
    last: Spot | None
    whole: int | None = None
    tail: int | None = None


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What is known after a failure; `bases` are the numbers that `bases_of` finds."""

    sequence: Sequence
    failure: Failure
    bases: tuple[Expression, ...] = ()
    _about: dict[Spot, tuple[Fact, ...]] = field(default_factory=dict)

    def first_of(self, span: int) -> Spot:
        """The first tuple of a span, or the one after all of them."""
        if span == self.failure.spans:
            return Spot(span, Part.NEXT)
        return Spot(span, Part.FIRST if self.sequence.elements[span].star else Part.ONLY)

    def last_of(self, span: int) -> Spot:
        return Spot(span, Part.LAST if self.sequence.elements[span].star else Part.ONLY)

    def decide(
        self, condition: Expression, element: int, taken: tuple[Taken, ...], is_first: bool
    ) -> bool | None:
        """Whether a condition of an element holds for other tuples of elements, the first of its
        own among them or not; None if that is not known. Of tuples that cannot be, it is said that
        they do not: an attempt that comes to them is followed no further."""
        about = self._of(condition, taken)
        facts = self._needed(about, self._limits(element, taken[element], is_first))
        if impossible([*facts, (about, Sense.TRUE)]):
            return False
        return True if impossible([*facts, (about, Sense.NOT_TRUE)]) else None

    def named_by(self, condition: Expression) -> frozenset[int]:
        """The elements that a condition names."""
        names = {e.name: at for at, e in enumerate(self.sequence.elements)}
        names |= {tally.name: names[tally.element] for tally in self.sequence.tallies}
        columns = columns_of(condition)
        cells = [cell.variable for cell in map(cell_of, columns) if cell is not None]
        return frozenset(names[name] for name in (*columns, *cells) if name in names)

    def _limits(self, element: int, mine: Taken, is_first: bool) -> tuple[Fact, ...]:
        """What is known of how many tuples an element has that another attempt looks for."""
        number = self._count(element, mine)
        if is_first:
            return ((_compare("=", number, 1), Sense.TRUE),)
        out = [(_compare(">=", number, 1), Sense.TRUE)]
        if mine.tail is not None and mine.last is not None:
            whole = _count_at(mine.tail, mine.last)
            fewer = Call("<", (number, whole), BOOLEAN)
            out.append((fewer, Sense.TRUE))
        return tuple(out)

    def _count(self, element: int, mine: Taken) -> Column:
        if mine.whole is not None and mine.last is not None:
            return _count_at(mine.whole, mine.last)
        return Column(f"#count of {element}", INTEGER)

    def _of(self, condition: Expression, taken: tuple[Taken, ...]) -> Expression:
        """A condition with the names of tuples in place of those of elements."""
        sequence = self.sequence
        names = {e.name: at for at, e in enumerate(sequence.elements)}
        tallies = {tally.name: tally for tally in sequence.tallies}

        def named(part: Expression) -> Expression | None:
            if not isinstance(part, Column):
                return None
            if part.name in tallies:
                tally = tallies[part.name]
                at = names[tally.element]
                return self._tally(tally, at, taken[at], part)
            cell = cell_of(part.name)
            if cell is None:
                return None
            mine = taken[names[cell.variable]]
            spot = mine.last if cell.last else mine.first
            if spot is None:
                return Column(f"#some {part.name}", part.type)
            return self._column(cell, spot, part)

        return rewrite(condition, named)

    def _column(self, cell: Cell, spot: Spot, part: Column) -> Column:
        spot = self.settled(replace_shift(spot, cell.shift))
        return Named(f"{spot} {cell.column}", part.type, spot)

    def settled(self, spot: Spot) -> Spot:
        """A tuple before the first one of a span by its name in the span before."""
        while spot.shift < 0 and spot.span > 0 and spot.part in _FIRST:
            before = self.last_of(spot.span - 1)
            spot = replace_shift(before, spot.shift + 1)
        return spot

    def _tally(self, tally: Tally, element: int, mine: Taken, part: Column) -> Column:
        if tally.counts_rows:
            return self._count(element, mine)
        call = tally.call
        words = f"{tally.function} {call.arguments} {call.parameter} {tally.rows}"
        if mine.whole is not None and mine.last is not None:
            return Named(f"#{words} {mine.whole} to {mine.last}", part.type, mine.last)
        return Column(f"#{words} of {element}", part.type)

    def _needed(self, about: Expression, limits: tuple[Fact, ...]) -> list[Fact]:
        """The facts that have to do with a condition, directly or by way of each other."""
        near = frozenset().union(_spots(about), *(_spots(limit) for limit, _ in limits))
        facts = [*limits, *self._facts(near)]
        further = frozenset().union(*(_spots(fact) for fact, _ in facts)) - near
        facts += [fact for fact in self._facts(further) if fact[1] is Sense.TRUE]
        return list(dict.fromkeys(_connected(about, facts)))

    def _facts(self, spots: Iterable[Spot]) -> Iterator[Fact]:
        for spot in spots:
            if spot not in self._about:
                self._about[spot] = tuple(self.known_of(spot))
            yield from self._about[spot]

    def known_of(self, spot: Spot) -> Iterator[Fact]:
        """What the attempt has found out about a tuple."""
        span, failure, elements = spot.span, self.failure, self.sequence.elements
        if spot.part is Part.NEXT:
            if spot.shift == 0 and failure.reason is Reason.CONDITION:
                yield from self._at_failure(spot)
            return
        if spot.shift < 0 and spot.part not in (Part.LATER, Part.START):
            return
        if spot.shift < -1:
            return
        mine = Taken(self.first_of(span), spot, span)
        yield self._of(elements[span].test, (*self._before(span), mine)), Sense.TRUE
        yield from self._sizes(spot)
        if spot.part in _FIRST and span > 0 and elements[span - 1].star:
            refused = Taken(self.first_of(span - 1), spot, span - 1)
            test = self._of(elements[span - 1].test, (*self._before(span - 1), refused))
            yield test, Sense.NOT_TRUE
        if spot.part in (Part.FIRST, Part.LAST) and elements[span].final != TRUE:
            whole = (*self._before(span), Taken(self.first_of(span), self.last_of(span), span))
            final = self._of(elements[span].final, whole)
            if span < failure.element:
                yield final, Sense.TRUE
            elif failure.reason is Reason.CONDITION:
                yield final, Sense.NOT_TRUE
        if span < failure.sure:
            yield from self._not_negative(spot)

    def _at_failure(self, spot: Spot) -> Iterator[Fact]:
        """The tuple that an element did not take, and neither did the star before it."""
        failure, elements = self.failure, self.sequence.elements
        at = failure.element
        refused = [at] if failure.taken else [at - 1, at] if elements[at - 1].star else [at]
        for element in refused:
            begun = element < failure.spans
            mine = Taken(self.first_of(element) if begun else spot, spot, element)
            test = self._of(elements[element].test, (*self._before(element), mine))
            yield test, Sense.NOT_TRUE
        if failure.sure > failure.spans:
            yield from self._not_negative(spot)

    def _before(self, span: int) -> tuple[Taken, ...]:
        return tuple(Taken(self.first_of(k), self.last_of(k), k) for k in range(span))

    def _sizes(self, spot: Spot) -> Iterator[Fact]:
        """How many tuples a span has from its first to this one."""
        number = _count_at(spot.span, spot)
        op, least = {
            Part.ONLY: ("=", 1),
            Part.FIRST: ("=", 1),
            Part.LAST: (">=", 1),
        }.get(spot.part, (">=", 2 + spot.shift))
        yield _compare(op, number, least), Sense.TRUE
        if spot.part in (Part.LATER, Part.START):
            last = _count_at(spot.span, self.last_of(spot.span))
            yield Call("<=", (number, last), BOOLEAN), Sense.TRUE

    def _not_negative(self, spot: Spot) -> Iterator[Fact]:
        for base in self.bases:
            sized = rewrite(base, lambda part: self._at(part, spot))
            yield negative(sized), Sense.NOT_TRUE

    def _at(self, part: Expression, spot: Spot) -> Expression | None:
        cell = cell_of(part.name) if isinstance(part, Column) else None
        return None if cell is None else self._column(cell, spot, part)  # type: ignore[arg-type]


_FIRST = (Part.ONLY, Part.FIRST, Part.NEXT)


def replace_shift(spot: Spot, shift: int) -> Spot:
    """The tuple so many tuples on from there."""
    return spot._replace(shift=spot.shift + shift)


def negative(base: Expression) -> Call:
    return Call("<", (base, Literal(0.0, DOUBLE)), BOOLEAN)


def bases_of(sequence: Sequence) -> tuple[Expression, ...]:
    """The numbers of one tuple that conditions multiply by a constant, in doubles.

    What follows from such a product depends on their sign, for which rows are asked.
    """
    conditions = [c for e in sequence.elements for c in (e.test, e.final)]
    found = [scaled_of(part) for condition in conditions for part in walk(condition)]
    bases = dict.fromkeys(
        rewrite(base, _current) for _, base in filter(None, found) if _is_of_one_tuple(base)
    )
    return tuple(bases)


def _is_of_one_tuple(base: Expression) -> bool:
    cells = [cell_of(name) for name in columns_of(base)]
    return all(cells) and len({cell.place for cell in cells if cell is not None}) == 1


def _current(part: Expression) -> Expression | None:
    """A cell as that of the current tuple, whichever element has it."""
    cell = cell_of(part.name) if isinstance(part, Column) else None
    if cell is None:
        return None
    return Column(str(replace(cell, variable="", last=True, nth=0)), part.type)


def _count_at(span: int, spot: Spot) -> Column:
    return Named(f"#count {span} to {spot}", INTEGER, spot)


def _compare(op: str, number: Column, bound: int) -> Call:
    return Call(op, (number, Literal(bound, INTEGER)), BOOLEAN)


def _spots(condition: Expression) -> frozenset[Spot]:
    """The tuples that a condition names."""
    return frozenset(part.spot for part in walk(condition) if isinstance(part, Named))


def _connected(about: Expression, facts: list[Fact]) -> list[Fact]:
    """The facts that share columns with a condition, or with such facts."""
    out: list[Fact] = []
    columns, waiting = set(columns_of(about)), list(facts)
    while True:
        near = [fact for fact in waiting if columns & columns_of(fact[0])]
        if not near:
            return out
        out += near
        waiting = [fact for fact in waiting if fact not in near]
        for fact, _ in near:
            columns |= columns_of(fact)
