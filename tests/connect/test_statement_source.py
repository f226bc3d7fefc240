"""Changes made by statements: rows that come with the job, then those appended while it runs."""

from __future__ import annotations

import pyarrow as pa
import pytest

from millstream.connect.statements.appended import FAULTS, append_batch, read_batches
from millstream.connect.statements.statement_source import StatementSource
from millstream.errors import MillstreamError

SCHEMA = pa.schema([("op", pa.string()), ("ts", pa.int64()), ("item", pa.string())])


def rows(*times: int) -> pa.RecordBatch:
    cells = [{"op": "insert", "ts": t, "item": f"item {t}"} for t in times]
    return pa.RecordBatch.from_pylist(cells, schema=SCHEMA)


def drained(source: StatementSource, size: int, position=None) -> tuple[list, dict, bool]:
    """All rows with their numbers, the position after them, and whether it was the end."""
    position, found, ended = position or source.start(), [], False
    while not ended:
        slices, position, ended = source.plan(position, size)
        if not slices:
            break
        for piece in slices:
            read_batch = source.read(piece, ["ts"])
            found += list(zip(read_batch.seq.tolist(), read_batch.rows.column(0).to_pylist()))
    return found, position, ended


@pytest.mark.parametrize("size", [1, 2, 100])
def test_rows_and_numbers_do_not_depend_on_the_cuts(tmp_path, size):
    spool = tmp_path / "changes"
    append_batch(spool, rows(7, 8))
    append_batch(spool, rows(9))
    source = StatementSource("t", SCHEMA, rows(1, 2, 3), spool, False)
    assert drained(source, size)[0] == [(1, 1), (2, 2), (3, 3), (4, 7), (5, 8), (6, 9)]


def test_a_followed_source_goes_on(tmp_path):
    spool = tmp_path / "changes"
    source = StatementSource("t", SCHEMA, rows(1), spool, True)
    found, position, ended = drained(source, 10)
    assert (found, ended) == ([(1, 1)], False)
    append_batch(spool, rows(5, 6))
    assert drained(source, 10, position)[0] == [(2, 5), (3, 6)]


def test_without_rows_it_ends_at_once():
    source = StatementSource("t", SCHEMA, rows(), None, False)
    assert source.plan(source.start(), 10) == ([], source.start(), True)


def test_a_slice_is_read_the_same_again(tmp_path):
    spool = tmp_path / "changes"
    append_batch(spool, rows(5))
    source = StatementSource("t", SCHEMA, rows(), spool, True)
    slices, _, _ = source.plan(source.start(), 10)
    append_batch(spool, rows(6))
    again = StatementSource("t", SCHEMA, rows(), spool, True)
    assert again.read(slices[0], ["item", "op"]).rows.to_pylist() == [
        {"item": "item 5", "op": "insert"}
    ]


def test_more_statements_with_later_times_are_welcome_and_others_are_not():
    source = StatementSource("t", SCHEMA, rows(1, 2), None, False)
    _, position, _ = drained(source, 10)
    more = StatementSource("t", SCHEMA, rows(1, 2, 3), None, False)
    assert drained(more, 10, position)[0] == [(3, 3)]
    other = StatementSource("t", SCHEMA, rows(0, 1, 2), None, False)
    with pytest.raises(MillstreamError, match="not those of the checkpoint"):
        other.plan(position, 10)


def test_what_could_not_be_read_takes_numbers_and_gives_bad_rows(tmp_path):
    spool = tmp_path / "changes"
    faults = pa.RecordBatch.from_pylist([{"reason": "away", "row": ""}], schema=FAULTS)
    append_batch(spool, faults)
    append_batch(spool, rows(4))
    source = StatementSource("t", SCHEMA, rows(), spool, False)
    slices, _, _ = source.plan(source.start(), 10)
    first, second = (source.read(piece, ["ts"]) for piece in slices)
    assert first.errors.to_pylist() == [{"seq": 1, "reason": "away", "row": ""}]
    assert first.rows.num_rows == 0 and second.seq.tolist() == [2]


def test_a_batch_that_is_damaged_is_named(tmp_path):
    spool = tmp_path / "changes"
    append_batch(spool, rows(1))
    append_batch(spool, rows(2))
    last = sorted(spool.iterdir())[-1]
    last.write_bytes(last.read_bytes()[:20])
    with pytest.raises(MillstreamError, match=r"000000000001.* is damaged"):
        list(read_batches(spool))
