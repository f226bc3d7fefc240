"""Which files a SOURCE names, and files that grow."""

import pyarrow as pa
import pytest
from drain import drain

from millstream.connect import open_source
from millstream.errors import MillstreamError

ITEMS = pa.schema([("item", pa.int64())])


def opening(base, url, follow=False, **options):
    return open_source(url, "s", ITEMS, options, str(base), follow)


def items(source, rows=100):
    return [(seq, row[0]) for seq, row in drain(source, rows)[0]]


def take(source, position):
    """The items that are there after a position, and the position after them."""
    found = []
    while True:
        slices, position, ended = source.plan(position, 100)
        assert not ended
        if not slices:
            return found, position
        for piece in slices:
            found += source.read(piece, ["item"]).rows["item"].to_pylist()


@pytest.mark.parametrize("url", ["d", "d/", "d/*.csv", "*/*.csv"])
def test_folder_and_glob_are_one_sequence_by_name(tmp_path, url):
    (tmp_path / "d").mkdir()
    for name, item in [("b.csv", 2), ("a.csv", 1), (".hidden.csv", 9), ("_x.csv", 9), ("c.csv", 3)]:
        (tmp_path / "d" / name).write_text(f"item\n{item}\n")
    assert items(opening(tmp_path, url), 1) == [(1, 1), (2, 2), (3, 3)]


def test_format_overrides_the_ending(tmp_path):
    (tmp_path / "a.log").write_text('{"item":1}\n')
    assert items(opening(tmp_path, "a.log", format="jsonl")) == [(1, 1)]
    assert items(opening(tmp_path, f"file://{tmp_path}/a.log", format="JSON")) == [(1, 1)]


@pytest.mark.parametrize(
    ("url", "options", "message", "hint"),
    [
        ("bids.cvs", {}, 'file "bids.cvs" does not exist', "Did you mean bids.csv?"),
        ("no/bids.csv", {}, 'file "no/bids.csv" does not exist', None),
        ("*.parquet", {}, 'no file matches "*.parquet"', None),
        ("empty", {}, 'folder "empty" has no files', None),
        ("notes.txt", {}, 'the ending of "notes.txt" does not say its format', None),
        ("bids.csv.zst", {}, 'file "bids.csv.zst" is compressed and cannot be read', None),
        ("bids.parquet.gz", {}, 'file "bids.parquet.gz" is compressed and cannot be read', None),
        ("bids.csv.gz", {}, 'file "bids.csv.gz" cannot be unpacked as gzip',
         "If it is not packed, give it a name without .gz."),
        ("bids.gz", {}, 'the ending of "bids.gz" does not say its format', None),
        ("bids.csv", {"timestamp": "epoch"}, 'option "timestamp" is "epoch", which does not exist',
         "Use epoch_s, epoch_ms, epoch_us, or a format."),
        ("bids.csv", {"timestamp": "%d/%m/%Q"},
         'option "timestamp" is "%d/%m/%Q", which is no format: %Q is not known',
         "Write timestamp = '%d/%m/%Y %H:%M:%S', or dd/MM/yyyy HH:mm:ss."),
        ("bids.csv", {"format": "cvs"}, 'option "format" is "cvs", which does not exist',
         "Did you mean csv?"),
        ("bids.csv", {"delimeter": ";"}, 'option "delimeter" of a csv source does not exist',
         "Did you mean delimiter?"),
        ("bids.csv", {"delimiter": ";;"}, 'option "delimiter" is ";;", not one character', None),
        ("bids.csv", {"header": "no"}, 'option "header" is "no", neither true nor false', None),
        ("bids.csv", {"max_row_bytes": "1M"}, None, None),
        ("kafka:bids", {}, 'source "kafka:bids" is of an unknown kind', None),
        ("mixed", {}, '"mixed" has files of several formats: csv, jsonl', None),
    ],
)  # fmt: skip
def test_what_cannot_be_opened(tmp_path, url, options, message, hint):
    packed = ("bids.csv.gz", "bids.csv.zst", "bids.parquet.gz", "bids.gz")
    for name in ("bids.csv", "notes.txt", *packed):
        (tmp_path / name).write_text("item\n1\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed/a.csv").touch()
    (tmp_path / "mixed/b.jsonl").touch()
    with pytest.raises(MillstreamError) as error:
        opening(tmp_path, url, **options)
    assert message in (None, error.value.message)
    assert error.value.hint
    assert hint in (None, error.value.hint)


def test_a_growing_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("it")
    source = opening(tmp_path, "a.csv", follow=True)
    found, position = take(source, source.start())
    assert found == []
    with path.open("a") as file:
        for text, expected in [
            ("em\n1\n2", [1]),
            ("2\n", [22]),
            ("3\n\n4\n5", [3, 4]),
            ("\n", [5]),
        ]:
            file.write(text)
            file.flush()
            found, position = take(source, position)
            assert found == expected
    path.write_text("item\n")
    with pytest.raises(MillstreamError, match="shorter"):
        source.plan(position, 10)


def test_a_growing_folder(tmp_path):
    (tmp_path / "d").mkdir()
    source = opening(tmp_path, "d", follow=True)
    found, position = take(source, source.start())
    assert found == [] and not position
    (tmp_path / "d/1.csv").write_text("item\n1\n2")
    found, position = take(source, position)
    assert found == [1]
    (tmp_path / "d/2.csv").write_text("item\n3\n")
    found, position = take(source, position)
    assert found == [2, 3]


def test_a_pattern_that_matches_nothing_yet(tmp_path):
    source = opening(tmp_path, "later/*.jsonl", follow=True)
    found, position = take(source, source.start())
    assert found == []
    (tmp_path / "later").mkdir()
    (tmp_path / "later/a.jsonl").write_text('{"item":1}\n')
    assert take(source, position)[0] == [1]
