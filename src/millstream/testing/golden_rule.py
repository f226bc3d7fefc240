"""A rule tried on a plan that a person typed."""

from __future__ import annotations

from millstream.algebra.node import Node, map_inputs
from millstream.database import Database
from millstream.errors import MillstreamError
from millstream.plan.text import parse_plan
from millstream.rules import OTHER_WAY, RULES

NO_CHANGE = "no change"
BY_NAME = {rule.__name__: rule for rule in (*RULES, *OTHER_WAY)}


def rule_result(name: str, plan: str, database: Database) -> str:
    """The plan text after the rule was applied at the highest place it applies, or `no change`."""
    if name not in BY_NAME:
        raise MillstreamError(f'rule "{name}" does not exist')
    before = parse_plan(plan, database.catalog)
    after = _applied(name, before)
    return NO_CHANGE if after is None else after.text


def _applied(name: str, node: Node) -> Node | None:
    changed = BY_NAME[name](node)
    if changed is not None:
        return changed
    below = map_inputs(node, lambda child: _applied(name, child) or child)
    return None if below is node else below
