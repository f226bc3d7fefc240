"""`python -m bench.blocks`: aggregates written in blocks beside the same ones written by hand.

The paper's Figures 4 and 5: the average and the approximate frequency of an item, over windows of
many sizes: (A) with EXPIRE; (B) the same operations as a function that is compiled by Numba, fed
with the same events; (C) without EXPIRE, with a window of its own; (D) computed anew.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
from numba import njit

from millstream.bind.blocks import routine_from_text
from millstream.blocks.machine import Ending, Fed, Frame, Instances, Rows
from millstream.blocks.native import NativeMachine
from millstream.blocks.routine import Routine
from millstream.state.ordered_run import Order

WINDOWS = (100, 1_000, 10_000, 100_000, 1_000_000)
TUPLES = 4_000_000
WORK = 50_000_000
"""Rows that (D) looks at: it gets fewer tuples where windows are wide."""

BUCKETS = 4_096
FACTORS = (7, 31, 127, 8_191)
"""Each hashes an item in a way of its own, for a table of its own."""

MEAN = """
WINDOW AGGREGATE mean(next double) : double {
  TABLE state(tsum double, cnt int);
  TABLE inwindow(wnext double);
  INITIALIZE : { INSERT INTO state VALUES (next, 1); INSERT INTO RETURN VALUES (next); }
  ITERATE : {
    UPDATE state SET tsum = tsum + next, cnt = cnt + 1;
    INSERT INTO RETURN SELECT tsum / cnt FROM state;
  }
  EXPIRE : { UPDATE state SET cnt = cnt - 1, tsum = tsum - oldest().wnext; }
}
"""
MEAN_ALONE = """
AGGREGATE mean_alone(next double) : double {
  TABLE state(tsum double, cnt int);
  TABLE ring(at int, value double) INDEX (at);
  INITIALIZE : {
    INSERT INTO state VALUES (next, 1);
    INSERT INTO ring VALUES (1, next);
    INSERT INTO RETURN VALUES (next);
  }
  ITERATE : {
    UPDATE state SET tsum = tsum + next
      - coalesce((SELECT value FROM ring WHERE at = cnt + 1 - WIDTH), 0.0), cnt = cnt + 1;
    INSERT INTO ring SELECT cnt, next FROM state;
    DELETE FROM ring WHERE at = (SELECT cnt FROM state) - WIDTH;
    INSERT INTO RETURN SELECT tsum / least(cnt, WIDTH) FROM state;
  }
}
"""
MEAN_ANEW = """
WINDOW AGGREGATE mean_anew(next double) : double {
  TABLE inwindow(wnext double);
  INITIALIZE : ITERATE : { INSERT INTO RETURN SELECT sum(wnext) / count(*) FROM inwindow; }
}
"""


def frequency() -> str:
    """The frequency of an item as the least of the counts that it hashes to."""
    tables = "".join(f"TABLE h{i}(bucket int, n int) INDEX (bucket);\n" for i in range(4))
    hashed = [f"item * {factor} % {BUCKETS}" for factor in FACTORS]
    more = "".join(
        f"UPDATE h{i} SET n = n + 1 WHERE bucket = {h};\n"
        f"INSERT INTO h{i} VALUES ({h}, 1) WHERE sqlcode = 1;\n"
        for i, h in enumerate(hashed)
    )
    less = "".join(f"UPDATE h{i} SET n = n - 1 WHERE bucket = {h};\n" for i, h in enumerate(hashed))
    counts = ", ".join(f"(SELECT n FROM h{i} WHERE bucket = {h})" for i, h in enumerate(hashed))
    return (
        f"WINDOW AGGREGATE frequency(item int) : int {{\n{tables}TABLE inwindow(witem int);\n"
        f"INITIALIZE : ITERATE : {{\n{more}INSERT INTO RETURN VALUES (least({counts})); }}\n"
        f"EXPIRE : {{\n{less}}}\n}}"
    )


FREQUENCY_ANEW = """
WINDOW AGGREGATE frequency_anew(item int) : int {
  TABLE inwindow(witem int);
  INITIALIZE : ITERATE : { INSERT INTO RETURN
    SELECT count(*) FROM inwindow WHERE witem = item; }
}
"""


def frequency_alone() -> str:
    """The same with a window of its own."""
    text = frequency().replace("WINDOW AGGREGATE frequency", "AGGREGATE frequency_alone")
    text = text.replace("TABLE inwindow(witem int);", "")
    head, _, expire = text.partition("EXPIRE : {\n")
    less = expire.rpartition("}\n}")[0]
    for i, factor in enumerate(FACTORS):
        here = f"(SELECT value FROM ring, clock WHERE at = now - WIDTH) * {factor} % {BUCKETS}"
        less = less.replace(
            f"h{i} SET n = n - 1 WHERE bucket = item * {factor} % {BUCKETS}",
            f"h{i} SET n = n - 1 WHERE bucket = {here}",
        )
    tables = "TABLE clock(now int) AS VALUES (0);\nTABLE ring(at int, value int) INDEX (at);\n"
    keep = (
        "UPDATE clock SET now = now + 1;\n"
        f"{less}DELETE FROM ring WHERE at = (SELECT now FROM clock) - WIDTH;\n"
        "INSERT INTO ring SELECT now, item FROM clock;\n"
    )
    head = head.replace("TABLE h0", f"{tables}TABLE h0", 1)
    return head.replace("ITERATE : {\n", "ITERATE : {\n" + keep, 1) + "}"


@njit(cache=True)
def mean_by_hand(event, starts, arrivals, values):  # type: ignore[no-untyped-def]
    rows, means = np.empty(arrivals, np.int64), np.empty(arrivals)
    given = 0
    for p in range(len(starts) - 1):
        total, count = 0.0, 0
        for j in range(starts[p], starts[p + 1]):
            e = event[j]
            if e < arrivals:
                total += values[e]
                count += 1
                rows[given], means[given] = e, total / count
                given += 1
            else:
                count -= 1
                total -= values[e]
    return rows, means


@njit(cache=True)
def frequency_by_hand(event, starts, arrivals, items):  # type: ignore[no-untyped-def]
    rows, least = np.empty(arrivals, np.int64), np.empty(arrivals, np.int64)
    given = 0
    for p in range(len(starts) - 1):
        counts = np.zeros((4, BUCKETS), np.int64)
        for j in range(starts[p], starts[p + 1]):
            e = event[j]
            item = items[e]
            more = 1 if e < arrivals else -1
            found = np.int64(2**62)
            for i in range(4):
                bucket = item * FACTORS[i] % BUCKETS
                counts[i, bucket] += more
                found = min(found, counts[i, bucket])
            if e < arrivals:
                rows[given], least[given] = e, found
                given += 1
    return rows, least


def events(column: np.ndarray, window: int | None) -> tuple[Fed, int]:
    """One partition: before a tuple enters, the one leaves that it drives out."""
    size = len(column)
    if window is None or window >= size:
        order, leaving = np.arange(size), column[:0]
    else:
        order = np.empty(2 * size - window, np.int64)
        order[:window] = np.arange(window)
        order[window::2] = size + np.arange(size - window)
        order[window + 1 :: 2] = np.arange(window, size)
        leaving = column[: size - window]
    given = np.concatenate([column, leaving])
    number = np.concatenate([np.arange(1, size + 1), np.arange(1, len(leaving) + 1)])
    fed = Order(order, np.array([0, len(order)]), number, size)
    return Fed(fed, (pa.array(given),), number), size


def nothing(machine: NativeMachine) -> Instances:
    none = np.zeros(0, np.int64)
    return Instances(
        pa.RecordBatch.from_pylist([], schema=machine.slots),
        tuple(Rows(none, pa.RecordBatch.from_pylist([], schema=s)) for _, s in machine.tables),
    )


def rates(ways: dict[str, tuple[Callable[[], object], int]], turns: int = 5) -> dict[str, float]:
    """Millions of tuples per second, of all ways in turn: each sees the same noise."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(turns):
        for name, (run, _) in ways.items():
            gc.collect()
            begun = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - begun)
    return {name: ways[name][1] / min(s) / 1e6 for name, s in seconds.items()}


