"""The arguments of a call of a routine: as many as it takes, as the types that it takes."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from millstream.algebra.expressions import Expression, Literal
from millstream.algebra.types import NULL, common_type, type_name
from millstream.bind.expressions.constants import coerce
from millstream.bind.expressions.messages import a
from millstream.bind.expressions.own_messages import wrong_count, wrong_type
from millstream.bind.expressions.scalars import Expressions
from millstream.blocks.routine import Routine
from millstream.lang import name_place_of, place_of


def own_arguments(
    routine: Routine, call: exp.Anonymous, given: Sequence[exp.Expr], inside: Expressions
) -> tuple[Expression, ...]:
    """The bound arguments; `inside` binds them."""
    if len(given) != len(routine.arguments):
        raise wrong_count(routine, len(given)).at(name_place_of(call, inside.text))
    return tuple(
        _argument(inside.bind(part), part, routine, i, inside.text) for i, part in enumerate(given)
    )


def _argument(
    value: Expression, node: exp.Expr, routine: Routine, number: int, text: str
) -> Expression:
    name, kind = routine.arguments[number]
    if value.type in (kind, NULL):
        return value if value.type == kind else Literal(None, kind)
    if common_type(value.type, kind) != kind:
        error = wrong_type(routine, name, type_name(kind), a(value.type))
        raise error.at(place_of(node, text))
    return coerce(value, kind)
