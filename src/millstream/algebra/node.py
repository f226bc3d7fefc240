"""The nodes of plans: what every operator says about itself."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.facts import Arrival, Columns, Probe
from millstream.algebra.lifetime import Lifetime
from millstream.algebra.pattern import Label, Pattern
from millstream.algebra.state_layout import StateLayout
from millstream.algebra.state_parts import StatePart
from millstream.algebra.time import Domain, Span

State = Mapping[str, Any]
"""What an operator keeps between steps, in parts by name: see millstream.state."""

Step = tuple[State, Changes]

Load = Callable[[str], State]
"""The state of a name, as it was left by the step before."""

Wanted = Mapping[str, pa.Scalar]
"""Which rows are asked for: those that are equal to these values in these columns."""

NOTHING: Wanted = {}
"""No row may be left out."""

Distribution = tuple[str, ...] | None
"""How rows lie in buckets: rows equal in these columns are together; () asks for all in one bucket,
None is anywhere."""

ONE = "#one"


def one_bucket(key: str) -> Distribution:
    """All rows in one bucket, which the key decides on: not all that is single lies in the same."""
    return (ONE, key)


def home_of(spread: Distribution, buckets: int) -> int | None:
    """The bucket in which all rows lie, if they lie in one."""
    return int(spread[1], 16) % buckets if spread is not None and spread[:1] == (ONE,) else None


BROADCAST: Distribution = ("#everywhere",)
"""Every bucket has all rows."""

Pairs = tuple[tuple[str, str], ...] | None
"""Columns of the left and right input whose equal values must lie together; () when the right must
be everywhere, None when any way will do."""


@dataclass(frozen=True, eq=False)
class Node:
    """An operator of a plan, with its inputs as fields.

    Equality, hashing, the plan text and the fingerprint derive from the fields: nodes are equal
    when they compute the same thing, wherever they stand.
    What is known of an operator stands here with the answer that is safe for every operator, if
    there is one; an operator overrides what it can say better. What has no safe answer (`lives`)
    each operator must say. Estimates, costs, words and readers are tables in `plan/` and `rules/`.
    """

    state_layout: StateLayout = field(default=StateLayout(), kw_only=True)
    """How it keeps its state. It changes nothing in what is computed, nor what the state is."""

    stateless: ClassVar[bool] = False
    follows_reader: ClassVar[bool] = False
    is_stream: ClassVar[bool] = False
    is_window: ClassVar[bool] = False
    """Whether it makes a relation of the elements of a stream."""
    accepts_previous: ClassVar[bool] = False
    can_broadcast_left: ClassVar[bool] = False
    can_broadcast_right: ClassVar[bool] = False
    """Whether the rows of that input may lie in every bucket, those of the other in any."""
    follows_content: ClassVar[bool] = False
    """Whether its output follows from the rows that are in its inputs at an instant, whenever these
    came. Windows do not, nor does a join with a table as it was. A new query can begin with the
    content of those that run only where this holds; see engine/opening.py."""
    takes_at_once: ClassVar[bool] = False
    """Whether it can take all changes of a step as if they were at its last instant."""
    row_by_row: ClassVar[bool] = False
    """Whether it makes what it makes of every row alone, at any time."""
    one_to_one: ClassVar[bool] = False
    """Whether it gives one row for every row of its input, at the same times: to count its rows
    says no more than to count the input's."""
    moves_rows: ClassVar[bool] = False
    """Whether it only brings rows to other buckets; hosts carry it out."""
    removes_copies: ClassVar[bool] = False
    """Whether it gives one copy of every row of its input, and does nothing else."""
    keeps_ends: ClassVar[bool] = False
    """Whether, though it has state, it wants the ends of its input rows as windows gave them."""
    uses_ends: ClassVar[bool] = False
    """Whether it makes use of known ends though it has no state: idle where a strategy has none."""
    probe: ClassVar[Probe] = Probe.NONE
    long_steps: ClassVar[bool] = False
    """Whether a step costs the groups that it touches, so that few long ones are cheaper."""
    state_parts: ClassVar[tuple[StatePart, ...]] = ()

    @cached_property
    def inputs(self) -> tuple[Node, ...]:
        names = names_of(type(self))
        return tuple(v for name in names if isinstance(v := getattr(self, name), Node))

    @property
    def input_schema(self) -> pa.Schema:
        return self.inputs[0].schema

    @property
    def since(self) -> tuple[str, ...]:
        """The streams whose first element begins the time of the node's query; () for its own."""
        return ()

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the output; those of the first input unless an operator says otherwise."""
        return self.inputs[0].schema

    @cached_property
    def key(self) -> tuple[str, ...] | None:
        """Columns that no two rows present at one instant share; () for at most one row."""
        return self.inputs[0].key

    def lives(self, *inputs: Any, **named: Any) -> Lifetime:
        """How the rows of the output live, from how those of the inputs do."""
        raise NotImplementedError(f"{type(self).__name__} does not say how its rows live")

    @cached_property
    def lifetime(self) -> Lifetime:
        """How the rows of the output live: what follows until `monotonic` is read from it."""
        return self.lives(*(node.lifetime for node in self.inputs))

    def cuts(self, span: Span, most: int) -> list[int]:
        """Instants at which a span is cut, so that a step gives about so many rows that are not
        made of its inputs."""
        return []

    def closes(self, last: int) -> int:
        """The instant at which the last window, slot or session of it is closed, if the last change
        of its inputs is at `last`. What never closes does not count."""
        return last

    @property
    def label(self) -> Label:
        """In what order rows leave, and why."""
        return self.lifetime.label

    @property
    def pattern(self) -> Pattern:
        return self.lifetime.pattern

    @property
    def never_retracts(self) -> bool:
        """True when no row of the output is ever retracted before its known end."""
        return not self.lifetime.retracts

    @property
    def is_consolidated(self) -> bool:
        """True when at one instant no row both enters and leaves the output."""
        return self.lifetime.consolidated

    @property
    def monotonic(self) -> bool:
        """True when a row, once in the output, never leaves it."""
        return self.lifetime.monotonic

    @property
    def reach(self) -> int | None:
        """How much longer than for its inputs a row matters to what it gives; None for ever, as
        long as a window does not say otherwise."""
        return None if self.is_window else 0

    @property
    def arrival(self) -> Arrival:
        """What it does with the arrival numbers of its input rows."""
        return Arrival.USED

    @property
    def has_arrival(self) -> bool:
        """True when every row of the output has an arrival number that no other has."""
        return False

    @cached_property
    def row_limit(self) -> int | None:
        """The most rows that the output ever has at one instant, if the plan alone bounds them."""
        return None

    @cached_property
    def value_limit(self) -> int | None:
        """The most different rows that the output ever has, if the plan alone bounds them."""
        return None

    @cached_property
    def time_domain(self) -> Domain | None:
        """What the instants of its time count; None where no stream says it."""
        return next((d for node in self.inputs if (d := node.time_domain) is not None), None)

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...] | None:
        """The columns of every input that it needs to give the wanted ones.

        None when it looks at whole rows: then none may be left out.
        """
        return None

    def with_columns(self, wanted: Columns) -> Node | None:
        """The same rows in the wanted columns only, of an operator that has columns of its own;
        None of one that has those of its inputs."""
        return None

    @property
    def required_distribution(self) -> Distribution:
        """The distribution its input must have; None when any will do."""
        return None

    @property
    def join_keys(self) -> Pairs:
        """Of an operator with two inputs, which rows must meet."""
        return None

    def distribution(self, given: Distribution, *others: Distribution) -> Distribution:
        """The distribution of the output when the inputs have the given ones."""
        return given

    def wish_below(self, wish: Distribution) -> Distribution:
        """The distribution that its only input should have for the output to have this one."""
        return None

    def step(self, *given: Any, **named: Any) -> Step:
        """`step(state, changes, span)`: take the changes of every input at the instants of the
        span; give the new state and the changes of the output."""
        raise TypeError(f"{type(self).__name__} is carried out by the host")

    def recalled(self, load: Load, span: Span) -> State:
        """The state with which it goes into a step."""
        return {} if self.stateless else load(self.state_name)

    def opened(self, span: Span) -> State:
        """The state with which it goes into its first step, where that leads from the dawn of time
        up to the instant at which its query joins."""
        return {}

    @property
    def can_snapshot(self) -> bool:
        """Whether states hold the rows present, so that a reader need not keep them once more."""
        return self.row_by_row and self.inputs[0].can_snapshot

    def snapshot(self, load: Load, instant: int, wanted: Wanted = NOTHING) -> Changes | None:
        """The rows present at an instant, as they were emitted, if states hold them; those that are
        not wanted may be left out."""
        if not self.row_by_row:
            return None
        below = self.inputs[0].snapshot(load, instant, self.wanted_below(wanted))
        return None if below is None else self.step({}, below, Span(instant - 1, instant, None))[1]

    def wanted_below(self, wanted: Wanted) -> Wanted:
        """What is wanted of the rows of its only input, where that is known."""
        return NOTHING

    @property
    def words(self) -> str:
        """The fields as they stand in the plan text after the operator's name."""
        return ""

    @cached_property
    def text(self) -> str:
        """The plan as text: one operator a line, inputs indented below."""
        name = type(self).__name__
        lines = [f"{name} {self.words}".rstrip()]
        for node in self.inputs:
            lines.extend("  " + line for line in node.text.splitlines())
        return "\n".join(lines)

    @cached_property
    def fingerprint(self) -> str:
        """What it computes, as a short name: the same for the same computation, in every run."""
        return self._short_name("fingerprint")

    @cached_property
    def meaning(self) -> str:
        """What it computes, however that is carried out: the same name under every strategy."""
        if all(node.meaning == node.fingerprint for node in self.inputs):
            return self.fingerprint
        return self._short_name("meaning")

    @property
    def state_name(self) -> str:
        """What its state is called. It does not depend on the strategy, which may change."""
        return self.meaning

    def _short_name(self, inputs: str) -> str:
        own = [
            f"{name}={_stable(getattr(self, name), inputs)}"
            for name in names_of(type(self))
            if name != "state_layout"
        ]
        described = f"{type(self).__name__}({', '.join(own)}):{self._schema_text}"
        return hashlib.sha256(described.encode()).hexdigest()[:20]

    @cached_property
    def _schema_text(self) -> str:
        if self.inputs and self.schema is self.inputs[0].schema:
            return self.inputs[0]._schema_text
        return _stable(self.schema, "")

    @cached_property
    def hash_value(self) -> int:
        return int(self.fingerprint, 16)

    def __hash__(self) -> int:
        return self.hash_value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self.fingerprint == other.fingerprint


