"""Patterns that match never, or always: what their conditions imply."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from millstream.algebra.expressions import TRUE, Expression, name_text
from millstream.conditions.implications import Fact, Sense, impossible
from millstream.patterns.knowledge import Failure, Knowledge, Reason
from millstream.patterns.recognition import Recognition
from millstream.patterns.search import Search
from millstream.patterns.sequence import Element, Sequence


class Why(Enum):
    """Why it is certain; the name of the element or variable stands in the place of the braces."""

    NO_TUPLE = "no tuple meets the conditions of {}"
    NO_END = "no star {} that has ended meets what is asked of it then"
    STAR_TAKES_ALL = "the star before {} takes each tuple that {} could take"
    AGAINST_EARLIER = "the conditions of {} contradict those of the elements before it"
    NEVER_ENDS = "every tuple meets the conditions of {}, so that it never ends"
    MATCHES_ALL = "all tuples meet its conditions"
    ONE_WAY = "all rows meet the conditions of one way through it"
    NO_ROW = "it also matches no row at all, and each such match is a row of the answer"


@dataclass(frozen=True)
class Certainty:
    """That a pattern never matches, or always, and by which element or variable."""

    matches: bool
    why: Why
    name: str = ""

    @property
    def reason(self) -> str:
        return self.why.value.replace("{}", self.name)


def certainty_of(search: Search, *, closed: bool) -> Certainty | None:
    """What is certain; None if the pattern may match and may not, or that is not seen. `closed`
    says that rows end, which ends a star."""
    match search:
        case Sequence():
            return _of_sequence(search, closed)
        case Recognition():
            return _of_recognition(search)
    return None


def _of_sequence(sequence: Sequence, closed: bool) -> Certainty | None:
    """Element by element: what is known of a match that has come so far."""
    knowledge = Knowledge(sequence, Failure(Reason.END, sequence.length, False))
    facts = list[Fact]()
    for at, element in enumerate(sequence.elements):
        spots = dict.fromkeys((knowledge.first_of(at), knowledge.last_of(at)))
        mine = [fact for spot in spots for fact in knowledge.known_of(spot)]
        if impossible([*facts, *mine]):
            return Certainty(False, _why(element, facts, mine), str(element))
        facts += mine
    last = sequence.elements[-1]
    if last.star and not closed and sequence.within is None and _holds_always(last.test):
        return Certainty(False, Why.NEVER_ENDS, str(last))
    stars = any(element.star for element in sequence.elements)
    if not stars and all(_holds_always(element.test) for element in sequence.elements):
        return Certainty(True, Why.MATCHES_ALL)
    return None


def _why(element: Element, facts: list[Fact], mine: list[Fact]) -> Why:
    """What of these stands in the way of an element, the simplest reason first."""
    if impossible([(element.test, Sense.TRUE)]):
        return Why.NO_TUPLE
    met = [fact for fact in mine if fact[1] is Sense.TRUE]
    if element.star and impossible(met):
        return Why.NO_END
    return Why.AGAINST_EARLIER if impossible([*facts, *met]) else Why.STAR_TAKES_ALL


def _holds_always(condition: Expression) -> bool:
    return condition == TRUE or impossible([(condition, Sense.NOT_TRUE)])


def _of_recognition(search: Recognition) -> Certainty | None:
    """Whether the program can be carried out to its end: by variables whose conditions some row
    meets, and by those whose conditions every row meets."""
    conditions = dict(zip(search.variables, search.conditions))
    program = search.program
    none = [v for v, c in conditions.items() if impossible([(c, Sense.TRUE)])]
    numbers = {name: number for number, name in enumerate(search.variables)}
    if not program.ends_with(set(numbers.values()) - {numbers[v] for v in none}, anchors=True):
        return Certainty(False, Why.NO_TUPLE, " and ".join(map(name_text, none)))
    if program.ends_with(set(), anchors=False):
        shown = search.shows != "all omit empty"
        return Certainty(True, Why.NO_ROW) if shown else None
    every = {numbers[v] for v, c in conditions.items() if _holds_always(c)}
    if program.ends_with(every, anchors=False):
        return Certainty(True, Why.ONE_WAY)
    return None
