"""All parts of a checked tree, those of its subqueries among them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from millstream.algebra.expressions import Expression
from millstream.blocks.leaves import Field
from millstream.blocks.queries import (
    Called,
    Combined,
    Local,
    Ordered,
    RoutineName,
    Select,
    Source,
    Stored,
    Tabled,
    Values,
)
from millstream.blocks.routine import Delete, Insert, LocalTable, Update

_PARTS = (
    Expression,
    Called,
    Combined,
    Local,
    Ordered,
    RoutineName,
    Select,
    Source,
    Stored,
    Tabled,
    Values,
    Delete,
    Insert,
    LocalTable,
    Update,
)


def parts(tree: Any) -> Iterator[Any]:
    """A statement, query or expression, or a tuple of them, and everything in it."""
    stack = [tree]
    while stack:
        part = stack.pop()
        if isinstance(part, tuple):
            stack.extend(part)
        elif isinstance(part, _PARTS):
            yield part
            stack.extend(getattr(part, field.name) for field in fields(part))  # type: ignore[arg-type]


def labels(tree: Any) -> frozenset[int]:
    """The sources that its fields belong to, own ones and those of queries around it."""
    return frozenset(part.label for part in parts(tree) if isinstance(part, Field))


def own_labels(tree: Any) -> frozenset[int]:
    """The sources that stand in it."""
    return frozenset(part.label for part in parts(tree) if isinstance(part, Source))
