"""Sources in partitions: a connector with gaps in its positions, registered by one line."""

from __future__ import annotations

import json
from importlib import import_module

import numpy as np
import pyarrow as pa
import pytest
from drain import drain
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from topic import TOPIC, TOPICS

from millstream.connect import CONNECTORS, Slice, open_source
from millstream.connect.partitioned import arrivals
from millstream.database import Database
from millstream.errors import MillstreamError
from millstream.local.host import LocalHost
from millstream.testing import run_script
from millstream.testing.run import KeptResults

SCRIPT = """
CREATE STREAM s (ts bigint, name string) ORDER BY ts SLACK 2 SOURCE 'topic:t';
SELECT ts AS t, name FROM s;
SELECT STREAMED name, count(*) AS n FROM s [Rows 3] GROUP BY name;
SELECT name FROM s.late;
"""
SCHEMA = pa.schema([("ts", pa.int64()), ("name", pa.string())])


@pytest.fixture(autouse=True)
def topics(monkeypatch):
    registry = import_module("millstream.connect.registry")  # millstream.connect is a function, too
    monkeypatch.setattr(registry, "CONNECTORS", (*CONNECTORS, TOPIC))
    monkeypatch.setitem(TOPICS, "t", {})
    return TOPICS["t"]


def rows_of(tables, name):
    return list(zip(*(column.to_pylist() for column in tables[name].columns)))


def results(**settings):
    tables = run_script(SCRIPT, settings={n: str(v) for n, v in settings.items()})
    found = {name: rows_of(tables, name) for name in tables}
    return {n: sorted(r) if n == "s.late" else r for n, r in found.items()}


@pytest.mark.slow
def test_gaps_in_positions_and_row_counts_that_nobody_knows(topics):
    topics["0"] = [(4, (1, "a")), (5, None), (90, (9, "b")), (91, (6, "c")), (1000, (10, "d"))]
    topics["1"] = [(0, (3, "e")), (7, None), (8, (9, "f")), (9, None)]
    expected = {
        "q1": [(1, 1, "a"), (3, 3, "e"), (9, 9, "f"), (9, 9, "b"), (10, 10, "d")],
        "s.late": [(6, 6, "c")],
        "s.errors": [],
        "q3": [(92, "c")],
    }
    for rows in (1, 2, 7, 10_000):
        found = results(batch_rows=rows)
        assert {name: found.get(name, []) for name in expected} == expected


def test_slices_name_their_partition_and_go_through_json(topics):
    topics["1"] = [(0, (3, "e"))]
    topics["0"] = [(4, (1, "a")), (6, (2, "b"))]
    source = open_source("topic:t", "s", SCHEMA, {"first": "3"}, ".", False)
    slices, position, ended = source.plan(source.start(), 100)
    assert [(s.partition, s.number, s.seq, s.rows) for s in slices] == [("0", 0, 4, None)]
    assert [(n, p["number"], p["ended"]) for n, p in position["partitions"].items()] == [
        ("0", 0, True),
        ("1", 1, True),
    ]
    assert ended
    again = Slice.from_json(json.loads(json.dumps(slices[0].to_json())))
    assert source.read(again, ["name"]).seq.tolist() == [5, 7]


def test_a_batch_takes_of_all_in_turn(topics):
    for name in "abcd":
        topics[name] = [(i, (i, name)) for i in range(5)]
    source = open_source("topic:t", "s", SCHEMA, {}, ".", False)
    position, taken = source.start(), []
    for _ in range(6):
        slices, position, _ = source.plan(position, 3)
        taken.append("".join(s.partition for s in slices))
    assert taken == ["abc", "dab", "cda", "bcd", "abc", "dab"]


def test_options_of_a_connector_are_checked_as_all_others(topics):
    with pytest.raises(MillstreamError) as error:
        open_source("topic:t", "s", SCHEMA, {"fist": "3"}, ".", False)
    assert error.value.message == 'option "fist" of a topic does not exist'
    assert error.value.hint == "Did you mean first?"
    with pytest.raises(MillstreamError) as error:
        open_source("topic:t", "s", SCHEMA, {"first": "x"}, ".", False)
    assert error.value.message == 'option "first" is "x", not a whole number'
    assert error.value.hint == "Write first = '100'."
    with pytest.raises(MillstreamError) as error:
        open_source("topik:t", "s", SCHEMA, {}, ".", False)
    assert error.value.hint == "Did you mean topic:?"


def test_arrival_numbers_order_by_position_then_partition():
    numbers = [arrivals(np.array([1, 2, 700]), number) for number in (0, 1, 65_535)]
    both = np.concatenate(numbers)
    assert len(set(both.tolist())) == 9
    assert np.argsort(both).tolist() == [0, 3, 6, 1, 4, 7, 2, 5, 8]
    with pytest.raises(MillstreamError):
        arrivals(np.array([1 << 46]), 0)


def test_a_new_partition_begins_at_the_current_heartbeat(topics):
    topics["0"] = [(0, (5, "a")), (1, (20, "b"))]
    job = Running(SCRIPT)
    job.batches()
    assert job.rows("q1") == [(5, 5, "a")]
    topics["1"] = [(0, (17, "old")), (1, (18, "new"))]
    job.batches()
    assert job.rows("s.late") == [(17, 17, "old")]
    assert job.host.clock.beats["s"] == 17
    topics["0"] += [(2, (40, "c"))]
    job.batches()
    assert job.rows("q1") == [(5, 5, "a")], "the new one holds back now"
    topics["1"] += [(2, (30, "d"))]
    job.batches()
    assert job.rows("q1") == [(5, 5, "a"), (18, 18, "new"), (20, 20, "b")]


class Running:
    """A script that follows its sources on the local host."""

    def __init__(self, script):
        session = Database(tell=lambda text: None)
        session.execute(script)
        self.kept = KeptResults()
        self.host = LocalHost(session.job(), session.sources(follow=True), [self.kept])

    def batches(self):
        while self.host.batch():
            pass

    def rows(self, name):
        return rows_of(self.kept.tables(), name)


partitions = st.lists(st.lists(st.none() | st.integers(0, 12), max_size=12), min_size=1, max_size=4)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(partitions=partitions, rows=st.integers(1, 9), buckets=st.integers(1, 3))
def test_cuts_do_not_matter(topics, partitions, rows, buckets):
    """Every partition decides for itself who is late; ties go by position, then by partition."""
    topics.clear()
    good, late = [], []
    for number, values in enumerate(partitions):
        log, largest = [], None
        for offset, ts in enumerate(values):
            name = f"{number}.{offset}"
            log.append((offset * 3 + number, None if ts is None else (ts, name)))
            if ts is None:
                continue
            if largest is not None and ts < largest - 2:
                late.append((ts, ts, name))
                continue
            largest = ts if largest is None else max(ts, largest)
            good.append((ts, offset * 3 + number, number, name))
        topics[str(number)] = log
    whole = results()
    assert whole.get("q1", []) == [(ts, ts, name) for ts, _, _, name in sorted(good)]
    assert whole.get("s.late", []) == sorted(late)
    assert results(batch_rows=rows, buckets=buckets) == whole
    source = open_source("topic:t", "s", SCHEMA, {}, ".", False)
    everything = sorted(drain(source, 100, SCHEMA.names)[0])
    assert sorted(drain(source, rows, SCHEMA.names)[0]) == everything
