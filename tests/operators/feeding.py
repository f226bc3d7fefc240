"""Routines made by hand, and what Feed is fed, for tests: definitions from the paper's examples."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from millstream.aggregates.builtin import named
from millstream.algebra.changes import Changes
from millstream.algebra.expressions import Call, Expression, Literal
from millstream.algebra.types import DOUBLE, INTEGER, STRING
from millstream.blocks.leaves import Argument, Field, Oldest, Result
from millstream.blocks.queries import Called, Columns, Local, Select, Source, Values
from millstream.blocks.routine import (
    INWINDOW,
    RETURN,
    Delete,
    Insert,
    LocalTable,
    Routine,
    Statement,
    Update,
)

NEXT = Argument("next", DOUBLE)
GIVES: Columns = (("value", DOUBLE),)
TAKES: Columns = (("next", DOUBLE),)
WINDOW: Columns = (("wnext", DOUBLE),)
STATE: Columns = (("tsum", DOUBLE), ("cnt", INTEGER))
TSUM, CNT = Field(1, "tsum", DOUBLE), Field(1, "cnt", INTEGER)
ONE = Literal(1, INTEGER)


def op(name: str, left: Expression, right: Expression) -> Call:
    return Call(name, (left, right), left.type)


def gives(*values: Expression) -> Insert:
    return Insert(RETURN, Values(GIVES, (values,)))


def gives_of(value: Expression, table: str = "state", columns: Columns = STATE) -> Insert:
    outputs = (("value", value),)
    return Insert(RETURN, Select((Source(1, Local(table), columns),), outputs))


def moved(tsum: Expression, cnt: Expression) -> Update:
    return Update("state", 1, (("tsum", tsum), ("cnt", cnt)))


BEGUN = Insert("state", Values(STATE, ((NEXT, ONE),)))
ADDED = moved(op("+", TSUM, NEXT), op("+", CNT, ONE))
TAKEN = moved(op("-", TSUM, NEXT), op("-", CNT, ONE))
TABLES = (LocalTable("state", STATE),)


def routine(name: str, **blocks: object) -> Routine:
    return Routine(name, TAKES, GIVES, **blocks)  # type: ignore[arg-type]


SUM = routine(
    "mysum", tables=TABLES, initialize=(BEGUN,), iterate=(ADDED,), terminate=(gives_of(TSUM),)
)
"""Blocking, as in Example 7."""

RUNNING = routine(
    "running",
    tables=TABLES,
    initialize=(BEGUN, gives(NEXT)),
    iterate=(ADDED, gives_of(TSUM)),
)
"""Not blocking, as in Example 8."""

SUMS: tuple[Statement, ...] = (ADDED, gives_of(TSUM))
WINDOWED = routine(
    "mysum",
    tables=TABLES,
    initialize=(BEGUN, gives(NEXT)),
    iterate=SUMS,
    expire=(TAKEN,),
    inwindow=WINDOW,
    is_window=True,
)
"""Maintained by EXPIRE, as in Example 12."""

ACTIVE = routine(
    "mysum",
    tables=TABLES,
    initialize=(BEGUN, gives(NEXT)),
    iterate=SUMS,
    expire=(TAKEN, gives_of(TSUM)),
    inwindow=WINDOW,
    is_window=True,
)

WNEXT = Field(1, "wnext", DOUBLE)
MAX = routine(
    "mymax",
    initialize=(gives(NEXT),),
    iterate=(Delete(INWINDOW, 1, op("<", WNEXT, NEXT)), gives(Oldest("wnext", DOUBLE))),
    expire=(),
    inwindow=WINDOW,
    is_window=True,
)
"""Example 13."""

NAIVE = routine(
    "naive",
    initialize=(
        SUMMED := Insert(
            RETURN,
            Select(
                (Source(1, Local(INWINDOW), WINDOW),),
                (("value", Result(0, "value", DOUBLE)),),
                keys=(),
                calls=(Called(named("sum"), (WNEXT,), GIVES),),
            ),
        ),
    ),
    iterate=(SUMMED,),
    inwindow=WINDOW,
    is_window=True,
)
"""Example 11."""

TWICE = routine("twice", iterate=(gives(NEXT), gives(op("*", NEXT, Literal(2.0, DOUBLE)))))
"""Two rows for every tuple but the first, which gets none."""

SCHEMA = pa.schema({"item": STRING, "price": DOUBLE})


def elements(rows: list[tuple[int, str, float]]) -> Changes:
    """Tuples (instant, item, price), in the order of arrival."""
    columns = [[r[1] for r in rows], [r[2] for r in rows]]
    batch = pa.RecordBatch.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, SCHEMA)], schema=SCHEMA
    )
    ts = np.array([r[0] for r in rows], np.int64)
    return Changes.elements(batch, ts, np.arange(len(rows)))
