"""Wrong scripts and the exact message, place and hint each of them gets.

In errors.txt cases are separated by a line of equals signs; the script comes first, then a line of
dashes, then the message. What is declared beforehand stands in data/prelude.sql.
"""

import re

import pytest

from errors.cases import CASES, database, message
from millstream.errors import MillstreamError


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 200


@pytest.mark.parametrize(("script", "expected"), CASES, ids=[script for script, _ in CASES])
def test_error(script: str, expected: str) -> None:
    with pytest.raises(MillstreamError) as caught:
        database().execute(script)
    assert message(caught.value) == expected


@pytest.mark.parametrize(("script", "expected"), CASES, ids=[script for script, _ in CASES])
def test_house_style(script: str, expected: str) -> None:
    first, *rest = expected.splitlines()
    assert not first.endswith(".") and "invalid" not in expected.lower()
    keyword = re.match(r"[A-Z]{2,}\b|Istream|Dstream|Rstream|R\(", first)
    assert first[0] == first[0].lower() or keyword
    assert any(line.lstrip().startswith("| ") and "^" in line for line in rest)
    for line in rest:
        if line.startswith(("hint: ", "detail: ")):
            sentence = line.partition(": ")[2]
            assert sentence.endswith((".", "?", "….")), sentence
