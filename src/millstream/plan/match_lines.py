"""How the words of Match are read from plan text: elements, what is counted, conditions."""

from __future__ import annotations

import pyarrow as pa

from millstream.algebra.expressions import TRUE, Expression
from millstream.algebra.node import Node
from millstream.algebra.types import BOOLEAN, INTEGER
from millstream.catalog import Catalog
from millstream.operators import Match, Rematch
from millstream.patterns.references import cell_of
from millstream.patterns.search import Search
from millstream.patterns.sequence import REACHED, TIMED_OUT, Element, Sequence
from millstream.patterns.tallies import Tally
from millstream.plan.expression_text import Tokens, length_of, parse_expression, unquoted
from millstream.plan.recognition_lines import recognition, tally_of


def match_line(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    """The partition and the elements; then what is counted, the conditions and the results."""
    partition = _names_after("Partition", tokens)
    return Match(partition, *_search(tokens, catalog, below), below)


def rematch_line(tokens: Tokens, catalog: Catalog, below: Node) -> Node:
    """The same with the order of the rows."""
    partition, order = _names_after("Partition", tokens), list[str]()
    tokens.expect("Sequence")
    tokens.expect("By")
    down = [n for n in tokens.listed(lambda: _ordered(tokens, order)) if n is not None]
    return Rematch(partition, tuple(order), *_search(tokens, catalog, below), below, tuple(down))


def _ordered(tokens: Tokens, order: list[str]) -> str | None:
    """The next column of the order, and whether it descends."""
    order.append(tokens.name())
    return order[-1] if tokens.has("Descending") else None


def _names_after(word: str, tokens: Tokens) -> tuple[str, ...]:
    """The names of PARTITION BY or SEQUENCE BY."""
    if not tokens.has(word):
        return ()
    tokens.expect("By")
    return tokens.names()


def _search(
    tokens: Tokens, catalog: Catalog, below: Node
) -> tuple[Search, tuple[tuple[str, pa.DataType], ...]]:
    """What is looked for, and what is read of it."""
    if tokens.has("Pattern"):
        return recognition(tokens, catalog, below)
    tokens.expect("(")
    stars = tokens.listed(lambda: (tokens.has("*"), tokens.name()))
    tokens.expect(")")
    within = length_of(tokens) if tokens.has("within") else None
    timeouts = tokens.has("with") and tokens.has("timeouts")
    tallies: tuple[Tally, ...] = ()
    if tokens.has("counting"):
        tallies = tokens.listed(lambda: tally_of(tokens, catalog, below))
    schema = _references(tokens, tallies, below)
    tests = dict[tuple[bool, str], Expression]()
    if tokens.has("where"):
        tests = dict(tokens.listed(lambda: _test(tokens, schema)))
    gives = tokens.names() if tokens.has("giving") else ()
    elements = tuple(
        Element(name, star, tests.get((False, name), TRUE), tests.get((True, name), TRUE))
        for star, name in stars
    )
    search = Sequence(elements, tallies, within, timeouts)
    return search, tuple((n, schema.field(n).type) for n in gives)


def _test(tokens: Tokens, schema: pa.Schema) -> tuple[tuple[bool, str], Expression]:
    final = tokens.second.lower() == "of" and tokens.has("end") and tokens.has("of")
    name = tokens.name()
    tokens.expect(":")
    return (final, name), parse_expression(tokens, schema)


def _references(tokens: Tokens, tallies: tuple[Tally, ...], below: Node) -> pa.Schema:
    """What conditions and results may name: tallies, and all cells that the line has."""
    kinds = {TIMED_OUT: BOOLEAN, REACHED: INTEGER, **{t.name: t.call.type for t in tallies}}
    for word in tokens.found:
        cell = cell_of(unquoted(word)) if word[:1] == '"' else None
        if cell is not None:
            kinds[str(cell)] = below.schema.field(cell.column).type
    return pa.schema(list(kinds.items()))
