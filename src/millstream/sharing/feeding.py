"""What queries that come can be computed from, as far as it is known by now."""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.algebra.node import Node
from millstream.sharing.common import Commons
from millstream.sharing.rewriting import View, Views


@dataclass
class Feeding:
    """The queries there are as `views`, and what they have in common; `carried` are the plans of
    those that are computed from others.

    It is made of so many registered queries, up to the `last` one.
    """

    views: Views = field(default_factory=Views)
    commons: Commons = field(default_factory=Commons)
    carried: dict[Node, Node] = field(default_factory=dict)
    count: int = 0
    last: object = None

    def add(self, registered: object, name: str, plan: Node, carried: Node) -> None:
        """Let later queries be computed from one."""
        self.last = registered
        self.count += 1
        if carried is not plan:
            self.carried[plan] = carried
        self.views.add(View(name, carried))
