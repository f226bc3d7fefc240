"""Which sources the parts of a statement name."""

from __future__ import annotations

from typing import Any

from millstream.blocks.leaves import Field
from millstream.blocks.queries import Source
from millstream.blocks.walking import parts_of


def labels(tree: Any) -> frozenset[int]:
    """The sources that its fields belong to, own ones and those of queries around it."""
    return frozenset(part.label for part in parts_of(tree) if isinstance(part, Field))


def own_labels(tree: Any) -> frozenset[int]:
    """The sources that stand in it."""
    return frozenset(part.label for part in parts_of(tree) if isinstance(part, Source))
