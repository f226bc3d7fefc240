"""The golden runner itself: what it must notice, and what it never records."""

from __future__ import annotations

import pytest

from millstream.errors import MillstreamError
from millstream.testing.golden import AS_WRITTEN, check_golden, rewrite_golden
from millstream.testing.golden_file import GoldenError, parse_golden

HEAD = """\
script
CREATE STREAM bids (ts int, item varchar) ORDER BY ts;

query items
SELECT item FROM bids

# what came
feed bids
1 | pen
2 | ink
"""


def failures(tmp_path, text: str) -> list[str]:
    path = tmp_path / "case.test"
    path.write_text(text)
    return check_golden(path, (AS_WRITTEN,))


@pytest.mark.parametrize(
    ("expected", "wrong"),
    [
        ("----\n1 | pen\n", None),
        ("", "unexpected: 1 | pen"),
        ("----\n1 | ink\n", "missing: 1 | ink\nunexpected: 1 | pen"),
        ("----\n1 | pen\n1 | pen\n", "missing: 1 | pen"),
        ("----\n1 | pen\n---- bids.late\n1 | 1 | pen\n", "missing: 1 | 1 | pen"),
    ],
)
def test_what_is_wrong_is_told(tmp_path, expected, wrong):
    found = failures(tmp_path, HEAD + expected)
    assert (found == []) if wrong is None else (wrong in found[0])


def test_rows_of_an_instant_may_stand_in_any_order_and_instants_may_not(tmp_path):
    more = "\nfeed bids\n2 | cup\n3 | pot\n----\n"
    first = HEAD + "----\n1 | pen\n"
    assert failures(tmp_path, first + more + "2 | ink\n2 | cup\n") == []
    assert failures(tmp_path, first + more + "2 | cup\n2 | ink\n") == []
    end = "\nend\n----\n"
    assert failures(tmp_path, HEAD + "4 | jar\n----\n2 | ink\n1 | pen\n" + end + "4 | jar\n")


def test_late_rows_that_nobody_expects_are_a_failure(tmp_path):
    found = failures(tmp_path, HEAD + "1 | late\n----\n1 | pen\n")
    assert "bids.late" in found[0]


def test_rewriting_makes_a_file_pass_and_keeps_its_comments(tmp_path):
    path = tmp_path / "case.test"
    path.write_text(HEAD)
    rewrite_golden(path)
    assert path.read_text() == HEAD + "----\n1 | pen\n"
    assert check_golden(path) == []


@pytest.mark.parametrize("query", ["SELECT it FROM bids", "SELECT Istream(Istream(*)) FROM bids"])
def test_rewriting_never_records_an_error(tmp_path, query):
    path = tmp_path / "case.test"
    text = HEAD.replace("SELECT item FROM bids", query)
    path.write_text(text)
    with pytest.raises(MillstreamError):
        rewrite_golden(path)
    assert path.read_text() == text


def test_an_error_case_without_error_is_not_recorded(tmp_path):
    path = tmp_path / "case.test"
    path.write_text(HEAD + "\nerror\nSELECT item FROM bids\n----\n")
    with pytest.raises(GoldenError):
        rewrite_golden(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fed bids\n1 | pen\n", '"fed" is none of'),
        (HEAD + "\nscript\nCREATE STREAM s (a int);\n", "after the first feed"),
        (HEAD + "\nend\n\nfeed bids\n3 | cup\n", "after end"),
        ("error\nSELECT 1\n", "error needs ----"),
    ],
)
def test_files_that_are_not_written_as_they_should_be(text, message):
    with pytest.raises(GoldenError, match=message):
        parse_golden(text)


def test_a_row_with_too_few_cells_is_a_mistake_in_the_file(tmp_path):
    with pytest.raises(GoldenError, match="2 columns, and the row 1 cells"):
        failures(tmp_path, HEAD + "3\n")
