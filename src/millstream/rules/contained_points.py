"""Containment of syncs: whether every point of one is a point of another."""

from __future__ import annotations

from dataclasses import dataclass, replace

from millstream.algebra.clock_conditions import points_where
from millstream.algebra.expressions import Column, Expression, columns_of, conjunction
from millstream.algebra.node import Node
from millstream.algebra.points import Points, TooMany, tick_of
from millstream.conditions.implications import implies
from millstream.operators import (
    Distinct,
    Elements,
    Filter,
    Instants,
    Istream,
    Merge,
    Now,
    Project,
    Scan,
    Stamp,
    Unbounded,
    UnionAll,
)
from millstream.operators.clocked import points_of
from millstream.rules.pieces import conditions, substitute

Clock = Points | Node
"""The points of a Sync, or the stream of those of a SyncAt."""


def contains(one: Clock, other: Clock) -> bool:
    """Whether every point of the other clock is one of this one; False if that is not seen.

    Sets of points of the clock are compared as sets. Events are some elements of a stream: they are
    among others if these are of the same stream, and their conditions follow; they are among
    points of the clock if their own time says so.
    """
    theirs, mine = _read(other), _read(one)
    if theirs is None or mine is None:
        return isinstance(one, Node) and isinstance(other, Node) and one == other
    return all(any(_holds(mine_one, part) for mine_one in mine) for part in theirs)


@dataclass(frozen=True)
class _Events:
    """The elements of a stream that meet some conditions; `time` holds the instant of each."""

    stream: Scan
    tests: tuple[Expression, ...]
    time: Expression

    @property
    def points(self) -> Points | None:
        """Points of the clock among which all of these are; None where they lie between ticks."""
        if tick_of(self.stream.time_domain) > 1 or not isinstance(self.time, Column):
            return None
        found = Points.all(1)
        for test in self.tests:
            if columns_of(test) == {self.time.name}:
                found &= points_where(test, self.time.name, 1) or Points.all(1)
        return found


_Part = Points | _Events


def _holds(one: _Part, other: _Part) -> bool:
    try:
        match one, other:
            case Points(), Points():
                return one.tick == other.tick and one.contains(other)
            case Points(), _Events():
                points = other.points
                return points is not None and one.tick == points.tick and one.contains(points)
            case _Events(), _Events():
                same = replace(one.stream, columns=(), tests=()) == replace(
                    other.stream, columns=(), tests=()
                )
                known = conjunction(list(other.tests))
                return same and all(implies(known, test) for test in one.tests)
    except TooMany:
        return False
    return False


def _read(clock: Clock) -> list[_Part] | None:
    """A clock as a union of parts; None if it is something else."""
    if isinstance(clock, Points):
        return [clock]
    stream = clock.input if isinstance(clock, Instants) else clock
    if len(stream.schema) != 1:
        return None
    (time,) = stream.schema
    return _parts(stream, Column(time.name, time.type), ())


def _parts(node: Node, time: Expression, tests: tuple[Expression, ...]) -> list[_Part] | None:
    """The parts of a plan with a column of its time, of whose rows those count that meet
    conditions."""
    if not tests and (points := points_of(node)) is not None:
        return [points]
    match node:
        case Istream() | Elements() | Now() | Unbounded() | Distinct():
            return _parts(node.inputs[0], time, tests)
        case Filter(condition=condition, input=below):
            return _parts(below, time, (*tests, *conditions(condition)))
        case Project(outputs=outputs, input=below):
            values = dict(outputs)
            moved = tuple(substitute(test, values) for test in tests)
            return _parts(below, substitute(time, values), moved)
        case Stamp(input=Scan() as stream) | (Scan() as stream):
            return [_Events(stream, tests, time)]
        case UnionAll(left=left, right=right) | Merge(left=left, right=right):
            return _parts_of_two(left, right, time, tests)
    return None


def _parts_of_two(
    left: Node, right: Node, time: Expression, tests: tuple[Expression, ...]
) -> list[_Part] | None:
    """The right side has other names for the same columns."""
    names = {a.name: Column(b.name, b.type) for a, b in zip(left.schema, right.schema)}
    there = tuple(substitute(test, names) for test in tests)
    a, b = _parts(left, time, tests), _parts(right, substitute(time, names), there)
    return None if a is None or b is None else [*a, *b]