def names_of(kind: type[Node]) -> tuple[str, ...]:
    """The names of the fields of an operator."""
    if kind not in _names:
        _names[kind] = tuple(f.name for f in fields(kind))
    return _names[kind]


_names: dict[type[Node], tuple[str, ...]] = {}


def _stable(value: object, inputs: str) -> str:
    if isinstance(value, Node):
        return getattr(value, inputs)
    if isinstance(value, tuple):
        return "(" + ",".join(_stable(v, inputs) for v in value) + ")"
    if isinstance(value, pa.Schema):
        return ",".join(f"{f.name}:{f.type}" for f in value)
    return repr(value)


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, each once, inputs first."""
    seen: set[Node] = set()

    def visit(current: Node) -> Iterator[Node]:
        if current in seen:
            return
        seen.add(current)
        for child in current.inputs:
            yield from visit(child)
        yield current

    yield from visit(node)


def has_state(node: Node) -> bool:
    """Whether any part of a plan keeps something from one step to the next."""
    return not all(part.stateless for part in walk(node))


def map_inputs(node: Node, change: Callable[[Node], Node]) -> Node:
    """The same node over changed inputs."""
    if not node.inputs:
        return node
    updates = {
        name: change(v)
        for name in names_of(type(node))
        if isinstance(v := getattr(node, name), Node)
    }
    if all(updates[name] is getattr(node, name) for name in updates):
        return node
    return with_inputs(node, updates)


def with_inputs(node: Node, inputs: Mapping[str, Node]) -> Node:
    """The same node with other inputs in the fields of these names."""
    changed: dict[str, Any] = dict(inputs)
    return replace(node, **changed)


def once(visit: Callable[[Node], Node]) -> Callable[[Node], Node]:
    """The same function, carried out once for equal parts of a plan."""
    done: dict[Node, Node] = {}

    def visited(node: Node) -> Node:
        if node not in done:
            done[node] = visit(node)
        return done[node]

    return visited


def transform(root: Node, change: Callable[[Node], Node]) -> Node:
    """The plan with every node changed, inputs first; equal ones once."""
    visited = once(lambda node: change(map_inputs(node, visited)))
    return visited(root)
