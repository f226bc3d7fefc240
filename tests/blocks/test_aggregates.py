"""Built-in aggregates in blocks give what they give in GROUP BY."""

from __future__ import annotations

import random
from decimal import Decimal

import pyarrow as pa
import pytest

from millstream.aggregates.builtin import BUILTINS
from millstream.algebra.types import BOOLEAN, DOUBLE, INTEGER, STRING
from millstream.blocks.general.aggregates import _by_columns, over

ODD = [float("nan"), float("inf"), float("-inf"), 1e308, 1e308]
VALUES = {
    INTEGER: [None, 0, 1, -5, 2**62, 2**62, -(2**63)],
    DOUBLE: [None, 0.1, -0.1, 1e16, 1.0, -1e16, 1 / 3, -0.0],
    STRING: [None, "a", "b", ""],
    BOOLEAN: [None, True, False],
    pa.decimal128(6, 2): [None, Decimal("0.10"), Decimal("-9999.99")],
}
CALLS = [
    pytest.param(a, kind, id=f"{a.name} {kind}")
    for a in BUILTINS
    for kind in VALUES
    if a.result(kind) is not None and a.arity.least <= 1
]


@pytest.mark.parametrize("aggregate, kind", CALLS)
def test_the_quick_way_gives_what_the_columns_give(aggregate, kind):
    rng = random.Random(7)
    parameter = {"quantile": 0.25, "string_agg": ";"}.get(aggregate.name)
    kind = aggregate.argument or kind
    values = VALUES.get(kind, [])
    result = [aggregate.result(kind)]
    quick = over(aggregate, [kind], parameter, result)
    slow = _by_columns(aggregate, [kind], parameter, result[0])
    for size in [*range(40), 700]:
        known = values + ODD if kind == DOUBLE and size % 4 == 3 else values
        rows = [(rng.choice(known),) for _ in range(size)]
        assert repr(quick(rows)) == repr(slow(rows)), rows


def test_first_and_last_go_by_the_order_of_feeding():
    by_name = {a.name: a for a in BUILTINS}
    rows = [(3,), (1,), (None,)]
    assert over(by_name["first"], [INTEGER], None, [INTEGER])(rows) == 3
    assert over(by_name["last"], [INTEGER], None, [INTEGER])(rows) is None
    assert over(by_name["array_agg"], [INTEGER], None, [pa.list_(INTEGER)])(rows) == (3, 1, None)
    assert over(by_name["count"], [], None, [INTEGER])([(), ()]) == 2
