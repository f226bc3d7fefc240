"""Queries over the views that contain them, where that is cheaper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import combinations

from millstream.algebra.node import Node, has_state, map_inputs, walk
from millstream.blocks.routine import Routine
from millstream.operators import (
    AntiJoin,
    Distinct,
    Feed,
    GroupBy,
    Lateral,
    Recomputed,
    Rstream,
    SemiJoin,
)
from millstream.plan.statistics import NOTHING, Statistics
from millstream.rules.contained_points import Clock
from millstream.settings import Settings
from millstream.sharing.containment import WhyNot, over
from millstream.sharing.pricing import is_cheaper
from millstream.sharing.shared import Shared
from millstream.sharing.skinned import Skinned, at, built, skinned

MOST_LOOKED_AT = 50
"""So many views over the same inputs are looked at for a query, in the order they came in."""

MOST_INPUTS = 5
"""In a query that joins more inputs than this, only views of all of them are looked for."""

Signature = tuple[str, ...]


@dataclass(frozen=True)
class View:
    """A query that others may be computed from: its plan as it is carried out."""

    name: str
    plan: Node

    @property
    def form(self) -> Skinned:
        return skinned(self.plan)


@dataclass
class Views:
    """The queries there are, found by what they read."""

    by_signature: dict[Signature, dict[str, View]] = field(default_factory=dict)

    def add(self, view: View) -> None:
        """Let others be computed from a query; it has to have state, or that would save nothing."""
        if has_state(view.plan):
            mine = self.by_signature.setdefault(signature_of(view.form), {})
            if len(mine) < MOST_LOOKED_AT:
                mine[view.name] = view

    def around(self, form: Skinned) -> Iterator[View]:
        """The views of some inputs of a query, those of most inputs first."""
        mine = signature_of(form)
        sizes = range(len(mine), 0, -1) if len(mine) <= MOST_INPUTS else (len(mine),)
        for size in sizes:
            for some in dict.fromkeys(combinations(mine, size)):
                yield from self.by_signature.get(some, {}).values()


@lru_cache(maxsize=50_000)
def signature_of(form: Skinned) -> Signature:
    """What the inputs of a form are, as far as a view of them can be of use."""
    return tuple(sorted(map(_signature, form.inputs)))


@lru_cache(maxsize=50_000)
def _signature(node: Node) -> str:
    if isinstance(node, GroupBy):
        return f"groups of {signature_of(skinned(node.input))}"
    return node.fingerprint


@dataclass
class Rewriting:
    """A plan over views: `used` are those that it is computed from."""

    views: Views
    name: str
    used: dict[str, View] = field(default_factory=dict)
    done: dict[tuple[Node, Clock | None], Node] = field(default_factory=dict)

    def rewritten(self, node: Node, clock: Clock | None = None) -> Node:
        """The plan with its largest parts that views contain put over these.

        It is looked at at the points of the clock only, if there is one.
        """
        at_points = node, clock
        if at_points not in self.done:
            self.done[at_points] = self._rewritten(node, clock)
        return self.done[at_points]

    def _rewritten(self, node: Node, clock: Clock | None) -> Node:
        form = skinned(node)
        form = form if clock is None else at(clock, form) or form
        for view in self.views.around(form):
            if view.name == self.name or not routines_of(view.plan) <= routines_of(node):
                continue
            if view.plan == node:
                return node
            found = over(form, view.form, view.plan)
            if not isinstance(found, WhyNot):
                self.used[view.name] = view
                return built(found)
        inputs = tuple(self._deeper(one, form.clock) for one in form.inputs)
        return node if inputs == form.inputs else built(replace(form, inputs=inputs))

    def _deeper(self, node: Node, clock: Clock | None) -> Node:
        if isinstance(node, Rstream):
            return node
        if not isinstance(node, GroupBy | Distinct | SemiJoin | AntiJoin):
            clock = None
        if isinstance(node, GroupBy) and node.depends_on_order:
            clock = None
        return map_inputs(node, lambda one: self.rewritten(one, clock))


def routines_of(node: Node) -> frozenset[Routine]:
    """The routines that a plan calls: its text names them, and is read with those of its query."""
    found: set[Routine] = set()
    for part in walk(node):
        if isinstance(part, Feed | Recomputed):
            found.update(call.routine for call in part.calls)
        if isinstance(part, Lateral):
            found.add(part.routine)
    return frozenset(found)


def over_views(
    name: str,
    plan: Node,
    own_views: tuple[Node, ...],
    views: Views,
    settings: Settings,
    statistics: Statistics = NOTHING,
) -> Shared | None:
    """The query over views, if that is cheaper."""
    rewriting = Rewriting(views, name)
    rewritten = rewriting.rewritten(plan)
    if not rewriting.used:
        return None
    used = tuple(view.plan for view in rewriting.used.values())
    shared = Shared(rewritten, tuple(rewriting.used), used)
    pays = is_cheaper(plan, shared, own_views, settings, statistics)
    return shared if pays else None


def substituted(plan: Node, effective: Mapping[Node, Node]) -> Node:
    """A plan in which views that are computed from others stand as they are carried out."""
    if not effective:
        return plan

    def visit(node: Node) -> Node:
        return effective[node] if node in effective else map_inputs(node, visit)

    return visit(plan)
