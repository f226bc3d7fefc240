"""The legend of EXPLAIN: what the update patterns and the operators of plans mean, a line each."""

from __future__ import annotations

import re
from collections.abc import Iterable

from millstream.algebra.node import Node
from millstream.algebra.pattern import Pattern
from millstream.operators import OPERATORS
from millstream.plan.annotate import outline

PATTERNS = "-- at the right of a line, how the rows of its result leave again:"
NODES = "-- at the left, what an operator gives; its inputs are indented below it:"
ADDED = "-- a name that begins with # is a column that the plan has added"


def legend_of(plans: Iterable[Node]) -> str:
    """The patterns and the operators that occur in plans."""
    nodes = _nodes(plans)
    seen = sorted({node.pattern for node in nodes})
    return "\n".join([*_patterns(seen), *_operators(map(type, nodes)), *_columns(nodes)])


def legend_of_operators(plans: Iterable[Node]) -> str:
    """The operators that occur in plans, where they are shown without patterns."""
    nodes = _nodes(plans)
    return "\n".join([*_operators(map(type, nodes)), *_columns(nodes)])


def whole_legend() -> str:
    """All patterns, and all operators."""
    return "\n".join([*_patterns(Pattern), *_operators(OPERATORS), ADDED])


def meaning_of(operator: type[Node]) -> str:
    """What an operator gives: the first sentence of its docstring."""
    first = (operator.__doc__ or "").partition("\n\n")[0]
    return re.split(r"(?<=\.)\s", " ".join(first.split()), maxsplit=1)[0]


def _nodes(plans: Iterable[Node]) -> list[Node]:
    return [node for plan in plans for _, node in outline(plan)]


def _patterns(patterns: Iterable[Pattern]) -> list[str]:
    return [PATTERNS, *(f"--   {pattern.name:<3}  {pattern.words}" for pattern in patterns)]


def _operators(operators: Iterable[type[Node]]) -> list[str]:
    found = list(dict.fromkeys(operators))
    width = max(len(operator.__name__) for operator in found)
    return [NODES, *(f"--   {one.__name__:<{width}}  {meaning_of(one)}" for one in found)]


def _columns(nodes: Iterable[Node]) -> list[str]:
    return [ADDED] if any("#" in node.words for node in nodes) else []
