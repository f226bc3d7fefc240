"""JSON lines, good and bad."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from drain import drain

BIDS = pa.schema([("item", pa.int64()), ("price", pa.float64()), ("who", pa.string())])


def one(opened, type, value):
    source = opened("one.jsonl", f'{{"a":{value}}}\n', pa.schema([("a", type)]))
    good, errors, _ = drain(source, 10)
    return good[0][1][0] if good else errors[0][1]


def test_missing_keys_are_null_and_others_ignored(opened):
    source = opened("a.jsonl", '{"who":"x","z":{"item":[1]},"item":1}\n{}\n', BIDS)
    assert drain(source, 10)[0] == [(1, (1, None, "x")), (2, (None, None, None))]


def test_keys_in_another_case(opened):
    lines = ['{"Item":1,"PRICE":2}', '{"item":2,"Item":9}', '{"Item":3}', '{"item":null,"Item":4}']
    source = opened("a.jsonl", "\n".join(lines) + "\n", BIDS)
    for rows in (1, 2, 4):
        assert [row[0] for _, row in drain(source, rows)[0]] == [1, 2, 3, None]


@pytest.mark.parametrize(
    ("type", "value", "expected"),
    [
        (pa.int64(), '"12"', 12),
        (pa.int64(), "12.0", 12),
        (pa.int64(), "12.5", 'column "a": "12.5" is not a bigint'),
        (pa.int64(), "true", 'column "a": true is not a bigint'),
        (pa.int64(), "99999999999999999999",
         'column "a": "99999999999999999999" does not fit in a bigint'),
        (pa.float64(), "1", 1.0),
        (pa.float64(), '"1.5"', 1.5),
        (pa.string(), "1.50", "1.50"),
        (pa.string(), "false", "false"),
        (pa.string(), "[1, 2.50]", "[1,2.50]"),
        (pa.float64(), "[1]",
         'column "a": an array is not a double; declare it string for its JSON text'),
        (pa.string(), '"\\ud800"', 'column "a": half a surrogate pair is not a string'),
        (pa.bool_(), '"t"', True),
        (pa.decimal128(6, 2), "1.005", Decimal("1.01")),
        (pa.decimal128(6, 2), '"1.5"', Decimal("1.50")),
        (pa.timestamp("us"), '"2024-01-01T01:00:00+01:00"', dt.datetime(2024, 1, 1)),
        (pa.timestamp("us"), "17", 'column "a": the number 17 is not a timestamp'),
        (pa.timestamp("us"), "1704067200",
         'column "a": the number 1704067200 is not a timestamp; '
         "if it counts from 1970, say WITH (timestamp = 'epoch_s')"),
        (pa.date32(), '"2024-01-01"', dt.date(2024, 1, 1)),
        (pa.duration("us"), "1.5", dt.timedelta(seconds=1.5)),
        (pa.duration("us"), '"00:01:00"', dt.timedelta(minutes=1)),
    ],
)  # fmt: skip
def test_values(opened, type, value, expected):
    assert one(opened, type, value) == expected


def test_lines_that_are_not_rows(opened):
    deep = b"[" * 100_000 + b"]" * 100_000
    lines = [b'{"item":1}', b"[1]", b"null", b'{"item":', b'{"item":2}{"item":3}',
             b'{"who":"\xff"}', b'{"z":' + deep + b"}", b' {"item":4} ']  # fmt: skip
    source = opened("a.jsonl", b"\n".join(lines), BIDS)
    for rows in (1, 100):
        good, errors, _ = drain(source, rows)
        assert [(seq, row[0]) for seq, row in good] == [(1, 1), (8, 4)]
        assert [seq for seq, _, _ in errors] == [2, 3, 4, 5, 6, 7]
    assert errors[0][1] == "the row is not a JSON object"
    assert errors[4][1] == "the row is not UTF-8: byte 0xff at 9"
    assert errors[5][1] == "the row is nested more than 200 deep"


def test_heartbeats_are_not_rows(opened):
    lines = [
        '{"item":1}',
        '{"$heartbeat": "2024-01-01T00:00:01Z"}',
        "x",
        '{"$heartbeat": 5}',
        '{"item":2}',
    ]
    source = opened("a.jsonl", "\n".join(lines), BIDS)
    for rows in (1, 2, 100):
        good, errors, beat = drain(source, rows)
        assert [(seq, row[0]) for seq, row in good] == [(1, 1), (5, 2)]
        assert [seq for seq, _, _ in errors] == [3]
        assert beat == 1_704_067_201_000_000
    only = opened("b.jsonl", '{"$heartbeat": 5}\n{"$heartbeat": 7}\n', BIDS)
    assert drain(only, 10) == ([], [], 7)


def test_a_row_that_is_too_long(opened):
    text = '{"item":1}\n{"who":"' + "x" * 3000 + '"}\n{"item":3}\n'
    good, errors, _ = drain(opened("a.jsonl", text, BIDS, max_row_bytes="1000"), 10)
    assert [row[0] for _, row in good] == [1, 3]
    assert errors[0][1] == "the row has 3,011 bytes, more than max_row_bytes = 1,000"
