"""Where a node of the tree stands in the script."""

from __future__ import annotations

from sqlglot import exp

from millstream.errors import Place


def place_of(node: exp.Expr, text: str) -> Place | None:
    """The smallest piece of the script that covers a node; None for a node nobody wrote."""
    spans = []
    stack: list[exp.Expr] = [node]
    while stack:
        current = stack.pop()
        if span := _span(current):
            spans.append(span)
        if "span" not in current.meta:
            stack.extend(current.iter_expressions())
    if not spans:
        return None
    return Place(text, min(start for start, _ in spans), max(end for _, end in spans))


def name_place_of(node: exp.Expr, text: str) -> Place | None:
    """The name alone: of a call without its arguments, of a column without its table."""
    if isinstance(node, exp.Alias):
        node = node.args["alias"]
    while isinstance(node, (exp.Column, exp.Table, exp.TableAlias)):
        node = node.this
    if "start" not in node.meta:
        return place_of(node, text)
    return Place(text, node.meta["start"], node.meta["end"] + 1)


def _span(node: exp.Expr) -> tuple[int, int] | None:
    if span := node.meta.get("span"):
        return span
    return (node.meta["start"], node.meta["end"] + 1) if "start" in node.meta else None
