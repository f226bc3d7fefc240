"""Where the next attempt has to begin after a failure, found before any row is looked at.

Another attempt is followed through the spans of the one that failed, tuple by tuple, both ways
where it is not known whether an element takes a tuple. It is left out when every way fails.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

from millstream.algebra.expressions import TRUE, Expression
from millstream.patterns.knowledge import (
    Failure,
    Knowledge,
    Part,
    Reason,
    Spot,
    Taken,
    replace_shift,
)

MANY = 300
"""So many steps of an attempt are followed; one that goes on for longer is not left out."""

_LATER = (Part.LATER, Part.START, Part.LAST)

REACH = 2
"""A tuple so far before the current one still has a name."""


class Source(NamedTuple):
    """Where the tuples of an element come from: from a tuple of a span, counted as in `Start`, to
    the last of a span; of a plain element, only the first of them."""

    span: int
    offset: int
    upto: int
    single: bool
    whole: bool


@dataclass(frozen=True)
class Start:
    """An attempt that may succeed. It begins at the first tuple of a span (`offset` 0), the one
    after that (1) or the last one (2); behind all spans at the tuple at which the attempt before it
    failed (0), or behind that one (1).

    Of some of its elements the tuples are known: it goes on in another span, or at the tuple at
    which the one before it failed.
    """

    span: int
    offset: int = 0
    known: tuple[Source, ...] = ()
    goes_on: int | None = None
    element: int = 0


class _State(NamedTuple):
    """An attempt before its element is tried on a tuple; `taken` has that element if it is a star
    that has begun."""

    spot: Spot | None
    element: int
    taken: tuple[Taken, ...]

    @property
    def has_begun(self) -> bool:
        return len(self.taken) > self.element


class Question(Enum):
    """Whether an element takes a tuple as its first, or as a further one; or whether a star that
    has ended meets what is asked of it then."""

    FIRST = 0
    TAKES = 1
    FINAL = 2


@dataclass(eq=False)
class Decisions:
    """What was decided for a pattern. `effort` is how many conditions may be decided yet; what is
    not decided by then is not known."""

    effort: int = 5_000
    known: dict[tuple[Hashable, ...], bool | None] = field(default_factory=dict)

    names: dict[tuple[int, Question], frozenset[int]] = field(default_factory=dict)

    def named(
        self, knowledge: Knowledge, condition: Expression, asked: tuple[int, Question]
    ) -> frozenset[int]:
        """The elements that a condition names."""
        if asked not in self.names:
            self.names[asked] = knowledge.named_by(condition)
        return self.names[asked]

    def of(self, key: tuple[Hashable, ...], decide: Callable[[], bool | None]) -> bool | None:
        if key not in self.known:
            if self.effort == 0:
                return None
            self.effort -= 1
            self.known[key] = decide()
        return self.known[key]


@dataclass(eq=False)
class Following:
    """Attempts after one that failed, with what is known then."""

    knowledge: Knowledge
    decisions: Decisions

    def starts(self) -> Iterator[Start]:
        """The attempts that may succeed, the first of them first; of all tuples between the first
        and the last of a span, the first stands for the others."""
        failure = self.knowledge.failure
        for span in range(failure.spans):
            if span > 0 and self._may_succeed(self.knowledge.first_of(span)):
                yield self._start(span, 0)
            if self._is_star(span):
                for offset, part in ((1, Part.START), (2, Part.LAST)):
                    if self._may_succeed(Spot(span, part)):
                        yield self._start(span, offset)
        here = Spot(failure.spans, Part.NEXT)
        if failure.reason is not Reason.CONDITION or self._may_succeed(here):
            yield Start(failure.spans)
        else:
            yield Start(failure.spans, 1)

    def _is_star(self, element: int) -> bool:
        return self.knowledge.sequence.elements[element].star

    def _may_succeed(self, spot: Spot) -> bool:
        seen, waiting = set(), [_State(spot, 0, ())]
        while waiting:
            state = waiting.pop()
            if state in seen:
                continue
            seen.add(state)
            after = self._after(state)
            if after is None or len(seen) > MANY:
                return True
            waiting += after
        return False

    def _after(self, state: _State) -> list[_State] | None:
        """What an attempt can come to by one test; None if that may be a match."""
        spot, element = state.spot, state.element
        failure, last = self.knowledge.failure, len(self.knowledge.sequence.elements) - 1
        if spot is not None and spot.part is Part.NEXT and failure.reason is Reason.TIME:
            return None
        if spot is None or (spot.part is Part.NEXT and failure.reason is Reason.END):
            ended = element == last and state.has_begun and self._final(state) is not False
            return None if ended else []
        out: list[_State] = []
        takes = self._takes(state)
        if takes is not False:
            if spot.part is Part.NEXT or (element == last and not self._is_star(element)):
                return None
            out += self._on(state)
        if takes is not True and state.has_begun and self._final(state) is not False:
            if element == last:
                return None
            out.append(_State(spot, element + 1, state.taken))
        return out

    def _on(self, state: _State) -> Iterator[_State]:
        """With the tuple taken, at the next one."""
        assert state.spot is not None
        spot, star = state.spot, self._is_star(state.element)
        mine = self._with(state)
        earlier = state.taken[: state.element]
        element = state.element if star else state.element + 1
        for after in self._next(spot):
            leaves = after.span != spot.span
            taken = tuple(_renamed(t, spot, self._end(spot) if leaves else None) for t in earlier)
            now = _renamed(mine, spot, self._end(spot) if leaves else None)
            if star and leaves and now.last is not None:
                now = now._replace(last=self._end(spot))
            yield _State(after, element, (*taken, now))

    def _end(self, spot: Spot) -> Spot:
        return self.knowledge.last_of(spot.span)

    def _next(self, spot: Spot) -> Iterator[Spot]:
        if spot.part not in (Part.ONLY, Part.LAST):
            yield Spot(spot.span, Part.LATER)
        if spot.part is not Part.START:
            yield self.knowledge.first_of(spot.span + 1)

    def _with(self, state: _State) -> Taken:
        """The tuples of the element, this one among them."""
        spot, element = state.spot, state.element
        assert spot is not None
        if not state.has_begun:
            begins = spot.part in (Part.ONLY, Part.FIRST)
            later = spot.part in _LATER
            return Taken(spot, spot, spot.span if begins else None, spot.span if later else None)
        mine = state.taken[element]
        before = spot.span if spot.part in _LATER else spot.span - 1
        whole = mine.whole if mine.whole == before else None
        tail = mine.tail if mine.tail == before else None
        return Taken(mine.first, spot, whole, tail)

    def _takes(self, state: _State) -> bool | None:
        taken = (*state.taken[: state.element], self._with(state))
        return self._decide(Question.FIRST if not state.has_begun else Question.TAKES, taken)

    def _final(self, state: _State) -> bool | None:
        return self._decide(Question.FINAL, state.taken)

    def _decide(self, question: Question, taken: tuple[Taken, ...]) -> bool | None:
        """Whether the last of these tuples meet what is asked. What is known of a tuple has to do
        with earlier ones only, so failures that differ in later ones decide alike."""
        knowledge, failure, at = self.knowledge, self.knowledge.failure, len(taken) - 1
        asked = knowledge.sequence.elements[at]
        condition = asked.final if question is Question.FINAL else asked.test
        if condition == TRUE:
            return True
        named = self.decisions.named(knowledge, condition, (at, question))
        involved = tuple(t if k in named else None for k, t in enumerate(taken))
        spots = [s for t in (*involved, taken[at]) if t for s in (t.first, t.last) if s]
        latest = max((spot.span for spot in spots), default=0)
        known: Failure | int = failure
        if latest < failure.element:
            known = min(failure.sure, latest + 1)
        return self.decisions.of(
            (question, involved, taken[at], known),
            lambda: knowledge.decide(condition, at, taken, question is Question.FIRST),
        )

    def _start(self, span: int, offset: int) -> Start:
        """With what is known of the attempt whichever way it goes."""
        parts = (self.knowledge.first_of(span), Spot(span, Part.START), Spot(span, Part.LAST))
        first = parts[offset]
        start, state = Start(span, offset), _State(first, 0, ())
        upto = self.knowledge.failure.spans
        while state.spot is not None and state.spot.span < upto:
            arrived = self._through(state)
            if arrived is None:
                break
            state = arrived
            assert state.spot is not None
            sources = [self._source(at, taken) for at, taken in enumerate(state.taken)]
            if None not in sources:
                known = tuple(source for source in sources if source is not None)
                start = replace(start, known=known, goes_on=state.spot.span, element=state.element)
        return start

    def _through(self, state: _State) -> _State | None:
        """The state in which the attempt comes to the next span, if there is one only."""
        assert state.spot is not None
        span, seen, waiting, arrived = state.spot.span, set(), [state], set()
        while waiting:
            now = waiting.pop()
            assert now.spot is not None
            if now.spot.span > span:
                arrived.add(now)
            elif now not in seen:
                seen.add(now)
                takes = self._takes(now)
                ended = None if takes is not False or not now.has_begun else self._final(now)
                after = self._after(now)
                if not after or takes is None or (takes is False and ended is None):
                    return None
                waiting += after
        return arrived.pop() if len(arrived) == 1 else None

    def _source(self, element: int, taken: Taken) -> Source | None:
        first, last = taken.first, taken.last
        if first is None or last is None or first.shift or last.shift:
            return None
        offset = {Part.START: 1, Part.LAST: 2}.get(first.part, 0)
        if first.part is Part.LATER:
            return None
        if not self._is_star(element):
            return Source(first.span, offset, first.span, True, False)
        if last.part not in (Part.ONLY, Part.LAST):
            return None
        whole = offset == 0 and first.span == last.span
        return Source(first.span, offset, last.span, False, whole)


def _renamed(taken: Taken, spot: Spot, end: Spot | None) -> Taken:
    """With names that hold at the next tuple: where it is in the same span, the current one is the
    one before that; where not, it was the last of the span that ends."""
    return taken._replace(first=_name(taken.first, spot, end), last=_name(taken.last, spot, end))


def _name(named: Spot | None, spot: Spot, end: Spot | None) -> Spot | None:
    if named is None or named.part is not Part.LATER or named.span != spot.span:
        return named
    if end is not None:
        return replace_shift(end, named.shift)
    return replace_shift(named, -1) if named.shift > -REACH else None
