"""Lifetimes: how the rows of a relation live. It is derived here once, and read everywhere else."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from millstream.algebra.pattern import Label, Pattern, simple


class Ends(IntEnum):
    """Whether rows are emitted with an end that is known beforehand, and who made it."""

    OPEN = 0
    """No row is: each stays until it is retracted, or for good."""

    COMPUTED = 1
    """Some rows may be: an operator with state has computed their ends."""

    GIVEN = 2
    """Some rows may be: the ends are those that a window by time gave to the rows of its stream."""


@dataclass(frozen=True)
class Lifetime:
    """How the rows of a node live, from the moment they enter until they have left.

    Each operator computes it from the lifetimes of its inputs, in `Node.lives`.
    Laws: it is monotonic exactly when its pattern is MON; then nothing is retracted, no end is
    known, and no row is transient.
    """

    label: Label
    """The update pattern, and why it is that one."""

    retracts: bool
    """Whether a row may be retracted before its known end, or without one."""

    ends: Ends

    transient: bool
    """Whether every row leaves, at the latest, at an instant that is known when it comes, however
    the strategy emits that. A window by rows is not: later rows decide."""

    consolidated: bool
    """Whether at one instant no row both enters and leaves."""

    bounded: bool
    """Whether the number of rows has a bound that does not grow with the stream. Of the elements of
    a stream none stays."""

    @property
    def pattern(self) -> Pattern:
        return self.label.pattern

    @property
    def monotonic(self) -> bool:
        """Whether a row, once in the relation, never leaves it."""
        return self.pattern is Pattern.MON

    @property
    def ends_known(self) -> bool:
        """Whether rows may be emitted with an end that is known beforehand."""
        return self.ends is not Ends.OPEN


def elements(reason: str = "elements of a stream never leave") -> Lifetime:
    """The elements of a stream: they are there at their instant, and nothing undoes them."""
    return Lifetime(
        Label(Pattern.MON, reason),
        retracts=False,
        ends=Ends.OPEN,
        transient=False,
        consolidated=True,
        bounded=True,
    )


def windowed(stream: Lifetime, label: Label) -> Lifetime:
    """A window by time over a stream: every end is known, or no row ever leaves."""
    leaves = label.pattern is not Pattern.MON
    return Lifetime(
        label,
        retracts=stream.retracts,
        ends=Ends.GIVEN if leaves else Ends.OPEN,
        transient=leaves,
        consolidated=stream.consolidated,
        bounded=leaves,
    )


def passed_on(*inputs: Lifetime) -> Lifetime:
    """Rows that live as in the inputs they come from: rule 1 for one input, rule 2 for two."""
    return Lifetime(
        simple(given.pattern for given in inputs),
        retracts=any(given.retracts for given in inputs),
        ends=max(given.ends for given in inputs),
        transient=all(given.transient for given in inputs),
        consolidated=all(given.consolidated for given in inputs),
        bounded=all(given.bounded for given in inputs),
    )


def left_open(label: Label, bounded: bool, transient: bool = False) -> Lifetime:
    """Rows that are emitted without an end, and retracted when they leave."""
    return Lifetime(
        label,
        retracts=label.pattern is not Pattern.MON,
        ends=Ends.OPEN,
        transient=transient,
        consolidated=True,
        bounded=bounded,
    )


def ends_of(*inputs: Lifetime) -> Ends:
    """The ends that an operator with state computes from those of its inputs."""
    return Ends.COMPUTED if any(given.ends_known for given in inputs) else Ends.OPEN
