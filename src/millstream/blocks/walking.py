"""Every part of a statement, a query or an expression, queries inside of expressions included."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from millstream.aggregates.aggregate import Aggregate


def parts_of(tree: Any, without: Container[Any] = ()) -> Iterator[Any]:
    """The tree and every node in it: statements, queries, sources, calls, expressions.

    Those `without` are passed over, with all that is in them.

    >>> from millstream.algebra.expressions import Literal
    >>> from millstream.algebra.types import INTEGER
    >>> from millstream.blocks.queries import Values
    >>> one = Literal(1, INTEGER)
    >>> list(parts_of(Values((("n", INTEGER),), ((one,),))))[1:]
    [Literal(value=1, type=DataType(int64))]
    """
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack.extend(reversed(node))
        elif is_dataclass(node) and not isinstance(node, Aggregate) and node not in without:
            yield node
            stack.extend(getattr(node, f.name) for f in reversed(fields(node)))
