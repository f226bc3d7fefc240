"""Plans with the update pattern of every edge beside them: what EXPLAIN prints."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.algebra.node import Node

WIDEST = 100
"""Patterns are aligned behind lines up to this width; behind longer ones they follow at once."""

SHORTEST = 60
"""So much of a line is shown where there are reasons beside it."""


def outline(root: Node, depth: int = 0) -> Iterator[tuple[int, Node]]:
    """Every operator with its depth, in the order of the lines of the plan text."""
    yield depth, root
    for node in root.inputs:
        yield from outline(node, depth + 1)


def line_of(node: Node, depth: int) -> str:
    """The line of an operator in the plan text."""
    return f"{'  ' * depth}{type(node).__name__} {node.words}".rstrip()


def with_patterns(root: Node) -> str:
    """The plan text, and at the right of every line the pattern in which its rows leave."""
    lines = [(line_of(node, depth), node.pattern.name) for depth, node in outline(root)]
    width = min(max(len(line) for line, _ in lines), WIDEST)
    return "\n".join(f"{line:<{width}}  {pattern}" for line, pattern in lines)


def with_reasons(root: Node) -> str:
    """The plan with the pattern of every edge, and why it is that one. Long lines are cut."""
    rows = [(shortened(line_of(n, depth), SHORTEST), n.label) for depth, n in outline(root)]
    width = max(len(line) for line, _ in rows)
    return "\n".join(f"{line:<{width}}  {label.pattern.name:<3}  {label}" for line, label in rows)


def shortened(text: str, length: int) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"
