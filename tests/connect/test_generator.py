"""The auction feed."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from drain import drain

from millstream.connect import open_source
from millstream.errors import MillstreamError

TYPES = {
    "event": pa.string(), "id": pa.int64(), "name": pa.string(), "email": pa.string(),
    "city": pa.string(), "state": pa.string(), "item_name": pa.string(), "seller": pa.int64(),
    "category": pa.int64(), "start_price": pa.float64(), "expires": pa.timestamp("us"),
    "auction": pa.int64(), "bidder": pa.int64(), "price": pa.float64(), "ts": pa.timestamp("us"),
}  # fmt: skip


def feed(query, *columns, name="feed", follow=False):
    schema = pa.schema([(column, TYPES[column]) for column in columns])
    return open_source(f"generate:auction?{query}", name, schema, {}, ".", follow)


def table(source, rows=100_000):
    slices, _, _ = source.plan(source.start(), rows)
    return pa.Table.from_batches([source.read(s, source.schema.names).rows for s in slices])


def test_proportions_and_nulls():
    rows = table(feed("events=5000", *TYPES)).to_pylist()
    assert Counter(row["event"] for row in rows) == {"person": 100, "auction": 300, "bid": 4600}
    for row in rows:
        assert (row["id"] is None) == (row["event"] == "bid")
        assert (row["price"] is None) == (row["event"] != "bid")
        assert (row["city"] is None) == (row["event"] != "person")
        assert row["ts"] is not None


def test_nothing_refers_to_what_is_not_there_yet():
    people = auctions = 0
    for row in table(
        feed("events=20000", "event", "id", "seller", "auction", "bidder")
    ).to_pylist():
        if row["event"] == "person":
            people += 1
            assert row["id"] == people
        elif row["event"] == "auction":
            auctions += 1
            assert row["id"] == auctions and 1 <= row["seller"] <= people
        else:
            assert 1 <= row["auction"] <= auctions and 1 <= row["bidder"] <= people


def test_auctions_expire_within_half_to_one_and_a_half_lives():
    for query, life in (("rate=1000", 16.666), ("rate=50&life=10", 10), ("life=0.25", 0.25)):
        rows = table(feed(f"events=5000&{query}", "ts", "expires", name="auctions")).to_pylist()
        spans = [(row["expires"] - row["ts"]).total_seconds() / life for row in rows]
        assert 0.49 < min(spans) < 0.55 and 1.45 < max(spans) < 1.5


def test_the_three_streams_are_the_one_feed():
    whole = table(feed("events=1000&seed=5", *TYPES))
    for kind, columns in [
        ("person", ["id", "name", "email", "ts"]),
        ("bid", ["auction", "price", "ts"]),
    ]:
        part = table(feed(f"events=1000&seed=5&kind={kind}s", *columns))
        rows = [row for row in whole.to_pylist() if row["event"] == kind]
        assert part.to_pylist() == [{c: row[c] for c in columns} for row in rows]


def test_seeds():
    first = table(feed("events=1000&seed=1", "price", name="bids"))
    assert first.equals(table(feed("events=1000&seed=1", "price", name="bids")))
    assert not first.equals(table(feed("events=1000&seed=2", "price", name="bids")))


def test_hot_auctions():
    bids = table(feed("events=500000", "auction", name="bids"), 1_000_000)["auction"].to_numpy()
    assert 0.45 < np.mean((bids - 1) % 100 < 4) < 0.56


def test_timestamps_are_evenly_spaced():
    stamps = table(feed("events=9&rate=4&start=2024-01-01T00:00:00Z", "ts"))["ts"].to_numpy()
    assert stamps[0] == np.datetime64("2024-01-01")
    assert set(np.diff(stamps).astype(int)) == {250_000}


def test_bounded_end_and_followed_end():
    source = feed("events=100", "auction", name="bid")
    slices, _, ended = source.plan(source.start(), 1000)
    assert [s.rows for s in slices] == [92] and ended
    assert source.largest(slices[0], "auction") == 6
    followed = feed("events=100", "price", name="bid", follow=True)
    assert not followed.plan(followed.start(), 1000)[2]


def test_paced_by_the_clock():
    now = [1000.0]
    schema = pa.schema([("ts", pa.timestamp("us"))])
    source = open_source("generate:auction?rate=100", "feed", schema, {}, ".", True)
    object.__setattr__(source, "clock", lambda: now[0])
    position = source.start()
    assert source.plan(position, 1000) == ([], position, False)
    now[0] += 2.5
    slices, position, ended = source.plan(position, 1000)
    assert [s.rows for s in slices] == [250] and not ended
    assert source.largest(slices[0], "ts") == 1_704_067_200_000_000 + 249 * 10_000
    now[0] += 1
    assert [s.rows for s in source.plan(position, 30)[0]] == [30]


def test_names_and_types_that_are_declared_otherwise():
    schema = pa.schema([("ITEM", pa.int64()), ("price", pa.decimal128(10, 2)), ("Ts", pa.int64())])
    source = open_source("generate:auction?events=50", "bids", schema, {}, ".", False)
    good, errors, _ = drain(source, 10)
    assert len(good) == 46 and errors == []
    assert good[0][1][2] == 1_704_067_200_004_000


@pytest.mark.parametrize(
    ("url", "column", "type", "message"),
    [
        ("generate:auktion", "price", pa.float64(), 'generator "auktion" does not exist'),
        ("generate:auction?rat=5", "price", pa.float64(),
         'parameter "rat" of generate:auction does not exist'),
        ("generate:auction?rate=fast", "price", pa.float64(),
         'parameter "rate" of generate:auction is "fast", not a number above 0'),
        ("generate:auction?rate=0", "price", pa.float64(), None),
        ("generate:auction?events=-1", "price", pa.float64(), None),
        ("generate:auction?start=x", "price", pa.float64(), None),
        ("generate:auction?life=0", "price", pa.float64(), None),
        ("generate:auction?kind=bid5", "price", pa.float64(), None),
        ("generate:auction", "prize", pa.float64(),
         'column "prize" does not exist in the bid feed'),
        ("generate:auction", "price", pa.int64(),
         'column "price" of the bid feed cannot be read as bigint'),
        ("generate:auction", "price", pa.timestamp("us"), None),
    ],
)  # fmt: skip
def test_what_cannot_be_generated(url, column, type, message):
    with pytest.raises(MillstreamError) as error:
        open_source(url, "bids", pa.schema([(column, type)]), {}, ".", False)
    assert message in (None, error.value.message)
    assert error.value.hint
