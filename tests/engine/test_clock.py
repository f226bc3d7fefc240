"""The clock of a job: heartbeats from headers, partition by partition."""

from __future__ import annotations

import json
from itertools import permutations

import pyarrow as pa

from millstream.algebra.time import DAWN
from millstream.catalog import Stream
from millstream.connect.source import Slice
from millstream.engine.admit import Gate
from millstream.engine.clock import Clock, Header

COLUMNS = (("ts", pa.int64()),)
S = Stream("s", COLUMNS, "ts", slack=2)


def after(clock, *headers, stream=S, **others):
    streams = {"s": stream, **others}
    group = frozenset(streams)
    clock = clock.advance(headers, streams, {name: group for name in streams})
    return Clock.from_json(json.loads(json.dumps(clock.to_json())))


def told(partition, largest=None, rows=1, **more):
    return Header("s", largest, largest, rows=rows, partition=partition, **more)


def test_one_sequence_is_one_partition():
    clock = after(Clock.start(), Header("s", now=1))
    assert clock.beats["s"] == DAWN
    clock = after(clock, told("", 10), told("", 7))
    assert clock.beats["s"] == 7
    assert clock.sources["s"].largest == 10


def test_the_least_of_all_partitions_counts_and_the_order_of_headers_does_not():
    headers = [told("a", 10), told("b", 20), told("a", 12), Header("s", partition="c"),
               told("c", 15, ended=False)]  # fmt: skip
    for order in permutations(headers):
        assert after(Clock.start(), *order).beats["s"] == 12 - 2 - 1


def test_a_partition_without_rows_holds_back_until_it_ends():
    clock = after(Clock.start(), Header("s", partition="a"), told("b", 20))
    assert clock.beats["s"] == DAWN
    clock = after(clock, Header("s", partition="a", ended=True))
    assert clock.beats["s"] == 17
    assert after(clock.without_ends()).beats["s"] == 17, "never back"
    assert not clock.without_ends().sources["s"].partitions["a"].ended


def test_a_new_partition_begins_at_the_heartbeat():
    clock = after(Clock.start(), told("a", 20))
    clock = after(clock, Header("s", partition="b"), told("a", 50))
    assert clock.beats["s"] == 17
    assert Gate.of(clock, S, Slice("s", {}, 1, 1, "b", 1), 0).beat == 17
    assert after(clock, told("b", 30)).beats["s"] == 27


def test_idle_partitions_do_not_freeze_the_others():
    stream = Stream("s", COLUMNS, "ts", idle=100)
    clock = after(Clock.start(), told("a", 5, now=10), told("b", 9, now=10), stream=stream)
    clock = after(clock, told("b", 20, now=60), stream=stream)
    assert clock.beats["s"] == 4
    clock = after(clock, Header("s", now=111), stream=stream)
    assert clock.beats["s"] == 19
    clock = after(clock, Header("s", now=1_000), stream=stream)
    assert clock.beats["s"] == 19, "all are idle: the one that has come furthest"
    clock = after(clock, told("a", 21, now=1_001), stream=stream)
    assert clock.beats["s"] == 20, "b is idle still"


def test_when_all_are_silent_time_goes_on_by_the_clock():
    stream = Stream("s", COLUMNS, "ts", idle=100, by_clock=True)
    clock = after(Clock.start(), told("a", 5, now=10), told("b", 9, now=10), stream=stream)
    clock = after(clock, told("b", 20, now=60), stream=stream)
    clock = after(clock, Header("s", now=150), stream=stream)
    assert clock.beats["s"] == 19, "b is not idle yet"
    clock = after(clock, Header("s", now=190), stream=stream)
    assert clock.beats["s"] == 19 + 30, "30 more than the limit have gone by since b"
    clock = after(clock, Header("s", now=1_000), stream=stream)
    assert clock.beats["s"] == 19 + 840
    clock = after(clock, told("a", 2_000, now=1_001), stream=stream)
    assert clock.beats["s"] == 1_999


def test_time_does_not_begin_by_the_clock():
    stream = Stream("s", COLUMNS, "ts", idle=100, by_clock=True)
    clock = after(Clock.start(), Header("s", now=10), stream=stream)
    assert after(clock, Header("s", now=1_000), stream=stream).beats["s"] < 0


def test_partitions_of_all_streams_of_a_group_count_alike():
    other = Stream("o", COLUMNS, "ts")
    clock = after(Clock.start(), told("a", 10), told("b", 20), Header("o", 8, 8, rows=1,
                  partition=""), o=other)  # fmt: skip
    assert clock.beats == {"s": 7, "o": 7}
    clock = after(clock, Header("s", ended=True), o=other)
    assert clock.beats["o"] == 7
    clock = after(clock, Header("o", ended=True), o=other)
    assert clock.beats == {"s": 20, "o": 20}, "the end is the largest timestamp of all"


def test_partitions_that_spark_feeds_live_for_a_batch():
    stream = Stream("s", COLUMNS, "ts", slack=2, foreign=True)
    clock = after(Clock.start(), told("0", 10), told("1", 30), stream=stream)
    assert clock.beats["s"] == 7
    gate = Gate.of(clock, stream, Slice("s", {}, 1, 1, "1"), 0)
    assert (gate.largest, gate.beat) == (None, 7)
    clock = after(clock, told("0", 40), told("1", None, late=1), stream=stream)
    assert clock.beats["s"] == 37, "one that brought nothing but late rows does not count"
    assert after(clock, Header("s", now=5), stream=stream).beats["s"] == 37


def test_a_heartbeat_of_the_source_is_one_of_its_partition():
    clock = after(Clock.start(), told("a", 10, promise=40), told("b", 20))
    assert clock.beats["s"] == 17
    assert after(clock, told("b", 90)).beats["s"] == 40


def test_the_clock_of_an_older_format_can_be_read_so_that_it_can_be_refused():
    old = {"first": 1, "largest": 10, "promise": None, "ended": True, "seen": 1, "now": 2,
           "rows": 3, "late": 0, "bad": 0}  # fmt: skip
    assert Clock.from_json({"sources": {"s": old}, "beats": {}}).sources["s"].rows == 3
