"""Plans that were made: a query that stays the same is not planned again when others change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field

from millstream.algebra.node import Node
from millstream.plan.alternatives import Choices, Chooser, Steps

Planned = tuple[Node, tuple[Node, ...], str]
"""The root of a query, the parts of it that are views of their own, and which rules apply."""

Made = tuple[Planned, Hashable, tuple[Steps, ...]]


@dataclass
class PlanCache:
    """The physical plans of queries, by everything that they follow from.

    Law: what is found is what would be made. `steps` are those of all parts of a root that are
    chosen by themselves, as they were made last. It stays in its process: workers get plans, not
    the cache.
    """

    plans: dict[Made, Node] = field(default_factory=dict)
    steps: dict[Planned, dict[str, Steps]] = field(default_factory=dict)

    def physical(
        self, of: Planned, settled: Hashable, choices: Choices, make: Callable[[Chooser], Node]
    ) -> Node:
        """The plan of a root. It follows from what is `settled` and from the choices of parts."""
        if of in self.steps:
            known = tuple(choices.get(part, steps) for part, steps in self.steps[of].items())
            if (of, settled, known) in self.plans:
                return self.plans[of, settled, known]
        chooser = Chooser({**self.steps.get(of, {}), **choices})
        plan = make(chooser)
        self.steps[of] = made = dict(sorted(chooser.made.items()))
        self.plans[of, settled, tuple(made.values())] = plan
        return plan

    def decided(self, of: Planned, chooser: Chooser) -> dict[str, Steps]:
        """How the parts of a root are made: as is known, if it is known of all of them."""
        if of not in self.steps or any(part not in chooser.known for part in self.steps[of]):
            chooser.optimized(of[0], of[1])
            self.steps[of] = dict(sorted(chooser.made.items()))
            return self.steps[of]
        return {part: chooser.known[part] for part in self.steps[of]}

    def only(self, wanted: Collection[Node]) -> PlanCache:
        """The cache without the plans of roots that nobody wants any more."""
        plans = {key: plan for key, plan in self.plans.items() if key[0][0] in wanted}
        steps = {of: steps for of, steps in self.steps.items() if of[0] in wanted}
        return PlanCache(plans, steps)

    def __getstate__(self) -> dict[str, Mapping]:
        return {"plans": {}, "steps": {}}
