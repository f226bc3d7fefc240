"""Aggregate: all that is known of an aggregate function, as one value."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from millstream.aggregates.running import Running
from millstream.aggregates.values import Values
from millstream.state.ordered_run import OrderedRun

Result = Callable[[pa.DataType | None], pa.DataType | None]
"""The type an aggregate gives for an argument of a type; None if it does not take it."""


@runtime_checkable
class Placing(Protocol):
    """A way that goes by the places of rows in their partition, for OVER alone.

    State: numbers of every partition, by name; 0 for a new one.
    """

    @property
    def slots(self) -> tuple[str, ...]: ...

    def run(self, run: OrderedRun, arguments: tuple[str, ...], slots: list[np.ndarray]) -> pa.Array:
        """The result for every arrival; `slots` move on."""


class Sorting(Enum):
    """By what an aggregate that keeps values puts them in order."""

    VALUE = "by themselves"
    ARGUMENT = "by its second argument"
    TIME = "by the instant and the arrival of the rows, which they must have"
    TIME_IF_ANY = "by the instant and the arrival of the rows, or else by themselves"


class Keeps(Enum):
    """What of the values of a column must stay when several rows become one of larger weight."""

    COUNT = "how many there are"
    SUM = "their sum"
    ENDS = "the least and the greatest"


@dataclass(frozen=True)
class Combining:
    """How rows may be combined before an aggregate runs over them: what must stay the same.

    That holds for arguments of these types, or of all where none are named.
    """

    keeps: Keeps
    types: tuple[pa.DataType, ...] | None = None

    def takes(self, argument: pa.DataType) -> bool:
        return self.types is None or argument in self.types


@dataclass(frozen=True)
class Arity:
    """How many arguments an aggregate takes; the second in words, where there can be one."""

    least: int = 1
    most: int = 1
    second: str = ""
    example: str = ""


@dataclass(frozen=True)
class Parameter:
    """A constant that stands after the argument of an aggregate.

    `read` makes it from a literal and its type, or answers None: that is `refused`, with a hint.
    `kind` is its type in Python, which also reads it back from the text of a plan.
    """

    kind: type[float] | type[str]
    read: Callable[[object, pa.DataType], float | str | None]
    refused: str
    hint: str
    default: float | str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Aggregate:
    """An aggregate function.

    `usage` and `meaning` stand in the manual. The signature is `arity`, `parameter` and `result`;
    the argument is converted to `argument` where that is given. `way` is its state and its run: a
    few numbers per group, or the values of the group. `of_nothing` is what it gives for no rows.
    `order_matters` says that the order in which rows arrive matters to it beyond what it is given
    as arguments. `once` is the aggregate that takes equal values once; one that `ignores_copies` is
    that itself, and `of` is the name people write where it is another than its own. `combines` says
    how rows may be combined before it runs; None if they may not be.

    Law: two aggregates are equal when their names and digests are. The digest stands in the
    fingerprints of plans, so that no aggregate reads the state that another one wrote. `definition`
    is what the digest is made of beside the name: the edition of a built-in, which is raised when
    its state or its answers change, or the text of a definition.
    """

    name: str
    usage: str
    meaning: str
    result: Result
    way: Running | Values | Placing
    aliases: tuple[str, ...] = ()
    arity: Arity = Arity()
    parameter: Parameter | None = None
    argument: pa.DataType | None = None
    sorting: Sorting = Sorting.VALUE
    counts_nulls: bool = False
    of_nothing: int | None = None
    order_matters: bool = False
    ignores_copies: bool = False
    once: Aggregate | None = None
    of: str | None = None
    combines: Combining | None = None
    definition: str = "1"

    @cached_property
    def digest(self) -> str:
        """A short name of what it computes."""
        return hashlib.sha256(f"{self.name}\n{self.definition}".encode()).hexdigest()[:16]

    @property
    def called(self) -> str:
        """Its name as people write it."""
        return self.of or self.name

    @property
    def keeps_values(self) -> bool:
        """Whether its state is the values of every group, and not a few numbers."""
        return not isinstance(self.way, Running | Placing)

    @property
    def goes_by_time(self) -> bool:
        return self.sorting in (Sorting.TIME, Sorting.TIME_IF_ANY)

    def of_distinct(self) -> Aggregate | None:
        """The aggregate that takes equal values once; None if there is none."""
        return self if self.ignores_copies else self.once

    def __repr__(self) -> str:
        return f"{self.name}#{self.digest}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Aggregate) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))
