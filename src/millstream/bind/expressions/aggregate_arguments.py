"""The arguments of aggregates: how many there are, DISTINCT, and constants behind them."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from millstream.aggregates.aggregate import Aggregate
from millstream.aggregates.builtin import BUILTINS
from millstream.aggregates.count import COUNT_DISTINCT
from millstream.algebra.expressions import Expression, Literal
from millstream.algebra.types import BOOLEAN, INTEGER, STRING, TIMESTAMP
from millstream.errors import MillstreamError
from millstream.lang import name_place_of, place_of


def distinct(
    called: Aggregate, given: list[exp.Expr], text: str
) -> tuple[Aggregate, list[exp.Expr]]:
    """The aggregate that takes equal values once, if DISTINCT is written."""
    if not (given and isinstance(given[0], exp.Distinct)):
        return called, given
    inner, once = given[0].expressions, called.of_distinct()
    if once is None:
        takers = [aggregate.name for aggregate in BUILTINS if _takes_distinct(aggregate)]
        raise MillstreamError(
            f"{called.name}(DISTINCT …) is not supported",
            hint=f"Of the aggregates, {', '.join(takers)} take DISTINCT.",
        )
    if once == COUNT_DISTINCT and len(inner) != 1:
        raise MillstreamError(
            f"count(DISTINCT …) takes one value, and here are {len(inner)}",
            place_of(given[0], text),
            hint="Make one text of them: count(DISTINCT a || ' ' || b).",
        )
    return once, [*inner, *given[1:]]


def _takes_distinct(aggregate: Aggregate) -> bool:
    return aggregate.of_distinct() is not None and aggregate != COUNT_DISTINCT


def checked(called: Aggregate, given: list[exp.Expr], node: exp.Expr, text: str) -> list[exp.Expr]:
    """The arguments, as many as the aggregate takes."""
    arity = called.arity
    for written in given:
        if isinstance(written, exp.Order):
            raise MillstreamError(
                f'ORDER BY inside of aggregate "{called.name}" is not supported',
                place_of(written, text),
                hint="Leave it out: values come in the order of time.",
            )
    if max(arity.least, 1) <= len(given) <= arity.most:
        return given
    if arity.second:
        raise MillstreamError(
            f'aggregate "{called.called}" takes a value and {arity.second}',
            name_place_of(node, text),
            hint=f"Write {arity.example}.",
        )
    here = "are none" if not given else f"are {len(given)}"
    raise MillstreamError(
        f'aggregate "{called.called}" takes one argument, and here {here}',
        name_place_of(node, text),
        hint=f"Write {called.called}(column).",
    )


def parameter_of(
    called: Aggregate, values: list[Expression], given: list[exp.Expr], text: str
) -> float | str | None:
    """The constant after the argument."""
    parameter = called.parameter
    if parameter is None:
        return None
    if len(values) == 1:
        return parameter.default
    written, found = values[1], None
    if isinstance(written, Literal):
        found = parameter.read(written.value, written.type)
    if found is None:
        raise MillstreamError(parameter.refused, place_of(given[1], text), hint=parameter.hint)
    return found


def advice(called: Aggregate, kind: pa.DataType, written: str) -> str:
    name = called.called
    if pa.types.is_list(kind):
        return "Aggregates of arrays are count, first, last and array_agg."
    if called.result(BOOLEAN) == BOOLEAN and called.result(INTEGER) is None:
        return f"Compare it with something: {name}({written} > 0)."
    if kind == BOOLEAN:
        return f"Write {name}(CASE WHEN {written} THEN 1 ELSE 0 END)."
    if pa.types.is_decimal(kind):
        return f"CAST it to decimal(18,{min(kind.scale, 18)}), or to double."
    if kind == STRING:
        return f"CAST it to a number: {name}(CAST({written} AS double))."
    if kind == TIMESTAMP:
        return f"Use numbers: {name}(unix_micros({written}))."
    return "Aggregates of times are count, min, max, first and last."
