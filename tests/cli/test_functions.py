"""`millstream functions`, SHOW FUNCTIONS and DESCRIBE FUNCTION: one place tells them all."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.shell import Shell
from millstream.aggregates.builtin import BUILTINS
from millstream.aggregates.examples import EXAMPLES
from millstream.algebra.functions import FUNCTIONS
from millstream.connect.cells import plain
from millstream.database import Database
from millstream.database.reference import FORMS, entries, looked_up
from millstream.errors import MillstreamError
from millstream.library import LIBRARY
from millstream.testing import run_script


def told(script: str) -> str:
    texts: list[str] = []
    Database(tell=texts.append).execute(script)
    return "\n".join(texts)


def test_all_functions_are_listed(shell: Shell) -> None:
    assert shell("functions") == 0
    lines = shell.out.splitlines()
    assert len(lines) == len(FUNCTIONS) + len(BUILTINS) + len(LIBRARY)
    assert lines[0] == "operator   a AND b                                   both are true"
    assert "function   upper(text)                               in capitals" in lines
    assert told("SHOW FUNCTIONS") == shell.out.rstrip("\n")
    assert told("SHOW AGGREGATES").splitlines()[1].split() == ["aggregate", "sum(x)", "the", "sum"]


def test_one_function(shell: Shell) -> None:
    assert shell("functions", "SUBSTR") == 0
    assert shell.out == (
        "function substring(text, start[, length])\n"
        "  from position start, counted from 1, or from the end if negative\n"
        "  gives string\n"
        "  example: substring(name, 2, 2) is am, where name is 'lamp'\n"
        "  also called mid, substr\n"
    )
    assert told("DESCRIBE FUNCTION substring") == shell.out.rstrip("\n")
    assert told("describe function '%'").startswith("operator a % b\n  remainder")
    assert told("desc function left").startswith("function left(text, count)\n")
    assert [line for line in looked_up("count").splitlines() if line[0] != " "] == [
        "aggregate count(*), count(x)",
        "aggregate count(DISTINCT x)",
    ]


def test_a_call_and_a_form_of_the_grammar_can_be_looked_up(shell: Shell) -> None:
    assert looked_up("count(*)") == looked_up("count")
    assert looked_up("Upper( item )") == looked_up("upper")
    assert shell("functions", "between") == 0
    assert shell.out == "x BETWEEN low AND high\n  Whether low <= x and x <= high.\n"
    assert all(looked_up(name.upper()) == text for name, text in FORMS.items())


def test_functions_like_a_pattern() -> None:
    found = told("SHOW FUNCTIONS LIKE '%DATE%'").splitlines()
    assert [line.split()[1].partition("(")[0] for line in found] == [
        "date_trunc", "date_add", "datediff", "to_date",
    ]  # fmt: skip
    assert told("SHOW FUNCTIONS LIKE 'no'") == "no function has a name like 'no'"
    assert told("SHOW AGGREGATES LIKE 'upper'") == "no aggregate has a name like 'upper'"
    assert told("SHOW SETTINGS LIKE 'b%'") == "setting batch_rows = auto\nsetting buckets = auto"
    assert told("SHOW STREAMS LIKE 'b%'") == "nothing yet"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("lowwer", "Did you mean lower?"),
        ("trunk", "Did you mean trunc?"),
        ("coun", "Did you mean count or count_distinct or approx_count_distinct?"),
        ("time", "Did you mean timestamp_trunc or to_timestamp or from_unixtime?"),
        ("lag", "Write SHOW FUNCTIONS, or millstream functions, to see them all."),
    ],
)
def test_a_name_that_does_not_exist(shell: Shell, name: str, hint: str) -> None:
    assert shell("functions", name) == 1
    assert shell.err == f'function "{name}" does not exist\nhint: {hint}\n'
    with pytest.raises(MillstreamError) as caught:
        told(f"DESCRIBE FUNCTION {name}")
    assert caught.value.place is not None and caught.value.place.column == 19


def test_every_entry_can_be_looked_up() -> None:
    for entry in entries():
        for name in entry.names:
            found = looked_up(name)
            assert entry.usage in found
            assert ("written in SQL:" if name in LIBRARY else "example: ") in found


def test_examples_of_aggregates_are_right(tmp_path: Path) -> None:
    assert list(EXAMPLES) == [aggregate.name for aggregate in BUILTINS]
    (tmp_path / "bids.csv").write_text("t,item,price\n1,lamp,20\n2,vase,5\n3,lamp,35\n")
    calls = ", ".join(f"{call} AS c{i}" for i, (call, _) in enumerate(EXAMPLES.values()))
    table = run_script(
        "CREATE STREAM bids (t int, item string, price double) ORDER BY t SOURCE 'bids.csv';"
        f"SELECT {calls} FROM bids",
        tmp_path,
    )["q1"]
    values = [plain(column.combine_chunks())[0].as_py() for column in table.columns]
    assert values == [value for _, value in EXAMPLES.values()]
