"""A projection that changes nothing is left out."""

from __future__ import annotations

from millstream.algebra.node import Node
from millstream.operators import Project
from millstream.operators.project import handed_on


def remove_idle_project(node: Node) -> Node | None:
    """Leave out a projection to all columns, in their order, under their names.

        Project a, b              S (a, b)
          S (a, b)        →

    Sound because it hands on every row as it is.
    """
    match node:
        case Project(outputs=outputs, input=source) if outputs == handed_on(source.schema):
            return source
    return None
