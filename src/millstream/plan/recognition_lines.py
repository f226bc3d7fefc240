"""How MATCH_RECOGNIZE is read from plan text."""

from __future__ import annotations

import pyarrow as pa

from millstream.algebra.expressions import Expression
from millstream.algebra.node import Node
from millstream.algebra.types import BOOLEAN, INTEGER, STRING
from millstream.catalog import Catalog
from millstream.patterns.classifiers import MATCH_NUMBER, variable_of
from millstream.patterns.recognition import Recognition
from millstream.patterns.recognition_results import FINAL, MATCHED, column_of_row
from millstream.patterns.references import cell_of
from millstream.patterns.regex import regex_of
from millstream.patterns.tallies import OwnCall, Tally
from millstream.plan.calls import call_of
from millstream.plan.expression_text import Tokens, length_of, parse_expression, unquoted
from millstream.plan.feed_lines import routine_of

_SKIPS = {"past": "past last", "next": "next", "first": "first", "last": "last"}


def recognition(
    tokens: Tokens, catalog: Catalog, below: Node
) -> tuple[Recognition, tuple[tuple[str, pa.DataType], ...]]:
    """The search after the word Pattern, and what it gives."""
    pattern = regex_of(tokens.name())
    subsets: tuple[tuple[str, tuple[str, ...]], ...] = ()
    if tokens.has("with"):
        subsets = tokens.listed(lambda: _subset(tokens))
    within = length_of(tokens) if tokens.has("within") else None
    tokens.expect("showing")
    shows = tokens.take()
    shows += f" {tokens.take()} {tokens.take()}" if tokens.next in ("omit", "with") else ""
    tokens.expect("skip")
    skip = _SKIPS[tokens.take()]
    if skip == "past last":
        tokens.expect("last")
    skip_to = tokens.name() if skip in ("first", "last") else ""
    look, back = (int(tokens.take()) if tokens.has(word) else 0 for word in ("look", "back"))
    numbered = tokens.has("numbered")
    tallies: tuple[Tally, ...] = ()
    if tokens.has("counting"):
        tallies = tokens.listed(lambda: tally_of(tokens, catalog, below))
    schema = _references(tokens, tallies, below)
    defines: tuple[tuple[str, Expression], ...] = ()
    if tokens.has("where"):
        defines = tokens.listed(lambda: _define(tokens, schema))
    gives = tokens.names() if tokens.has("giving") else ()
    search = Recognition(
        pattern,
        defines,
        subsets,
        tallies,
        shows,
        skip,
        skip_to,
        within,
        look,
        back,
        numbered,
    )
    return search, tuple((name, schema.field(name).type) for name in gives)


def tally_of(tokens: Tokens, catalog: Catalog, below: Node) -> Tally:
    """What is counted of an element."""
    call = own_call(tokens, catalog) if tokens.has("own") else call_of(tokens, catalog, below)
    tokens.expect("of")
    element = tokens.name()
    plain = call.arguments and not isinstance(call, OwnCall)
    argument = below.schema.field(call.arguments[0]).type if plain else None
    return Tally(element, call, argument, int(tokens.take()) if tokens.has("over") else None)


def own_call(tokens: Tokens, catalog: Catalog) -> OwnCall:
    """A call of an aggregate of one's own, behind the word `own`."""
    routine = routine_of(tokens.name(), catalog)
    tokens.expect("(")
    arguments = () if tokens.has("*") else tokens.names()
    tokens.expect(")")
    tokens.expect("column")
    column = int(tokens.take())
    tokens.expect("as")
    return OwnCall(tokens.name(), routine, arguments, column)


def _subset(tokens: Tokens) -> tuple[str, tuple[str, ...]]:
    name = tokens.name()
    tokens.expect("=")
    tokens.expect("(")
    names = tokens.names()
    tokens.expect(")")
    return name, names


def _define(tokens: Tokens, schema: pa.Schema) -> tuple[str, Expression]:
    name = tokens.name()
    tokens.expect(":")
    return name, parse_expression(tokens, schema)


def _references(tokens: Tokens, tallies: tuple[Tally, ...], below: Node) -> pa.Schema:
    """What conditions and results may name: tallies, and all references that the line has."""
    kinds = {tally.name: tally.call.type for tally in tallies}
    kinds |= {FINAL + name: kind for name, kind in kinds.items()}
    kinds |= {MATCH_NUMBER: INTEGER, MATCHED: BOOLEAN}
    for word in tokens.found:
        name = unquoted(word) if word[:1] == '"' else ""
        bare = name.removeprefix(FINAL)
        cell, column = cell_of(bare), column_of_row(bare)
        if cell is not None:
            kinds[name] = below.schema.field(cell.column).type
        elif column is not None:
            kinds[name] = below.schema.field(column).type
        elif variable_of(bare) is not None:
            kinds[name] = STRING
    return pa.schema(list(kinds.items()))
