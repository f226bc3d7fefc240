"""How a call of an aggregate is read from plan text."""

from __future__ import annotations

from millstream.aggregates.builtin import named
from millstream.aggregates.call import AggregateCall
from millstream.algebra.node import Node
from millstream.catalog import Catalog
from millstream.errors import MillstreamError
from millstream.plan.expression_text import Tokens


def call_of(tokens: Tokens, catalog: Catalog, below: Node) -> AggregateCall:
    function = tokens.take()
    aggregate = catalog.aggregates.get(function) or named(function)
    tokens.expect("(")
    arguments = () if tokens.has("*") else tokens.names()
    tokens.expect(")")
    tokens.expect("as")
    parameter: float | str | None = None
    if aggregate.parameter is not None:
        arguments, parameter = arguments[:-1], aggregate.parameter.kind(arguments[-1])
    argument = below.schema.field(arguments[0]).type if arguments else None
    kind = aggregate.result(argument)
    if kind is None:
        raise MillstreamError(f'aggregate "{function}" does not take {argument}')
    return AggregateCall(tokens.name(), aggregate, arguments, kind, parameter)
