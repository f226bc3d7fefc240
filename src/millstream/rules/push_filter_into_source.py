"""Predicate push-down into the source: what nobody wants is not read."""

from __future__ import annotations

from dataclasses import replace

from millstream.algebra.expressions import Call, Column, Expression, Literal
from millstream.algebra.node import Node
from millstream.operators import Filter, Scan
from millstream.rules.pieces import conditions

TURNED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Comparisons, and what they are from the other side."""


def push_filter_into_source(node: Node) -> Node | None:
    """Give a scan the comparisons of columns with constants that stand above it.

        Filter price > 100              Filter price > 100
          Scan bids              →        Scan bids where price > 100

    Sound because the filter stays: the source may leave out what fails a test that comes anyway.
    Times and arrivals are read of all elements, so that the same rows arrive late as before.
    A Parquet source looks at the least and largest values of a row group, and reads only the
    timestamps of one that no reader of the stream wants.
    """
    match node:
        case Filter(condition=condition, input=Scan() as scan):
            found = [_comparison(part) for part in conditions(condition)]
            tests = tuple(test for test in found if test is not None)
            if tests != scan.tests:
                return Filter(condition, replace(scan, tests=tests))
    return None


def _comparison(part: Expression) -> Expression | None:
    """The condition with the column on the left; None if it is another kind."""
    match part:
        case Call(function=name, arguments=(Column(), Literal())) if name in TURNED:
            return part
        case Call(function=name, arguments=(Literal() as value, Column() as column)) if (
            name in TURNED
        ):
            return replace(part, function=TURNED[name], arguments=(column, value))
    return None
