"""Wrong scripts and the exact message each of them gets.

Cases are separated by a line of equals signs; the script comes first, then a line of dashes, then
the message.
"""

from pathlib import Path

import pytest

from millstream.errors import MillstreamError
from millstream.lang import parse_script

CASES = [
    tuple(case.strip("\n").split("\n----\n"))
    for case in Path(__file__).with_name("syntax_errors.txt").read_text().split("\n====\n")
]


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 25


@pytest.mark.parametrize(("script", "message"), CASES, ids=[script for script, _ in CASES])
def test_syntax_error(script: str, message: str) -> None:
    with pytest.raises(MillstreamError) as caught:
        parse_script(script)
    rendered = "\n".join(line.rstrip() for line in caught.value.render().splitlines())
    assert rendered == message
    assert caught.value.place is not None
    assert "invalid" not in rendered.lower()
