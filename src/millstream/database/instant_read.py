"""Now in a query that is read once: the instant at which what it reads is held."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from millstream.algebra.expressions import Column, Expression, Literal, rewrite
from millstream.algebra.node import Node, transform
from millstream.algebra.now import NOW
from millstream.algebra.points import tick_of
from millstream.algebra.time import Domain
from millstream.algebra.types import TIMESTAMP
from millstream.database.held import Held
from millstream.errors import MillstreamError
from millstream.operators import Filter, NowView, SemiJoin, Within

EPOCH = dt.datetime(1970, 1, 1)


def looked_at(plan: Node, held: Iterable[Held]) -> Node:
    """The plan with the instant of what is held in the place of Now.

    Law: its rows are those of the plan at that instant.
    """
    instants = {h.domain is Domain.TIMESTAMP: at for h in held if (at := _instant(h)) is not None}

    def change(node: Node) -> Node:
        match node:
            case Within(condition=condition, input=below):
                return Filter(at_instant(condition, instants), below)
            case SemiJoin(condition=condition, left=left, right=NowView()):
                return Filter(at_instant(condition, instants, whole=True), left)
        return node

    return transform(plan, change)


def _instant(held: Held) -> int | None:
    return held.beat if held.at is None else held.at


def at_instant(condition: Expression, instants: dict[bool, int], whole: bool = False) -> Expression:
    """A condition with the instant for Now, or with the last tick up to it, a `whole` second."""

    def change(part: Expression) -> Expression | None:
        if not (isinstance(part, Column) and part.name == NOW):
            return None
        is_time = part.type == TIMESTAMP
        tick = tick_of(Domain.TIMESTAMP) if whole and is_time else 1
        instant = _now(is_time, instants) // tick * tick
        return Literal(
            EPOCH + dt.timedelta(microseconds=instant) if is_time else instant, part.type
        )

    return rewrite(condition, change)


def _now(is_time: bool, instants: dict[bool, int]) -> int:
    if is_time not in instants:
        raise MillstreamError(
            "the instant Now is not known: nothing that is read changes with the time",
            hint="Read a result that has come to an instant, beside it.",
        )
    return instants[is_time]
