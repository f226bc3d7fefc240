"""CSV files, good and bad."""

import datetime as dt
from decimal import Decimal
from importlib import import_module

import numpy as np
import pyarrow as pa
import pytest
from drain import drain

from millstream.errors import MillstreamError

BIDS = pa.schema([("item", pa.int64()), ("price", pa.float64()), ("who", pa.string())])


def values(source, rows=100):
    return [row for _, row in drain(source, rows)[0]]


def reasons(source, rows=100):
    return [reason for _, reason, _ in drain(source, rows)[1]]


def one(opened, type, cell):
    """The value of one cell, or the reason why there is none."""
    source = opened("one.csv", f"a,b\n{cell},1\n", pa.schema([("a", type)]))
    good, errors, _ = drain(source, 10)
    return good[0][1][0] if good else errors[0][1]


def test_columns_by_name_in_any_case_and_order(opened):
    source = opened("a.csv", "WHO,extra,Price,item\nann,x,1.5,1\n,x,,\n", BIDS)
    assert values(source) == [(1, 1.5, "ann"), (None, None, None)]


def test_asked_columns_in_asked_order(opened):
    source = opened("a.csv", "item,price,who\n1,2,x\n", BIDS)
    assert drain(source, 9, ["who", "item"])[0] == [(1, ("x", 1))]


def test_without_header_and_other_delimiter(opened):
    source = opened("a.csv", "1;2;x\n2;;y;z\n", BIDS, header="false", delimiter=";")
    assert values(source) == [(1, 2.0, "x")]
    assert reasons(source) == ["the row has 4 cells instead of 3"]


def test_crlf_byte_order_mark_and_last_line_without_end(opened):
    source = opened("a.csv", b"\xef\xbb\xbfitem,price,who\r\n1,2,x\r\n\r\n3,4,y", BIDS)
    assert drain(source, 1)[0] == [(1, (1, 2.0, "x")), (2, (3, 4.0, "y"))]


def test_quotes(opened):
    text = 'item,price,who\n1,2,"a ""b"", c\nd"\n2,3,""\n3,4,5" pipe\n4,5,6" pipe\n'
    source = opened("a.csv", text, BIDS)
    assert [row[2] for row in values(source)] == ['a "b", c\nd', "", '5" pipe', '6" pipe']


def test_a_stray_quote_costs_one_row(opened):
    text = 'item,price,who\n1,2,"abc\n2,3,x\n3,4,"y"\n4,5,"open\n5,6,z\n'
    source = opened("a.csv", text, BIDS)
    for rows in (1, 2, 100):
        assert [row[0] for row in values(source, rows)] == [2, 3, 5]
        assert reasons(source, rows) == ["a quote is opened and not closed"] * 2


@pytest.mark.parametrize(
    ("type", "cell", "value"),
    [
        (pa.int64(), " 12 ", 12),
        (pa.int64(), "+12", 12),
        (pa.int64(), "12.0", 12),
        (pa.int64(), "9223372036854775807", 2**63 - 1),
        (pa.int64(), "9223372036854775808",
         'column "a": "9223372036854775808" does not fit in a bigint'),
        (pa.int64(), "12.5", 'column "a": "12.5" is not a bigint'),
        (pa.float64(), "abc", 'column "a": "abc" is not a double'),
        (pa.float64(), " -1e3", -1000.0),
        (pa.bool_(), "T", True),
        (pa.bool_(), "0", False),
        (pa.bool_(), "Yes", True),
        (pa.bool_(), "on", 'column "a": "on" is not a boolean'),
        (pa.date32(), "2024-02-29", dt.date(2024, 2, 29)),
        (pa.date32(), "2023-02-29", 'column "a": "2023-02-29" is not a date'),
        (pa.decimal128(6, 2), "-1.005", Decimal("-1.01")),
        (pa.decimal128(6, 2), "12345.1", 'column "a": "12345.1" does not fit in a decimal(6, 2)'),
        (pa.duration("us"), "90.5", dt.timedelta(seconds=90.5)),
        (pa.duration("us"), "-01:00:00", -dt.timedelta(hours=1)),
        (pa.duration("us"), "soon", 'column "a": "soon" is not an interval'),
        (pa.timestamp("us"), "2024-01-01 00:00:01", dt.datetime(2024, 1, 1, 0, 0, 1)),
        (pa.timestamp("us"), "2024-01-01T00:00:01.5Z", dt.datetime(2024, 1, 1, 0, 0, 1, 500000)),
        (pa.timestamp("us"), "2024-01-01T02:00:00+02:00", dt.datetime(2024, 1, 1)),
        (pa.timestamp("us"), "2024-01-01 00:00:00.123456789",
         dt.datetime(2024, 1, 1, 0, 0, 0, 123456)),
        (pa.timestamp("us"), "2024-13-01 00:00:00",
         'column "a": "2024-13-01 00:00:00" is not a timestamp'),
        (pa.int64(), '""', None),
    ],
)  # fmt: skip
def test_cells(opened, type, cell, value):
    assert one(opened, type, cell) == value


