"""What many queries have in common below conditions, columns and points of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import reduce
from math import gcd

from millstream.algebra.node import Node, has_state, map_inputs, once, walk
from millstream.algebra.points import Points
from millstream.operators import Tagger, Ticks
from millstream.plan.alternatives import GAIN
from millstream.plan.statistics import Statistics
from millstream.rules.contained_points import Clock
from millstream.rules.whole import Whole, without_marks
from millstream.settings import Settings
from millstream.sharing.clocks import synced
from millstream.sharing.pricing import priced, total
from millstream.sharing.skinned import Skinned, built, skinned

SEVERAL = 3
"""So many queries, or points of queries, have to have a part in common."""

SAMPLES = 3
"""So many of the queries are priced; the others are taken to cost as much."""


@dataclass
class Group:
    """Queries over one input that change at the same points, by what they make of it.

    `pays` says whether it is computed once for all of them, as it was decided for so many: where
    there are twice as many, it is decided again.
    """

    forms: dict[Node, Skinned] = field(default_factory=dict)
    pays: bool = False
    decided: int = 0


@dataclass
class Commons:
    """The inputs that queries read alone, each with the points at which they do.

    Law: a query over what it has in common with others gives what it gives by itself: its
    conditions and columns are put above the input as they stand in its form.
    """

    groups: dict[Node, dict[Clock | None, Group]] = field(default_factory=dict)

    def add(self, plan: Node) -> None:
        """Note what a query reads; it has to have state, or that would save nothing. Views that it
        names have marks: they are inputs as they are. Clocks tick only where they are asked to."""
        form = skinned(plan)
        if len(form.inputs) != 1 or any(isinstance(n, Ticks) for n in walk(form.inputs[0])):
            return
        if form.clock is not None or has_state(form.inputs[0]):
            clocks = self.groups.setdefault(form.inputs[0], {})
            clocks.setdefault(form.clock, Group()).forms[plan] = form

    def over(self, plan: Node, settings: Settings, statistics: Statistics) -> Common | None:
        """The query over what it has in common with others, if it has and that is cheaper."""
        form = skinned(plan)
        group = self._group(form)
        if group is None:
            return None
        data = form.inputs[0]
        base = self._base(data)
        parts = () if base == data else (base,)
        if base == synced(form.clock, data):
            form = replace(form, clock=None)
        elif len(group.forms) >= max(SEVERAL, 2 * group.decided):
            group.pays, group.decided = _pays(group, base, settings, statistics), len(group.forms)
        if group.pays:
            parts = (*parts, synced(form.clock, base))
        if not parts:
            return None
        whole = built(replace(form, inputs=(base,)))
        return Common(without_marks(whole), tuple(dict.fromkeys(map(without_marks, parts))))

    def _group(self, form: Skinned) -> Group | None:
        if len(form.inputs) != 1:
            return None
        return self.groups.get(form.inputs[0], {}).get(form.clock)

    def _base(self, node: Node) -> Node:
        """The input, or the input as it changes at points among which are those of all queries.

        Then only what is left of its changes between two of these is handed on to all of them. It
        costs at most one sync more than they have, and only where changes cancel is there less.
        """
        clocks = [clock for clock in self.groups[node] if isinstance(clock, Points)]
        if node.monotonic or len(clocks) < SEVERAL:
            return node
        common = common_points(clocks)
        return node if common is None or common.is_every_instant else synced(common, node)


@dataclass(frozen=True)
class Common:
    """The plan of a query over parts that others read as well."""

    plan: Node
    parts: tuple[Node, ...]


def common_points(clocks: Iterable[Points]) -> Points | None:
    """The points of the largest period among which are all of these; None if there is none.

    >>> every = [Points.every(ticks, 0, 1) for ticks in (4, 6)]
    >>> common_points(every) == Points.every(2, 0, 1)
    True
    """
    stretches = [(clock.tick, part) for clock in clocks for part in clock.stretches]
    if not stretches or len({tick for tick, _ in stretches}) > 1:
        return None
    starts = [run for _, part in stretches for run in part.at]
    first = starts[0][0]
    apart = [abs(tick - first) for run in starts for tick in run]
    runs = [1 for low, high in starts if high > low]
    every = reduce(gcd, [*(part.every for _, part in stretches), *apart, *runs])
    return Points.every(every, first, stretches[0][0])


def marked(plan: Node, views: Collection[Node]) -> Node:
    """The plan with marks on the views it names: they are computed as they are."""
    if not views:
        return plan
    visited = once(lambda node: Whole(node) if node in views else map_inputs(node, visited))
    return map_inputs(plan, visited)


def _pays(group: Group, base: Node, settings: Settings, statistics: Statistics) -> bool:
    """Whether one input for all queries of a group costs less than one for each.

    The conditions of each would otherwise make the rows of its own input fewer. Taggers that
    several queries read are there anyhow.
    """
    some = list(group.forms.values())[:SAMPLES]
    (clock,) = {form.clock for form in some}
    (data,) = {form.inputs[0] for form in some}
    base = without_marks(base)
    whole = synced(clock, base)
    runs = (base,) if base != data or isinstance(data, Tagger) else ()
    there = {part for one in runs for part in walk(priced(one, (), settings, statistics).plan)}
    common = priced(whole, runs, settings, statistics)
    within = {*there, *walk(common.plan)}
    alone = each = 0.0
    for form in some:
        plan = without_marks(built(replace(form, inputs=(base,))))
        alone += total(priced(plan, runs, settings, statistics), there)
        each += total(priced(plan, (*runs, whole), settings, statistics), within)
    once = total(common, {*there, common.plan})
    many = len(group.forms) / len(some)
    return once + each * many < GAIN * alone * many
