"""Window reduction: what only grows need not be kept to be streamed."""

from __future__ import annotations

from millstream.algebra.node import Node, has_state
from millstream.operators import (
    Elements,
    Filter,
    Istream,
    Lateral,
    LookupJoin,
    NonRetroactiveJoin,
    Now,
    Project,
    Unbounded,
    UnionAll,
)
from millstream.rules.pieces import with_left
from millstream.rules.whole import Whole


def reduce_unbounded_to_now(node: Node) -> Node | None:
    """Replace an unbounded window under Istream by Now, whose rows are the elements themselves.

        Istream                     Elements
          Select-Project     →        Select-Project
            S [Unbounded]               S [Now]

    Sound because every tuple enters an unbounded window once and never leaves, and each row of the
    result comes from one tuple, with what tables held before it: unions of such plans too. A join
    of two windows is another matter, since a tuple then meets earlier ones; so is Distinct, which
    emits a row once. A view without state is looked into: to keep its rows would cost more than to
    compute them again.
    """
    if isinstance(node, Istream) and (body := _with_now(node.input)) is not None:
        return Elements(body)
    return None


def _with_now(node: Node) -> Node | None:
    """The plan over Now instead of Unbounded, or None if it does not take rows one by one."""
    match node:
        case Unbounded(input=stream):
            return Now(stream)
        case Whole(input=part) if not has_state(part):
            return _with_now(part)
        case UnionAll(left=left, right=right):
            mine, theirs = _with_now(left), _with_now(right)
            return None if mine is None or theirs is None else UnionAll(mine, theirs)
        case Filter() | Project() | Lateral() | LookupJoin() | NonRetroactiveJoin():
            below = _with_now(node.inputs[0])
            return None if below is None else with_left(node, below)
    return None
