"""Join ordering: what leaves few rows is joined first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millstream.algebra.expressions import Column, Expression, columns_of, conjunction
from millstream.algebra.node import Node
from millstream.operators import Join, Project
from millstream.rules.pieces import conditions, moves_columns_only, substitute
from millstream.rules.sizes import PASSES, is_equality, size_of

GAIN = 0.9
"""A new order must cost less than this share of the old one."""

MANY = 8
"""With more inputs than this, only the smallest is tried as the first."""


def order_joins(node: Node) -> Node | None:
    """Join three and more inputs in the order that makes the fewest pairs on the way.

        Join a = b and a = c                 Project a, b, c
          Join everything                      Join a = c
            L (a)                      →         Join a = b
            M (c)                                  L (a)
            R (b)                                  R (b)
                                                 M (c)

    Sound because a row of the result is one row of each input, alive while all of them are,
    whatever the order; it is known by them, and has no arrival. A projection puts the columns back.
    The cost is the number of pairs of every join, guessed from the windows; an order is changed
    only for one that costs less, so this comes to an end. Without an equality the smaller side is
    the right one, which is sent everywhere.
    """
    if not isinstance(node, Join):
        return None
    chain = _Chain.of(node)
    if len(chain.inputs) < 3 or not chain.is_plain:
        return None
    starts = chain.inputs if len(chain.inputs) <= MANY else (min(chain.inputs, key=size_of),)
    plans = [chain.joined_from(first) for first in starts]
    best = min(plans, key=lambda plan: plan.cost)
    if best.cost >= GAIN * chain.cost:
        return None
    outputs = tuple((name, chain.outputs[name]) for name in node.schema.names)
    return Project(outputs, best.node)


@dataclass(frozen=True)
class _Plan:
    """A join of some inputs, its size, what it costs to make, and the conditions it has tested."""

    node: Node
    size: float
    cost: float = 0.0
    tested: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class _Chain:
    """Joins on top of joins, taken apart: inputs, conditions, and what became of their columns.

    Law: the size of a join of some inputs does not depend on their order. So what is better for a
    part of a chain is better for all of it.
    """

    inputs: tuple[Node, ...]
    parts: tuple[Expression, ...]
    outputs: Mapping[str, Expression]
    joins: tuple[frozenset[str], ...] = ()

    @staticmethod
    def of(node: Node) -> _Chain:
        match node:
            case Join(condition=condition, left=left, right=right):
                a, b = _Chain.of(left), _Chain.of(right)
                outputs = {**a.outputs, **b.outputs}
                parts = tuple(substitute(c, outputs) for c in conditions(condition))
                inputs = (*a.inputs, *b.inputs)
                joins = (*a.joins, *b.joins, _names(inputs))
                return _Chain(inputs, (*a.parts, *b.parts, *parts), outputs, joins)
            case Project(outputs=moved, input=Join() as join) if moves_columns_only(node):
                below = _Chain.of(join)
                names = {n: substitute(e, below.outputs) for n, e in moved}
                return _Chain(below.inputs, below.parts, names, below.joins)
        names = {f.name: Column(f.name, f.type) for f in node.schema}
        return _Chain((node,), (), names)

    @property
    def is_plain(self) -> bool:
        """Whether no two inputs have a column of one name, and each has some."""
        count = sum(len(node.schema) for node in self.inputs)
        return count == len(_names(self.inputs)) and all(len(n.schema) for n in self.inputs)

    @property
    def cost(self) -> float:
        """The pairs that all joins make."""
        return sum(self.size(names) for names in self.joins)

    def size(self, names: frozenset[str]) -> float:
        """The rows of the join of the inputs that have these columns."""
        sizes = {n: size_of(i) for i in self.inputs for n in i.schema.names if n in names}
        result = 1.0
        for node in self.inputs:
            if node.schema.names[0] in names:
                result *= size_of(node)
        for part in self.parts:
            read = columns_of(part)
            if read <= names:
                result *= 1.0 / max(sizes[n] for n in read) if is_equality(part) else PASSES
        return result

    def joined_from(self, first: Node) -> _Plan:
        """One input after the other, each time the one that leaves the fewest rows."""
        plan = _Plan(first, size_of(first))
        rest = [node for node in self.inputs if node is not first]
        while rest:
            steps = [self._with(plan, node) for node in rest]
            chosen = min(range(len(rest)), key=lambda i: steps[i].size)
            plan = steps[chosen]
            del rest[chosen]
        return plan

    def _with(self, plan: _Plan, other: Node) -> _Plan:
        """A join with one more input, by the conditions that could not be tested before."""
        names = frozenset((*plan.node.schema.names, *other.schema.names))
        parts = [p for p in self.parts if columns_of(p) <= names and p not in plan.tested]
        sides = [plan.node, other]
        if not any(is_equality(p) for p in parts) and plan.size < size_of(other):
            sides.reverse()
        size = self.size(names)
        joined = Join(conjunction(parts), *sides)
        return _Plan(joined, size, plan.cost + size, (*plan.tested, *parts))


def _names(nodes: tuple[Node, ...]) -> frozenset[str]:
    return frozenset(name for node in nodes for name in node.schema.names)
