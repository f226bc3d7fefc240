"""Which of several plans is taken: those that the rules of COSTED lead to, and the cheapest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field, replace

from millstream.algebra.changes import no_rows
from millstream.algebra.node import Node, map_inputs, once, transform
from millstream.operators import StaticTable, Stored, TableScan, Tagged
from millstream.plan.annotate import line_of, shortened
from millstream.plan.cost import cost_of
from millstream.plan.statistics import NOTHING, Statistics
from millstream.rules import COSTED, Optimizer, Whole, optimize

WIDEST = 40
"""So much of an operator's line says where a rule was applied."""

MOST = 24
"""The most plans that are compared."""

GAIN = 0.9
"""Another plan must cost less than this share of what the rules made anyhow."""

Steps = tuple[str, ...]
"""How a plan is reached: names of rules, each with the node it is applied to."""

BY_NAME = {rule.__name__: rule for rule in COSTED}


@dataclass(frozen=True)
class Alternative:
    """A plan with the steps that lead to it; `cost` in nanoseconds for every instant."""

    plan: Node
    steps: Steps
    cost: float
    places: tuple[str, ...] = ()
    """For every step, the operator that its rule was applied to, in words."""

    @property
    def rules(self) -> str:
        """The rules that were applied, and where."""
        names = [step.partition(" ")[0] for step in self.steps]
        applied = [f"{name} at {place}" for name, place in zip(names, self.places)]
        return ", ".join(applied) or "as written"


@dataclass
class Chooser:
    """Takes the cheapest plan of every part, or the one in which it runs already.

    Law: a part that runs, in this plan or that, is planned as it runs, whatever is measured by now,
    so that those who read it share its state. `made` has the steps of all parts, `looked_at` the
    plans that were compared, at most so many of a part.
    """

    running: Set[Node] = frozenset()
    statistics: Statistics = NOTHING
    most: int = MOST
    made: dict[str, Steps] = field(default_factory=dict)
    looked_at: dict[str, list[Alternative]] = field(default_factory=dict)

    def optimized(self, root: Node, views: Iterable[Node] = ()) -> Node:
        """The plan after all rules."""
        return optimize(root, views, self._choose)

    def _choose(self, part: Node, plan: Node, optimizer: Optimizer) -> Node:
        """The emitted changes and the stored result of a query come from one plan, chosen below."""
        if isinstance(plan, Whole):
            return plan
        if isinstance(plan, (Tagged, Stored)):
            below = self._choose(part.inputs[0], plan.input, optimizer)
            return replace(plan, input=below)
        name = part_name(part)
        found = alternatives(plan, optimizer, self.statistics, self.most)
        best = self._running(found, optimizer) or cheapest(found)
        self.made[name], self.looked_at[name] = best.steps, found
        return best.plan

    def _running(self, found: list[Alternative], optimizer: Optimizer) -> Alternative | None:
        if not self.running or len(found) == 1:
            return None
        return next((one for one in found if optimizer.finished(one.plan) in self.running), None)


def part_name(part: Node) -> str:
    """The name of a part: what it computes, whatever tables hold in the beginning."""
    return transform(part, _bare).fingerprint


def _bare(node: Node) -> Node:
    """A table without its rows; one that never changes, also without the stream of its time."""
    if not isinstance(node, TableScan):
        return node
    table = StaticTable(node.table.name, "", no_rows(node.schema))
    return TableScan(table, node.keys, None if node.is_static else node.input)


def alternatives(
    plan: Node, optimizer: Optimizer, statistics: Statistics, most: int = MOST
) -> list[Alternative]:
    """The plan, then those that are a step away, going on from the cheapest."""

    def priced(plan: Node, steps: Steps, places: tuple[str, ...]) -> Alternative:
        done = optimizer.finished(plan)
        cost = cost_of(done if done.is_stream else Tagged(None, done), statistics)
        return Alternative(plan, steps, cost, places)

    if most == 1 or not any(_steps(plan)):
        return [Alternative(plan, (), 0.0)]
    found = {plan: priced(plan, (), ())}
    open_ones = [plan]
    while open_ones and len(found) < most:
        best = min(open_ones, key=lambda p: found[p].cost)
        open_ones.remove(best)
        for step in _steps(best):
            other = _taken(best, step, optimizer)
            if other is not None and other not in found and len(found) < most:
                before = found[best]
                places = (*before.places, _place(best, step))
                found[other] = priced(other, (*before.steps, step), places)
                open_ones.append(other)
    return list(found.values())


def cheapest(found: list[Alternative]) -> Alternative:
    """The one with the least cost; the first, unless another is clearly better."""
    best = min(found, key=lambda one: one.cost)
    return best if best.cost < GAIN * found[0].cost else found[0]


def _steps(plan: Node) -> Iterator[str]:
    """Every rule with every node that it applies to."""
    for node in _own(plan):
        for name, rule in BY_NAME.items():
            if rule(node) is not None:
                yield f"{name} {node.fingerprint}"


def _place(plan: Node, step: str) -> str:
    """The operator that a step is about, in words."""
    at = step.partition(" ")[2]
    return next(shortened(line_of(n, 0), WIDEST) for n in _own(plan) if n.fingerprint == at)


def _taken(plan: Node, step: str, optimizer: Optimizer) -> Node | None:
    """The plan after a step, with all other rules applied again."""
    name, _, at = step.partition(" ")
    rule = BY_NAME.get(name)
    node = next((n for n in _own(plan) if n.fingerprint == at), None)
    changed = None if rule is None or node is None else rule(node)
    if changed is None or node is None:
        return None
    return optimizer.optimized(_put(plan, node, changed))


def _own(plan: Node) -> Iterator[Node]:
    """The nodes of a plan down to parts that are rewritten by themselves, inputs first."""
    seen: set[Node] = set()

    def visit(node: Node) -> Iterator[Node]:
        if node not in seen and not isinstance(node, Whole):
            seen.add(node)
            for child in node.inputs:
                yield from visit(child)
            yield node

    return visit(plan)


def _put(plan: Node, old: Node, new: Node) -> Node:
    """The plan with one node in place of another."""
    visited = once(lambda node: new if node == old else map_inputs(node, visited))
    return visited(plan)
