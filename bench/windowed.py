"""The aggregates of the paper's Figures 4 to 7 in SQL, and the same operations by hand.

The average, and the approximate frequency of an item by four tables of counts: (A) with EXPIRE,
(B) as functions that are compiled by Numba, in the place of the generated program, (C) without
EXPIRE, over a window that the aggregate keeps itself, (D) computed anew for every tuple.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numba import njit

from millstream.blocks.choose import machine_for
from millstream.blocks.machine import Ending, Fed, Frame, Instances, Machine, Ran, Rows
from millstream.blocks.native import NativeMachine
from millstream.blocks.routine import Routine
from millstream.operators import feed_group

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
AGGREGATE mean(next double, width int) : double {
  TABLE state(tsum double, cnt int);
  TABLE ring(at int, value double) INDEX (at);
  INITIALIZE : {
    INSERT INTO state VALUES (next, 1);
    INSERT INTO ring VALUES (1, next);
    INSERT INTO RETURN VALUES (next);
  }
  ITERATE : {
    UPDATE state SET tsum = tsum + next
      - coalesce((SELECT value FROM ring WHERE at = cnt + 1 - width), 0.0), cnt = cnt + 1;
    INSERT INTO ring SELECT cnt, next FROM state;
    DELETE FROM ring WHERE at = (SELECT cnt FROM state) - width;
    INSERT INTO RETURN SELECT tsum / least(cnt, width) FROM state;
  }
}
"""
MEAN_ANEW = """
WINDOW AGGREGATE mean(next double) : double {
  TABLE inwindow(wnext double);
  INITIALIZE : ITERATE : { INSERT INTO RETURN SELECT sum(wnext) / count(*) FROM inwindow; }
}
"""
FREQUENCY_ANEW = """
WINDOW AGGREGATE frequency(thing int) : int {
  TABLE inwindow(other int);
  INITIALIZE : ITERATE : {
    INSERT INTO RETURN SELECT count(*) FROM inwindow WHERE other = thing;
  }
}
"""
TOTAL = """
{kind} AGGREGATE total(next double) : double {{
  TABLE state(sum double);
  INITIALIZE : {{ INSERT INTO state VALUES (next); }}
  ITERATE : {{ UPDATE state SET sum = sum + next; }}
  TERMINATE : {{ INSERT INTO RETURN SELECT sum FROM state; }}
}}
{kind} WINDOW AGGREGATE total(next double) : double {{
  TABLE state(sum double);
  TABLE inwindow(wnext double);
  INITIALIZE : {{ INSERT INTO state VALUES (next); INSERT INTO RETURN VALUES (next); }}
  ITERATE : {{
    UPDATE state SET sum = sum + next;
    INSERT INTO RETURN SELECT sum FROM state;
  }}
  EXPIRE : {{ UPDATE state SET sum = sum - oldest().wnext; }}
}}
"""


def _frequency() -> str:
    return _counting("WINDOW AGGREGATE frequency(thing int)", "TABLE inwindow(other int);", "") + (
        f"  EXPIRE : {{\n{_changed('- 1', 'thing')}  }}\n}}\n"
    )


def _frequency_alone() -> str:
    tables = (
        "TABLE clock(now int) AS VALUES (0);\n  TABLE ring(at int, value int) INDEX (at);\n"
        "  TABLE old(value int);"
    )
    slide = (
        "    UPDATE clock SET now = now + 1;\n    DELETE FROM old;\n"
        "    INSERT INTO old VALUES ((SELECT value FROM ring WHERE "
        "at = (SELECT now FROM clock) - width));\n"
        f"{_changed('- 1', '(SELECT value FROM old)')}"
        "    DELETE FROM ring WHERE at = (SELECT now FROM clock) - width;\n"
        "    INSERT INTO ring SELECT now, thing FROM clock;\n"
    )
    return _counting("AGGREGATE frequency(thing int, width int)", tables, slide) + "}\n"


def _counting(head: str, tables: str, first: str) -> str:
    """A count goes up in each of four tables; the least of them is the answer."""
    counts = "".join(f"  TABLE h{i}(bucket int, n int) INDEX (bucket);\n" for i in range(4))
    more = "".join(
        f"    UPDATE h{i} SET n = n + 1 WHERE bucket = {_hashed('thing', i)};\n"
        f"    INSERT INTO h{i} VALUES ({_hashed('thing', i)}, 1) WHERE sqlcode > 0;\n"
        for i in range(4)
    )
    found = ", ".join(
        f"(SELECT n FROM h{i} WHERE bucket = {_hashed('thing', i)})" for i in range(4)
    )
    body = f"{first}{more}    INSERT INTO RETURN VALUES (least({found}));\n"
    return f"{head} : int {{\n{counts}  {tables}\n  INITIALIZE : ITERATE : {{\n{body}  }}\n"


