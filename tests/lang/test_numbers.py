"""Numbers with exponents, and signs after them: `1e3+2` is a sum."""

from __future__ import annotations

import pytest

from millstream.errors import MillstreamError
from millstream.lang import parse_script, place_of, to_sql
from millstream.testing import run_script

WRITTEN = {
    "1e3+2": "1e3 + 2",
    "1e3-2": "1e3 - 2",
    "1e-3": "1e-3",
    "1E+3+1": "1E+3 + 1",
    "1.e5": "1.e5",
    ".5e1+1": "0.5e1 + 1",
    "1.5e3+2.5": "1.5e3 + 2.5",
    "1e3+1e3-1e-3+x1e3+2": "1e3 + 1e3 - 1e-3 + x1e3 + 2",
    "1e3+x": "1e3 + x",
    "a1e3+2": "a1e3 + 2",
    "'1e3+2'": "'1e3+2'",
    '"1e3+2"': '"1e3+2"',
}


@pytest.mark.parametrize("written", WRITTEN)
def test_a_sign_after_an_exponent_is_an_operator(written: str) -> None:
    text = f"-- 1e3+2\nSELECT 1e9+1, {written}, 'é1e3+' /* 1e3-2 */, 3"
    (statement,) = parse_script(text)
    first, number, *_, last = statement.query.expressions  # type: ignore[attr-defined]
    assert (to_sql(first), to_sql(number)) == ("1e9 + 1", WRITTEN[written])
    for node, said in ((number, written), (last, "3")):
        place = place_of(node, text)
        assert place is not None and text[place.start : place.end] == said


@pytest.mark.parametrize("written", ["1e", "2e3x", "1e3x", "1e+"])
def test_what_is_no_number(written: str) -> None:
    with pytest.raises(MillstreamError, match="is not a number"):
        parse_script(f"SELECT {written}")


def test_their_values(tmp_path) -> None:
    (tmp_path / "s.csv").write_text("t\n1\n")
    script = """
    CREATE STREAM s (t int) ORDER BY t SOURCE 's.csv';
    SELECT 1e3+2 AS a, 1e-3 AS b, 1e3-2 AS c, 1.e5 AS d, .5e1 AS e, 2e0-t AS f FROM s;
    """
    (row,) = run_script(script, tmp_path)["q1"].to_pylist()
    assert list(row.values())[1:] == [1002.0, 0.001, 998.0, 100000.0, 5.0, 1.0]
