"""Which queries over a sync are found together: those that compare a value with a constant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from millstream.algebra.choose import SIDES
from millstream.algebra.expressions import Call, Column, Expression, Literal
from millstream.algebra.node import Node
from millstream.operators import Filter, Project, Tagged
from millstream.operators.project import Outputs, handed_on

MANY = 8
"""So many queries have to ask for it; for fewer, operators do it one after the other."""


@dataclass(frozen=True)
class Choice:
    """A query over a sync: the changes of the rows whose value is on one side of a constant."""

    tagged: Tagged
    outputs: Outputs
    value: Expression
    comparison: str
    constant: Any

    @property
    def about(self) -> tuple[object, ...]:
        """What it has to share with others to be found in one index."""
        return self.outputs, self.value, SIDES[self.comparison][2], self.tagged.key


def choices(tops: Mapping[Node, Node]) -> dict[Node, Choice]:
    """The queries of those that read a sync that can be found in an index that many of them ask."""
    found = {top: choice for top, sync in tops.items() if (choice := _choice(top, sync))}
    asked: dict[object, int] = {}
    for top, choice in found.items():
        asked[tops[top], choice.about] = asked.get((tops[top], choice.about), 0) + 1
    return {top: c for top, c in found.items() if asked[tops[top], c.about] >= MANY}


def _choice(top: Node, sync: Node) -> Choice | None:
    if not isinstance(top, Tagged) or not top.key or sync.key is None:
        return None
    match top.input:
        case Project(outputs=outputs, input=below):
            pass
        case below:
            outputs = handed_on(sync.schema)
    match below:
        case Filter(
            condition=Call(function=name, arguments=(value, Literal(value=constant, type=kind))),
            input=source,
        ) if source == sync and name in SIDES and kind == value.type and constant is not None:
            names = {n: e.name for n, e in outputs if isinstance(e, Column)}
            by_key = {names.get(n) for n in top.key} == set(sync.key)
            if by_key and len(names) == len(outputs):
                return Choice(top, outputs, value, name, constant)
    return None