def test_a_bad_cell_is_bad_whichever_columns_are_asked_for(opened):
    source = opened("a.csv", "item,price,who\n1,x,a\n2,2,b\n", BIDS)
    good, errors, _ = drain(source, 10, ["who"])
    assert good == [(2, ("b",))]
    assert errors == [(1, 'column "price": "x" is not a double', "1,x,a")]


def test_not_utf8(opened):
    source = opened("a.csv", b"item,price,who\n1,2,a\n2,3,\xff\xfe\n3,4,c\n\xff\n", BIDS)
    good, errors, _ = drain(source, 10)
    assert [seq for seq, _ in good] == [1, 3]
    assert errors[0] == (2, "the row is not UTF-8: byte 0xff at 5", "2,3,��")
    assert errors[1][0] == 4


def test_many_bad_cells_do_not_disturb_the_good(opened):
    cells = [f"{i}" if i % 3 else "bad" for i in range(3000)]
    source = opened("a.csv", "item,price,who\n" + "".join(f"{c},1,x\n" for c in cells), BIDS)
    good, errors, _ = drain(source, 10_000)
    assert [row[0] for _, row in good] == [i for i in range(3000) if i % 3]
    assert [seq for seq, _, _ in errors] == [i + 1 for i in range(0, 3000, 3)]


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("rows", [1, 2, 100])
def test_a_row_that_is_too_long(opened, quote, rows):
    long = quote + "x" * 5000 + quote
    source = opened(
        "a.csv", f"item,price,who\n1,2,a\n2,3,{long}\n3,4,c\n", BIDS, max_row_bytes="1000"
    )
    good, errors, _ = drain(source, rows)
    assert [row[0] for _, row in good] == [1, 3]
    [(seq, reason, text)] = errors
    assert (seq, len(text)) == (2, 1000)
    assert reason == f"the row has {5005 + 2 * len(quote):,} bytes, more than max_row_bytes = 1,000"


def test_a_row_longer_than_any_piece_is_found_in_little_memory(opened, monkeypatch):
    records = import_module(
        "millstream.connect.files.records"
    )  # millstream.connect is a function, too
    monkeypatch.setattr(records, "MOST_BYTES", 4096)
    text = "item,price,who\n1,2,a\n2,3," + "x" * 3_000_000 + "\n3,4,c\n"
    source = opened("a.csv", text, BIDS, max_row_bytes="1000")
    good, errors, _ = drain(source, 10)
    assert [row[0] for _, row in good] == [1, 3]
    assert errors[0][1] == "the row has 3,000,005 bytes, more than max_row_bytes = 1,000"


def test_missing_column(opened):
    with pytest.raises(MillstreamError) as error:
        opened("a.csv", "item,prize,who\n", BIDS)
    assert error.value.message == 'column "price" does not exist in file "a.csv"'
    assert error.value.hint == "Did you mean prize?"
    with pytest.raises(MillstreamError, match="delimiter = ';'"):
        opened("b.csv", "item;price;who\n", BIDS)


def test_missing_column_in_a_later_file(opened, tmp_path):
    (tmp_path / "f").mkdir()
    (tmp_path / "f/a.csv").write_text("item,price,who\n1,2,x\n")
    (tmp_path / "f/b.csv").write_text("item,price\n1,2\n")
    source = opened("f", None, BIDS)
    with pytest.raises(MillstreamError, match=r'"who" does not exist in file "b.csv"'):
        drain(source, 10)


def test_empty_files(opened):
    assert drain(opened("a.csv", "", BIDS), 10) == ([], [], None)
    assert drain(opened("b.csv", "item,price,who", BIDS), 10) == ([], [], None)


def test_numbers_are_int64(opened):
    source = opened("a.csv", "item,price,who\n1,2,x\n", BIDS)
    read_batch = source.read(source.plan(source.start(), 1)[0][0], ["item"])
    assert read_batch.seq.dtype == np.int64
