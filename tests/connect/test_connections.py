"""The feed of network connections."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from millstream.connect import open_source
from millstream.errors import MillstreamError

TYPES = {
    "ts": pa.int64(), "duration": pa.float64(), "protocol": pa.string(), "size": pa.int64(),
    "source": pa.int64(), "destination": pa.int64(), "link": pa.int64(),
}  # fmt: skip


def feed(query, *columns, name="feed", follow=False):
    schema = pa.schema([(column, TYPES[column]) for column in columns])
    return open_source(f"generate:connections?{query}", name, schema, {}, ".", follow)


def table(source, rows=1_000_000):
    slices, _, _ = source.plan(source.start(), rows)
    return pa.Table.from_batches([source.read(s, source.schema.names).rows for s in slices])


def column(source, name):
    return table(source)[name].to_numpy()


@pytest.fixture(scope="module")
def windows():
    """What two links hold in a window of 20,000 units."""
    query = "events=80000&seed=3"
    return [
        table(feed(query, "source", "protocol", "destination", name=f"link{i}")) for i in (0, 1)
    ]


def test_one_row_for_every_link_and_unit():
    rows = table(feed("events=400&start=7", "ts", "link", "destination")).to_pylist()
    assert [(row["ts"], row["link"]) for row in rows] == [(7 + k // 4, k % 4) for k in range(400)]
    assert all(row["destination"] % 4 == row["link"] for row in rows)


def test_links_are_the_one_feed():
    whole = table(feed("events=1003&seed=5", *TYPES)).to_pylist()
    for link in range(4):
        by_name = table(feed("events=1003&seed=5", *TYPES, name=f"Link{link}")).to_pylist()
        assert by_name == [row for row in whole if row["link"] == link]
        assert by_name == table(feed(f"events=1003&seed=5&link={link}", *TYPES)).to_pylist()


def test_seeds():
    first = table(feed("events=1000", "source", "size", "duration"))
    assert first.equals(table(feed("events=1000&seed=1", "source", "size", "duration")))
    assert not first.equals(table(feed("events=1000&seed=2", "source", "size", "duration")))


def test_telnet_is_ten_times_as_frequent_as_ftp(windows):
    counts = Counter(windows[0]["protocol"].to_pylist())
    assert 8 < counts["telnet"] / counts["ftp"] < 12
    assert len(counts) > 3


def test_popularity_follows_zipf():
    sources = column(feed("events=800000", "source", "protocol", name="link0"), "source")
    counts = np.sort(np.bincount(sources))[::-1]
    counts = counts[counts > 0]
    assert 1_950 <= len(counts) <= 2_000
    slope = np.polyfit(np.log(np.arange(1, 1001)), np.log(counts[:1000]), 1)[0]
    assert -0.95 < slope < -0.75


def test_fewer_sources():
    assert len(np.unique(column(feed("events=40000&sources=50", "source"), "source"))) < 50 * 5


def test_pairs_of_a_source_are_ten_times_as_many_for_telnet(windows):
    def pairs(protocol):
        counts = [
            np.bincount(
                part.filter(pa.array(np.array(part["protocol"]) == protocol))["source"],
                minlength=10_000,
            )
            for part in windows
        ]
        return int((counts[0] * counts[1]).sum())

    assert 8 < pairs("telnet") / pairs("ftp") < 13


def test_some_sources_are_missing_on_a_link(windows):
    here, there = (set(part["source"].to_pylist()) for part in windows)
    assert 0.1 < len(here - there) / len(here) < 0.4


def test_a_dozen_destinations_for_every_source():
    rows = table(feed("events=800000", "source", "destination", name="link0"))
    pairs = rows.group_by(["source", "destination"]).aggregate([])
    assert 10 < len(pairs) / len(set(rows["source"].to_pylist())) <= 12


def test_bounded_end_and_followed_end():
    source = feed("events=102", "ts", name="link1")
    slices, _, ended = source.plan(source.start(), 1000)
    assert [s.rows for s in slices] == [26] and ended
    assert source.largest(slices[0], "ts") == 25
    followed = feed("events=100", "ts", follow=True)
    assert not followed.plan(followed.start(), 1000)[2]


def test_paced_by_the_clock():
    now = [1000.0]
    source = open_source(
        "generate:connections?rate=100", "link3", pa.schema([("ts", pa.int64())]), {}, ".", True
    )
    object.__setattr__(source, "clock", lambda: now[0])
    position = source.start()
    assert source.plan(position, 1000) == ([], position, False)
    now[0] += 2.5
    slices, _, ended = source.plan(position, 1000)
    assert [s.rows for s in slices] == [62] and not ended


@pytest.mark.parametrize(
    ("url", "column", "type", "message"),
    [
        ("generate:conections", "size", pa.int64(), 'generator "conections" does not exist'),
        ("generate:connections?life=5", "size", pa.int64(),
         'parameter "life" of generate:connections does not exist'),
        ("generate:connections?link=4", "size", pa.int64(),
         'parameter "link" of generate:connections is "4", which does not exist'),
        ("generate:connections?link=", "size", pa.int64(), None),
        ("generate:connections?sources=0", "size", pa.int64(),
         'parameter "sources" of generate:connections is "0", '
         "not a whole number from 1 to 1,000,000"),
        ("generate:connections?sources=1000000000000", "size", pa.int64(), None),
        ("generate:connections?start=-1", "size", pa.int64(), None),
        ("generate:connections?rate=x", "size", pa.int64(), None),
        ("generate:connections", "sise", pa.int64(),
         'column "sise" does not exist in the connection feed'),
        ("generate:connections", "ts", pa.timestamp("us"),
         'column "ts" of the connection feed cannot be read as timestamp'),
    ],
)  # fmt: skip
def test_what_cannot_be_generated(url, column, type, message):
    with pytest.raises(MillstreamError) as error:
        open_source(url, "x", pa.schema([(column, type)]), {}, ".", False)
    assert message in (None, error.value.message)
    assert error.value.hint
