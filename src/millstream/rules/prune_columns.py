"""Projection pruning: read only the columns somebody uses."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.expressions import columns_of
from millstream.algebra.node import Node, map_inputs
from millstream.operators import (
    Filter,
    LookupJoin,
    Now,
    Project,
    Range,
    RangeSlide,
    Rows,
    Scan,
    Stamp,
    Unbounded,
)


def prune_columns(node: Node) -> Node | None:
    """Narrow the scan below a projection to the columns that are used on the way.

    Sound because no operator in between looks at a column it does not name.
    """
    if not isinstance(node, Project):
        return None
    used = frozenset().union(*(columns_of(e) for _, e in node.outputs))
    below = _narrow(node.input, used)
    return None if below is None else replace(node, input=below)


def _narrow(node: Node, used: frozenset[str]) -> Node | None:
    """The same plan over fewer columns, or None if there is nothing to leave out."""
    match node:
        case Scan(columns=columns):
            kept = tuple(c for c in columns if c[0] in used)
            return None if kept == columns else replace(node, columns=kept)
        case Filter(condition=condition):
            used = used | columns_of(condition)
        case LookupJoin(left_keys=keys, condition=condition):
            used = used | columns_of(condition) | frozenset(keys)
        case Rows(partition_by=keys):
            used = used | frozenset(keys)
        case Now() | Range() | RangeSlide() | Unbounded() | Stamp():
            pass
        case _:
            return None
    below = _narrow(node.inputs[0], used)
    return None if below is None else map_inputs(node, lambda _: below)
