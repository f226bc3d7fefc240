"""Which conditions imply or exclude each other: a small decision procedure.

Conditions are taken apart into alternatives, those into inequalities between sums, and a
contradiction in each of them is looked for. What it says is so; what it does not see may be so all
the same: functions whose meaning it does not know are values like columns, equal where they are
written alike. A value is *comparable* if it is neither NULL nor NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from functools import lru_cache

from millstream.algebra.expressions import Call, Cast, Expression, Literal
from millstream.algebra.types import DOUBLE, is_numeric
from millstream.conditions.inequalities import AtMost, Linear, contradict
from millstream.conditions.terms import Terms, about_values, scaled_of

PATIENCE = 400
"""So many alternatives are looked at before a contradiction is no longer looked for."""


class Sense(Enum):
    """What is known of a condition. A condition that is not true is false or unknown."""

    TRUE = "true"
    FALSE = "false"
    NOT_TRUE = "not true"
    NOT_FALSE = "not false"

    @property
    def opposite(self) -> Sense:
        """What is known of a condition when this is known of its negation."""
        return _OPPOSITES[self]


_OPPOSITES = {Sense.TRUE: Sense.FALSE, Sense.NOT_TRUE: Sense.NOT_FALSE}
_OPPOSITES |= {there: here for here, there in _OPPOSITES.items()}

Fact = tuple[Expression, Sense]


class State(Enum):
    """What is known of a value beside its size."""

    COMPARABLE = 1
    NOT_COMPARABLE = 2
    NULL = 4
    NOT_NULL = 8


Value = tuple[Expression, State]
Goal = Fact | Value | AtMost
Alternatives = list[list[Goal]]


def implies(condition: Expression, other: Expression) -> bool:
    """Whether the other is true wherever the condition is.

    >>> from millstream.algebra.expressions import Column
    >>> from millstream.algebra.types import BOOLEAN, INTEGER
    >>> x = Column("x", INTEGER)
    >>> above = [Call(">", (x, Literal(n, INTEGER)), BOOLEAN) for n in (1, 2)]
    >>> implies(above[1], above[0]), implies(above[0], above[1])
    (True, False)
    """
    return impossible([(condition, Sense.TRUE), (other, Sense.NOT_TRUE)])


def excludes(condition: Expression, other: Expression) -> bool:
    """Whether the other is nowhere true where the condition is."""
    return impossible([(condition, Sense.TRUE), (other, Sense.TRUE)])


def impossible(facts: Iterable[Fact]) -> bool:
    """Whether the facts cannot all be, whatever the columns are; False if that is not seen."""
    return _impossible(frozenset(facts))


@lru_cache(maxsize=20_000)
def _impossible(facts: frozenset[Fact]) -> bool:
    goals: list[Goal] = list(facts)
    return _Search(Terms(), list(facts)).closed(goals, {}, [])


class _Search:
    """All alternatives, one after the other; `lemmas` hold in each."""

    def __init__(self, terms: Terms, facts: list[Fact]) -> None:
        self.terms = terms
        lemmas = about_values(terms, [condition for condition, _ in facts])
        self.lemmas: list[Alternatives] = [[list(way) for way in lemma] for lemma in lemmas]
        self.patience = PATIENCE

    def closed(
        self, goals: list[Goal], states: dict[int, int], sizes: list[AtMost], lemma: int = 0
    ) -> bool:
        """Whether each alternative ends in a contradiction. Known are the states of values, as
        bits, and inequalities."""
        goals, states, choices = list(goals), dict(states), []
        more = []
        while goals:
            goal = goals.pop()
            if isinstance(goal, AtMost):
                more.append(goal)
            elif isinstance(goal[1], State):
                if self._note(goal, states):  # type: ignore[arg-type]
                    return True
            elif len(found := self._alternatives(*goal)) == 1:  # type: ignore[arg-type]
                goals += found[0]
            elif not found:
                return True
            else:
                choices.append((found, goal))
        if more and contradict([*sizes, *more], self.terms.whole):
            return True
        if choices:
            choices.sort(key=lambda choice: len(choice[0]))
            first = choices[0][0]
            rest: list[Goal] = [goal for _, goal in choices[1:]]
        elif lemma < len(self.lemmas):
            first, rest, lemma = self.lemmas[lemma], [], lemma + 1
        else:
            return False
        for alternative in first:
            self.patience -= 1
            if self.patience < 0:
                return False
            if not self.closed([*alternative, *rest], states, [*sizes, *more], lemma):
                return False
        return True

    def _note(self, fact: Value, states: dict[int, int]) -> bool:
        """Note the state of a value and what follows from it; True if it cannot be."""
        waiting = [fact]
        while waiting:
            value, state = waiting.pop()
            number, bit = self.terms.number(value), int(state.value)
            mine = states.get(number, 0)
            if mine & bit:
                continue
            states[number] = mine = mine | bit
            if mine & _COMPARES == _COMPARES or mine & _IS_NULL == _IS_NULL:
                return True
            waiting += _follows(value, state)
        return False

    def _alternatives(self, condition: Expression, sense: Sense) -> Alternatives:
        """Of what one has to be if this is known of the condition."""
        known, wanted = sense in (Sense.TRUE, Sense.FALSE), sense in (Sense.TRUE, Sense.NOT_FALSE)
        match condition:
            case Literal(value=None):
                return [] if known else [[]]
            case Literal(value=value):
                return [[]] if value == wanted else []
            case Call(function="not", arguments=(inner,)):
                return [[(inner, sense.opposite)]]
            case Call(function="and" | "or" as name, arguments=parts):
                goals: list[Goal] = [(part, sense) for part in parts]
                return [goals] if wanted == (name == "and") else [[goal] for goal in goals]
            case Call(function="is_null", arguments=(inner,)):
                return [[(inner, State.NULL if wanted else State.NOT_NULL)]]
            case Call(function=name, arguments=(left, right)) if name in _NEGATED:
                return self._compared(name, left, right, sense)
        size = Linear({self.terms.number(condition): 1}, -int(wanted))
        is_so: list[Goal] = [AtMost(size), AtMost(size.times(-1)), (condition, State.NOT_NULL)]
        return [is_so] if known else [is_so, [(condition, State.NULL)]]

    def _compared(
        self, name: str, left: Expression, right: Expression, sense: Sense
    ) -> Alternatives:
        """The ways in which two values can compare."""
        if sense in (Sense.FALSE, Sense.NOT_TRUE):
            name = _NEGATED[name]
        less = self.terms.linear(left).minus(self.terms.linear(right))
        both: list[Goal] = [(side, State.COMPARABLE) for side in (left, right)]
        out: Alternatives = [[*both, *sizes] for sizes in _sizes(name, less)]
        not_null: list[Goal] = [(side, State.NOT_NULL) for side in (left, right)]
        for side in (left, right):
            if sense not in (Sense.TRUE, Sense.FALSE):
                out.append([(side, State.NOT_COMPARABLE)])
            elif side.type == DOUBLE and (name == "<>" or sense is Sense.FALSE):
                out.append([*not_null, (side, State.NOT_COMPARABLE)])  # NaN is like nothing
        return out


_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "<>", "<>": "="}
_COMPARES = State.COMPARABLE.value | State.NOT_COMPARABLE.value
_IS_NULL = State.NULL.value | State.NOT_NULL.value


def _sizes(name: str, less: Linear) -> list[list[AtMost]]:
    """What a comparison says of the left side less the right one."""
    more = less.times(-1)
    match name:
        case "<" | "<=":
            return [[AtMost(less, name == "<")]]
        case ">" | ">=":
            return [[AtMost(more, name == ">")]]
        case "=":
            return [[AtMost(less), AtMost(more)]]
    return [[AtMost(less, True)], [AtMost(more, True)]]


_STRICT = ("+", "-", "*", "/", "div", "%", "neg", "abs")
"""Functions whose result is comparable only if what they are given is."""


def _follows(value: Expression, state: State) -> Iterator[Value]:
    """What else is known of a value, or of those it is made of."""
    if isinstance(value, Literal):
        there = value.value is not None and value.value == value.value
        yield value, State.COMPARABLE if there else State.NOT_COMPARABLE
        yield value, State.NULL if value.value is None else State.NOT_NULL
        return
    if state is State.COMPARABLE:
        yield value, State.NOT_NULL
        numbers = is_numeric(value.type) and all(is_numeric(c.type) for c in value.children)
        if isinstance(value, Cast) and numbers:
            yield value.argument, State.COMPARABLE
        elif isinstance(value, Call) and value.function in _STRICT:
            yield from ((inner, State.COMPARABLE) for inner in value.children)
    elif state is State.NULL:
        yield value, State.NOT_COMPARABLE
    elif value.type != DOUBLE:
        yield value, State.COMPARABLE if state is State.NOT_NULL else State.NULL
    if state is State.NOT_COMPARABLE:
        scaled = scaled_of(value)
        if isinstance(value, Cast) and is_numeric(value.argument.type) and value.type == DOUBLE:
            yield value.argument, State.NOT_COMPARABLE
        elif scaled is not None and scaled[0] and -1 <= scaled[0] <= 1:
            yield scaled[1], State.NOT_COMPARABLE
