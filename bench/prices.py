"""`python -m bench.prices [OPERATOR …]`: what a row costs in an operator, for plan/prices.py.

One process, one core, columns of integers: batches of rows go through the operators' own steps with
windows of two sizes. Given is the processor time of a row in nanoseconds, the best of several runs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from millstream.aggregates.call import AggregateCall
from millstream.aggregates.sums import SUM
from millstream.algebra.changes import Changes
from millstream.algebra.expressions import Call, Column, Literal
from millstream.algebra.node import Node
from millstream.algebra.time import Domain, Span
from millstream.algebra.types import BOOLEAN, INTEGER
from millstream.engine.sending import split
from millstream.engine.store import decode, encode
from millstream.operators import (
    AntiJoin,
    DeltaStar,
    Distinct,
    Exchange,
    Filter,
    GroupBy,
    Istream,
    Join,
    Minus,
    Project,
    Rows,
    Scan,
    SemiJoin,
    Stored,
    Tagged,
    TopK,
)

BATCH, BATCHES, TIMES = 20_000, 12, 3
LEFT = Scan("l", (("a", INTEGER), ("b", INTEGER)), Domain.INTEGER, "")
ONE = Scan("o", (("a", INTEGER),), Domain.INTEGER, "")
RIGHT = Scan("r", (("c", INTEGER), ("d", INTEGER)), Domain.INTEGER, "")
COLUMN = Column("a", INTEGER)
EQUAL = Call("=", (COLUMN, Column("c", INTEGER)), BOOLEAN)
LESS = Call("<", (Column("b", INTEGER), Literal(500, INTEGER)), BOOLEAN)
SUMMED = AggregateCall("s", SUM, ("b",), INTEGER)


def batch(node: Node, number: int, window: int, values: int, seed: int) -> Changes:
    """Rows at 20 an instant, each for so many instants, with so many different keys."""
    rng = np.random.default_rng(seed * 1000 + number)
    columns = [rng.integers(0, values, BATCH), rng.integers(0, 1000, BATCH)][: len(node.schema)]
    rows = pa.RecordBatch.from_arrays([pa.array(c) for c in columns], schema=node.schema)
    ts = number * (BATCH // 20) + np.arange(BATCH) // 20 + 1
    seq = number * BATCH + np.arange(BATCH)
    return Changes(rows, ts, ts + window, np.ones(BATCH, np.int64), seq)


def spent(node: Node, window: int, values: int) -> tuple[float, float]:
    """Nanoseconds for every row that comes in, and rows out for every row in."""
    scans = node.inputs
    best, share = float("inf"), 0.0
    for _ in range(TIMES):
        state, used, out = {}, 0.0, 0
        for number in range(BATCHES):
            given = [batch(scan, number, window, values, i) for i, scan in enumerate(scans)]
            end = (number + 1) * (BATCH // 20)
            span = Span(end - BATCH // 20, end, 1)
            began = time.process_time()
            state, result = node.step(state, *given, span)
            if number >= BATCHES // 2:
                used += time.process_time() - began
                out += len(result.plain())
        rows = len(scans) * BATCH * (BATCHES - BATCHES // 2)
        best, share = min(best, used / rows * 1e9), out / rows
    return best, share


def sent() -> float:
    """An exchange: rows are split, written, and read again."""
    exchange, rows = Exchange(("a",), LEFT), batch(LEFT, 1, 100, 1000, 0)

    def once() -> None:
        for part in split(rows, exchange, 4, 0).values():
            Changes.from_batch(decode(pa.py_buffer(encode(part.to_batch()))))

    return best_of(once) / BATCH


def buffers() -> dict[str, float]:
    """What a row costs in a queue, in a calendar, and to be looked at in a list."""
    rows = batch(LEFT, 1, 100, 1000, 0)
    mixed = replace(rows, exp=np.random.default_rng(1).permutation(rows.exp))
    due = int(np.median(rows.exp))
    return {
        "Queue": best_of(lambda: rows.split(rows.exp, due)) / BATCH,
        "Calendar": best_of(lambda: mixed.sorted_by_exp().split(rows.exp, due)) / BATCH,
        "List": best_of(lambda: mixed.keep(mixed.exp > due)) / BATCH,
    }


def best_of(work: Callable[[], object]) -> float:
    found = []
    for _ in range(20):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found) * 1e9


def main() -> None:
    plans: dict[str, Node] = {
        "Filter": Filter(LESS, LEFT),
        "Project": Project((("x", Call("+", (COLUMN, Literal(1, INTEGER)), INTEGER)),), LEFT),
        "Join": Join(EQUAL, LEFT, RIGHT),
        "SemiJoin": SemiJoin(EQUAL, LEFT, RIGHT),
        "AntiJoin": AntiJoin(EQUAL, LEFT, RIGHT),
        "Distinct": Distinct(ONE),
        "DeltaStar": DeltaStar(ONE),
        "Minus": Minus(LEFT, RIGHT),
        "GroupBy": GroupBy(("a",), (SUMMED,), LEFT),
        "TopK": TopK((("b", True, True),), 10, 0, (), LEFT),
        "Rows": Rows(1000, (), None, 1, LEFT),
        "Istream": Istream(LEFT),
        "Tagged": Tagged(None, LEFT),
        "Stored": Stored(LEFT),
    }
    for name, cost in {"Exchange": sent(), **buffers()}.items():
        print(f"{name:20} {cost:8.1f} ns")
    for name, node in plans.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        for window, values in ((100, 1_000), (100, 1_000_000), (5_000, 50_000), (5_000, 1_000_000)):
            cost, share = spent(node, window, values)
            about = f"window {window * 20:8,} keys {values:9,}"
            print(f"{name:20} {about} {cost:8.0f} ns, {share:.2f} out")


if __name__ == "__main__":
    main()
