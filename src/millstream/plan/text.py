"""Plan text, read back: what `Node.text` prints becomes a plan again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from millstream.algebra.node import Node
from millstream.catalog import Catalog
from millstream.errors import MillstreamError
from millstream.plan.expression_text import Tokens
from millstream.plan.line_readers import READERS


def parse_plan(text: str, catalog: Catalog) -> Node:
    """The plan that a text describes; streams and tables are those of the catalog.

    Law: `parse_plan(node.text, catalog) == node` for every plan over the catalog.
    """
    return parse_lines([line for line in text.splitlines() if line.strip()], catalog, {})


def parse_lines(lines: list[str], catalog: Catalog, parts: Mapping[str, Node]) -> Node:
    """The plan of these lines, in which the names of `parts` may stand for plans."""
    node, rest = _parse(lines, 0, catalog, parts)
    if rest:
        raise MillstreamError(f'the line "{rest[0].strip()}" stands beside the plan, not in it')
    return node


def _parse(
    lines: list[str], indent: int, catalog: Catalog, parts: Mapping[str, Node]
) -> tuple[Node, list[str]]:
    """The operator on the first line with its inputs, and the lines after them."""
    if not lines or _indent(lines[0]) != indent:
        here = "".join(lines[:1])
        raise MillstreamError(f'an operator {indent} spaces in is expected at "{here}"')
    word, _, words = lines[0].strip().partition(" ")
    if word in parts and not words:
        return parts[word], lines[1:]
    operator = next((found for found in READERS if found.__name__ == word), None)
    if operator is None:
        raise MillstreamError(f'operator "{word}" does not exist')
    tokens, rest = Tokens(words), lines[1:]
    inputs: list[Node] = []
    least, most = _width(operator)
    while len(inputs) < least or (len(inputs) < most and rest and _indent(rest[0]) > indent):
        below, rest = _parse(rest, indent + 2, catalog, parts)
        inputs.append(below)
    node = READERS[operator](tokens, catalog, *inputs)
    if tokens.next:
        raise MillstreamError(f'"{tokens.next}" is not expected in "{lines[0].strip()}"')
    return node, rest


def _width(operator: type[Node]) -> tuple[int, int]:
    """How many inputs an operator has at least, and at most."""
    kinds = [f.type if isinstance(f.type, str) else f.type.__name__ for f in fields(operator)]
    least = kinds.count("Node")
    return least, least + kinds.count("Node | None")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
