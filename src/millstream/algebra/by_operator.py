"""Tables from operators to what is known of them: every operator has an entry of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from millstream.algebra.node import Node

T = TypeVar("T")


def entry_for(node: Node, table: Mapping[type[Node], T], name: str) -> T:
    """What the table of this name has for the operator. There is no default: an operator that is
    missing is a mistake of whoever added it, and a test says so before this does."""
    kind = type(node)
    if kind not in table:
        raise TypeError(f"{kind.__name__} has no entry in {name}")
    return table[kind]
