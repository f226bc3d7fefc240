"""Scalar functions in blocks give what the Arrow kernels give, on the edges of every type."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from millstream.algebra.evaluate import castable, evaluate
from millstream.algebra.expressions import Call, Case, Cast, Column, Expression, Literal
from millstream.algebra.functions import FUNCTIONS
from millstream.algebra.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    STRING,
    TIMESTAMP,
    type_name,
)
from millstream.blocks.general import GeneralMachine
from millstream.blocks.general.values import from_arrow
from millstream.blocks.leaves import Argument
from millstream.blocks.machine import Fed
from millstream.blocks.queries import Values
from millstream.blocks.routine import RETURN, Insert, Routine
from millstream.state.ordered_run import Order

SMALL, LARGE = pa.decimal128(6, 2), pa.decimal128(38, 4)
EDGES = {
    INTEGER: [None, 0, 1, -1, 2, -3, 7, 2**53 + 1, 2**63 - 1, -(2**63)],
    DOUBLE: [
        *(None, 0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, 1e300, -1e300),
        *(9.2e18, 9.3e18, 2.0**53 + 2, float("inf"), float("-inf"), float("nan")),
    ],
    STRING: [None, "", "a", "Abc", "ab,c", " x ", "Größe", "ǅ", "%_", "a" * 9, "12", "2.50"],
    BOOLEAN: [None, True, False],
    TIMESTAMP: [None, *map(dt.datetime, (1970, 1969, 2024), (1, 12, 2), (1, 31, 29), (0, 23, 5))],
    DATE: [None, dt.date(1970, 1, 1), dt.date(1, 1, 1), dt.date(9999, 12, 31)],
    INTERVAL: [None, dt.timedelta(0), dt.timedelta(days=-1, microseconds=5), dt.timedelta(9)],
    SMALL: [None, Decimal("0.00"), Decimal("-1.25"), Decimal("9999.99")],
    LARGE: [None, Decimal("0.5000"), Decimal("9" * 33 + ".9999"), Decimal("-" + "9" * 33)],
    pa.list_(DOUBLE): [None, [], [1.0, None], [float("nan")], [float("nan")], [0.0], [-0.0]],
}
COMBINATIONS = 400
"""So many combinations of arguments at the most."""


def in_blocks(expression: Expression, columns: list[pa.Array]) -> pa.Array:
    """What a routine returns that computes the expression of its arguments, for every row."""
    arguments = tuple((f"a{i}", column.type) for i, column in enumerate(columns))
    returns = (("v", expression.type),)
    block = (Insert(RETURN, Values(returns, ((expression,),))),)
    machine = GeneralMachine(
        Routine("f", arguments, returns, initialize=block, iterate=block), calls={}
    )
    size = len(columns[0])
    every = np.arange(size)
    fed = Fed(Order(every, np.array([0, size]), every, size), tuple(columns), every)
    return machine.run(fed, machine.nothing, 1).rows.column(0)


def same(left: pa.Array, right: pa.Array) -> bool:
    """Equal as values of one type: 0.0 is not -0.0, NaN is NaN."""
    return left.type == right.type and texts(left) == texts(right)


def texts(values: pa.Array) -> list[str]:
    return list(map(repr, from_arrow(values)))


def agree(make, types: list[pa.DataType]) -> None:
    rows = list(itertools.product(*(EDGES[kind] for kind in types)))
    rows = rows[:: max(1, len(rows) // COMBINATIONS)]
    columns = [pa.array(values, kind) for values, kind in zip(zip(*rows), types)]
    names = [f"a{i}" for i in range(len(types))]
    batch = pa.RecordBatch.from_arrays(columns, names)
    expected = evaluate(make([Column(n, t) for n, t in zip(names, types)]), batch, len(rows))
    found = in_blocks(make([Argument(n, t) for n, t in zip(names, types)]), columns)
    wrong = [(row, a, b) for row, a, b in zip(rows, texts(found), texts(expected)) if a != b]
    assert same(found, expected), wrong[:5]


def signatures():
    for function in FUNCTIONS.values():
        for count in (1, 2, 3):
            for types in itertools.product(EDGES, repeat=count):
                sign = function.sign(types)
                if sign is not None and tuple(sign[0]) == types:
                    yield function.name, types, sign[1]


CALLS = [
    pytest.param(name, types, result, id=f"{name}({', '.join(map(type_name, types))})")
    for name, types, result in signatures()
    if name not in ("to_utc_timestamp", "from_utc_timestamp", "date_trunc")
    and not name.startswith("regexp")
]


@pytest.mark.parametrize("name, types, result", CALLS)
def test_functions(name, types, result):
    agree(lambda arguments: Call(name, tuple(arguments), result), list(types))


@pytest.mark.parametrize("name, types, result", CALLS)
def test_functions_with_a_constant_last(name, types, result):
    for value in EDGES[types[-1]]:
        if len(types) == 2:
            constant = Literal(value, types[-1])
            agree(lambda a, c=constant: Call(name, (*a, c), result), list(types[:-1]))


CASTS = [
    pytest.param(have, want, id=f"{type_name(have)} as {type_name(want)}")
    for have, want in itertools.product(EDGES, EDGES)
    if castable(have, want) and not pa.types.is_list(want)
]


@pytest.mark.parametrize("have, want", CASTS)
def test_casts(have, want):
    agree(lambda arguments: Cast(arguments[0], want), [have])


def test_case_takes_the_first_branch_that_holds():
    def make(arguments):
        a, b = arguments
        return Case(
            ((a, Literal(1, INTEGER)), (b, Literal(2, INTEGER))), Literal(3, INTEGER), INTEGER
        )

    agree(make, [BOOLEAN, BOOLEAN])


@pytest.mark.parametrize(
    "name, constants, types, result",
    [
        ("regexp_like", ["a.*c"], [STRING], BOOLEAN),
        ("regexp_replace", ["a", "b"], [STRING], STRING),
        ("to_utc_timestamp", ["Europe/Berlin"], [TIMESTAMP], TIMESTAMP),
        ("from_utc_timestamp", ["Europe/Berlin"], [TIMESTAMP], TIMESTAMP),
    ],
)
def test_functions_of_constants(name, constants, types, result):
    literals = [Literal(c, STRING) for c in constants]
    agree(lambda a: Call(name, (*a, *literals), result), types)


def test_date_trunc():
    unit = Literal("month", STRING)
    agree(lambda a: Call("date_trunc", (unit, *a), TIMESTAMP), [TIMESTAMP])