def _changed(by: str, value: str) -> str:
    return "".join(
        f"    UPDATE h{i} SET n = n {by} WHERE bucket = {_hashed(value, i)};\n" for i in range(4)
    )


def _hashed(value: str, table: int) -> str:
    return f"{value} * {FACTORS[table]} % {BUCKETS}"


@dataclass(frozen=True)
class Aggregate:
    """One of the two aggregates: its texts by the letters of the figures, and what it is fed."""

    texts: dict[str, str]
    call: str

    def script(self, way: str, window: int) -> str:
        """Its definition, and a query over the last tuples; C counts them itself."""
        width = f", {window}" if way == "C" else ""
        over = f" OVER (ROWS {window - 1} PRECEDING)" if way != "C" else ""
        name, argument = self.call.rstrip(")").split("(")
        text = self.texts["A" if way == "B" else way]
        return f"{text}SELECT {name}({argument}{width}){over} AS found FROM bids;"


AGGREGATES = {
    "average": Aggregate({"A": MEAN, "C": MEAN_ALONE, "D": MEAN_ANEW}, "mean(price)"),
    "frequency": Aggregate(
        {"A": _frequency(), "C": _frequency_alone(), "D": FREQUENCY_ANEW}, "frequency(item)"
    ),
}


def sliding(slide: int, panes: bool) -> str:
    """Figures 6 and 7: the sum of 40,000 tuples, for every so many of them."""
    text = TOTAL.format(kind="ALGEBRAIC" if panes else "")
    return f"{text}SELECT total(price) OVER (ROWS 39999 PRECEDING SLIDE {slide}) AS t FROM bids;"


@njit(cache=True)
def _mean(event, arrivals, values, total, count):  # type: ignore[no-untyped-def]
    rows, means = np.empty(arrivals, np.int64), np.empty(arrivals)
    given = 0
    for e in event:
        if e < arrivals:
            total += values[e]
            count += 1
            rows[given], means[given] = e, total / count
            given += 1
        else:
            count -= 1
            total -= values[e]
    return rows, means, total, count


@njit(cache=True)
def _frequencies(event, arrivals, items, counts):  # type: ignore[no-untyped-def]
    rows, least = np.empty(arrivals, np.int64), np.empty(arrivals, np.int64)
    given = 0
    for e in event:
        more = 1 if e < arrivals else -1
        found = np.int64(2**62)
        for i in range(4):
            bucket = items[e] * FACTORS[i] % BUCKETS
            counts[i, bucket] += more
            found = min(found, counts[i, bucket])
        if e < arrivals:
            rows[given], least[given] = e, found
            given += 1
    return rows, least


class MeanByHand(NativeMachine):
    """The average over one window."""

    def run(self, fed: Fed, before: Instances, count: int) -> Ran:
        values = fed.arguments[0].to_numpy()
        known = [c.to_numpy(zero_copy_only=False) for c in before.slots.columns]
        total, size = (known[2][0], known[3][0]) if len(known[0]) else (0.0, 0)
        rows, means, *left = _mean(fed.order.event, fed.order.arrivals, values, total, size)
        slots = [pa.array([value]) for value in (True, True, *left)]
        after = Instances(pa.RecordBatch.from_arrays(slots, schema=self.slots), ())
        return Ran(after, rows, pa.RecordBatch.from_arrays([pa.array(means)], schema=self.returns))


class FrequencyByHand(NativeMachine):
    """The approximate frequency over one window."""

    def run(self, fed: Fed, before: Instances, count: int) -> Ran:
        counts = np.zeros((4, BUCKETS), np.int64)
        for i, held in enumerate(before.tables):
            bucket, n = (column.to_numpy() for column in held.rows.columns)
            counts[i, bucket] = n
        items = fed.arguments[0].to_numpy()
        rows, least = _frequencies(fed.order.event, fed.order.arrivals, items, counts)
        tables = []
        for (_, schema), row in zip(self.tables, counts):
            bucket = np.flatnonzero(row)
            columns = [pa.array(bucket), pa.array(row[bucket])]
            batch = pa.RecordBatch.from_arrays(columns, schema=schema)
            tables.append(Rows(np.zeros(len(bucket), np.int64), batch))
        slots = [pa.array([0 if f.type == pa.int64() else True], f.type) for f in self.slots]
        after = Instances(pa.RecordBatch.from_arrays(slots, schema=self.slots), tuple(tables))
        return Ran(after, rows, pa.RecordBatch.from_arrays([pa.array(least)], schema=self.returns))


BY_HAND = {"mean": MeanByHand, "frequency": FrequencyByHand}


@contextmanager
def by_hand() -> Iterator[None]:
    """Operators that are made meanwhile in this process run what was written by hand."""

    def chosen(routine: Routine, ending: Ending, frame: Frame, native: bool = True) -> Machine:
        return BY_HAND[routine.name](routine, ending, frame)

    feed_group.machine_for = chosen
    try:
        yield
    finally:
        feed_group.machine_for = machine_for
