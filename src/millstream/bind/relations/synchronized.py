"""R(S, sync): a relation that changes at the time points of another stream only."""

from __future__ import annotations

from millstream.algebra.node import Node
from millstream.catalog import Catalog
from millstream.errors import MillstreamError, Place


def synchronized(
    plan: Node, sync: str, catalog: Catalog, described: str, place: Place | None
) -> Node:
    """The relation as it stands at the last point of `sync`; `described` says what it is of.

    What arrives between two points is applied together at the next one.
    """
    catalog.find(sync)
    raise MillstreamError(
        f'synchronization by a stream is not there yet: {described} by "{sync}"',
        place,
        hint="Leave the second name out: the relation then changes with every modification.",
    )
