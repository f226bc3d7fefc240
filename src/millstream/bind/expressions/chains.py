"""What expressions hand to others: chains of AND and OR, and calls of aggregates of one's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from sqlglot import exp

from millstream.algebra.expressions import Call, Expression
from millstream.algebra.types import BOOLEAN
from millstream.bind.expressions.vocabulary import OPERATORS


class OfOwn(Protocol):
    """What takes calls of aggregates of one's own."""

    def value(self, node: exp.Expr) -> Expression | None:
        """A call as a value; None for what is no such call."""

    def items(self, node: exp.Expr) -> Sequence[tuple[str, Expression]] | None:
        """The columns of a call that stands alone in the select list; None for anything else."""


ORDERED = (exp.LT, exp.LTE, exp.GT, exp.GTE)


def is_chain(node: exp.Expr) -> bool:
    """Whether it is AND, OR, or two comparisons in one: `1 < price <= 5`."""
    if isinstance(node, ORDERED):
        return isinstance(node.this, ORDERED)
    return isinstance(node, exp.And | exp.Or)


def chained(node: exp.Expr, condition: Callable[[exp.Expr, str], Expression]) -> Expression:
    """AND and OR, however many there are, without deep recursion."""
    if isinstance(node, ORDERED):
        node = _both(node)
    kind, stack = type(node), [node]
    parts: list[Expression] = []
    while stack:
        part = stack.pop()
        if type(part) is kind:
            stack += [part.expression, part.this]
        else:
            parts.append(condition(part, OPERATORS[kind].upper()))
    result = parts[0]
    for bound in parts[1:]:
        result = Call(OPERATORS[kind], (result, bound), BOOLEAN)
    return result


def _both(node: exp.Expr) -> exp.Expr:
    """Two comparisons in one, as AND."""
    second = type(node)(this=node.this.expression.copy(), expression=node.expression.copy())
    return exp.And(this=node.this.copy(), expression=second)