def of_machine(
    routine: Routine, column: np.ndarray, window: int
) -> tuple[Callable[[], object], int]:
    """A run of a machine over a column, from the first tuple on."""
    frame = Frame(rows=window) if routine.is_window else Frame()
    machine = NativeMachine(routine, Ending.NEVER, frame)
    fed, _ = events(column, window if machine.takes_leavers else None)
    before = nothing(machine)
    machine.run(fed, before, 1)
    return (lambda: machine.run(fed, before, 1)), len(column)


def anew(routine: Routine, column: np.ndarray, window: int) -> tuple[Callable[[], object], int]:
    """A run of a machine that holds a full window, for as many tuples as there is time for."""
    tuples = max(2, min(len(column) - window, WORK // window))
    machine = NativeMachine(routine, Ending.NEVER, Frame(rows=window))
    ((_, schema),) = machine.tables
    numbers = np.arange(1, window + 1)
    rows = pa.RecordBatch.from_arrays([pa.array(column[:window]), pa.array(numbers)], schema=schema)
    begun = pa.RecordBatch.from_pylist([{"begun": True}], schema=machine.slots)
    before = Instances(begun, (Rows(np.zeros(window, np.int64), rows),))
    order = Order(np.arange(tuples), np.array([0, tuples]), np.arange(tuples), tuples)
    arriving = pa.array(column[window : window + tuples])
    fed = Fed(order, (arriving,), window + 1 + np.arange(tuples))
    machine.run(fed, before, 1)
    return (lambda: machine.run(fed, before, 1)), tuples


def figure(texts: dict[str, str], by_hand: Callable[..., object], column: np.ndarray) -> dict:
    """All ways of one aggregate, over all windows."""
    found = {}
    for window in WINDOWS:
        ways = {}
        for name, text in texts.items():
            routine = routine_from_text(text.replace("WIDTH", str(window)))
            if name == "D":
                ways[name] = anew(routine, column, window)
            else:
                ways[name] = of_machine(routine, column, window)
        fed, size = events(column, window)
        values = fed.arguments[0].to_numpy()
        order = fed.order
        by_hand(order.event, order.starts, order.arrivals, values)
        ways["B"] = (
            lambda o=order, v=values: by_hand(o.event, o.starts, o.arrivals, v),
            size,
        )
        found[str(window)] = rates(ways)
        print(f"{window:>9,}", {k: round(v, 2) for k, v in sorted(found[str(window)].items())})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.blocks")
    parser.add_argument("--folder", type=Path, default=Path("bench-out"))
    parser.add_argument("--only", choices=("average", "frequency"))
    options = parser.parse_args()
    rng = np.random.default_rng(7)
    prices = np.round(rng.random(TUPLES) * 100, 2)
    items = (rng.pareto(1.2, TUPLES) * 10).astype(np.int64) % 100_000
    measured = {
        "average": lambda: figure(
            {"A": MEAN, "C": MEAN_ALONE, "D": MEAN_ANEW}, mean_by_hand, prices
        ),
        "frequency": lambda: figure(
            {"A": frequency(), "C": frequency_alone(), "D": FREQUENCY_ANEW},
            frequency_by_hand,
            items,
        ),
    }
    results = {n: make() for n, make in measured.items() if options.only in (None, n)}
    for name, found in results.items():
        ratio = median(ways["A"] / ways["B"] for ways in found.values())
        flat = min(ways["A"] for ways in found.values()) / found["100"]["A"]
        print(f"{name}: A is {ratio:.2f} of B; the slowest window is {flat:.2f} of the narrowest")
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / "blocks.json").write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
