"""`millstream check`: every mistake of a script at its place, and nothing is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.shell import Shell
from millstream.database import Database

WRONG = """\
CREATE STREAM bids (at int, item string, price double) ORDER BY at SOURCE 'bids.csv';
CREATE STREAM asks (at int, item string) ORDER BY at SOURCE 'asks.csv';
CREATE VIEW tops AS SELECT item, max(pric) AS top FROM bids GROUP BY item;
CREATE VIEW high AS SELECT item FROM tops WHERE top > 5;
SELEC item FROM bids;
CREATE VIEW empty AS SELECT FROM bids;
SELECT * FROM empty;
SELECT b.item FROM bids [Range 5] b, asks [Now] a WHERE a.itm = b.item;
SELECT item FROM bids WHERE price > 30;
INSERT INTO bids VALUES (1);
"""


def heads(text: str) -> list[str]:
    """The first lines of findings, and the last line."""
    return [line for line in text.splitlines() if not line.startswith((" ", "hint", "detail"))]


def test_every_mistake_is_found_at_its_place(shell: Shell, bids: Path) -> None:
    script = bids.with_name("wrong.sql")
    script.write_text(WRONG)
    assert shell("check", "wrong.sql") == 1
    assert heads(shell.out) == [
        'wrong.sql:2:54: error: file "asks.csv" does not exist',
        'wrong.sql:3:38: error: column "pric" does not exist in "bids"',
        'wrong.sql:5:1: error: a statement cannot begin with "SELEC"',
        'wrong.sql:6:29: error: expected a select list but found "FROM"',
        'wrong.sql:8:59: error: column "itm" does not exist in "a"',
        'wrong.sql:9:1: notice: q1: stream "bids" has no window: [Range Unbounded] is used',
        "wrong.sql:9:1: notice: q1: the answer only grows: Istream is used, "
        "and the result is a stream",
        'wrong.sql:10:13: error: stream "bids" cannot be changed by statements',
        "6 errors, 2 notices, 1 query is right, 2 statements not checked: what they use is wrong",
    ]
    assert "   3 | CREATE VIEW tops AS SELECT item, max(pric)" in shell.out
    assert "\nhint: Did you mean SELECT?\n" in shell.out
    assert not bids.with_name("answers").exists()


@pytest.mark.parametrize(
    ("unfinished", "error"),
    [
        ("SELECT item FROM bids WHERE item = 'lamp;", "4:36: error: the string does not end"),
        ('SELECT item FROM "bids;', "4:18: error: the quoted name does not end"),
        ("SELECT item /* FROM bids;", "4:13: error: the comment does not end"),
    ],
)
def test_what_does_not_end_hides_no_mistakes_before_it(
    shell: Shell, bids: Path, unfinished: str, error: str
) -> None:
    script = bids.with_name("unfinished.sql")
    lines = ["SELEC 1;", "SELECT STREAMED itm FROM bids;", "SELECT “ FROM bids;", unfinished]
    script.write_text("\n".join([*lines, "SELECT nothing;", ""]))
    declared = bids.read_text().strip().rstrip(";")
    script.write_text(f"{declared}; {script.read_text()}")
    assert "\n" not in declared
    at = len(declared) + 2
    assert shell("check", "unfinished.sql") == 1
    assert heads(shell.out) == [
        f'unfinished.sql:1:{at + 1}: error: a statement cannot begin with "SELEC"',
        'unfinished.sql:2:17: error: column "itm" does not exist in "bids"',
        'unfinished.sql:3:8: error: the character "“" has no meaning here',
        f"unfinished.sql:{error}",
        "4 errors, no notices",
    ]


def test_what_uses_an_unfinished_definition_is_not_checked(shell: Shell, bids: Path) -> None:
    script = "SELECT item FROM v; CREATE VIEW v AS SELECT item FROM bids WHERE item = 'x"
    assert shell("check", bids, "-e", script) == 1
    assert heads(shell.out) == [
        "<command line>:1:73: error: the string does not end",
        "1 error, no notices, 1 statement not checked: what it uses is wrong",
    ]


def test_a_right_script(shell: Shell, bids: Path) -> None:
    assert shell("check", bids, "-e", "SELECT STREAMED count(*) FROM bids [Rows 2]") == 0
    assert (shell.out, shell.err) == ("no errors, no notices, 1 query is right\n", "")
    assert shell("check", bids) == 0
    assert shell.out == "no errors, no notices, 0 queries are right\n"


def test_sources_need_not_be_there(shell: Shell, bids: Path) -> None:
    bids.with_name("bids.csv").unlink()
    tables = (
        "CREATE TABLE items (item string, name string) SOURCE 'no.csv';"
        "SELECT STREAMED name FROM bids [Now] b JOIN items USING (item)"
    )
    assert shell("check", bids, "-e", tables) == 1
    assert heads(shell.out) == [
        f'{bids}:1:68: error: file "bids.csv" does not exist',
        '<command line>:1:47: error: file "no.csv" does not exist',
        "2 errors, no notices, 1 query is right",
    ]
    assert shell("check", bids, "--no-sources", "-e", tables) == 0
    assert shell.out == "no errors, no notices, 1 query is right\n"


def test_mistakes_that_hide_the_statements(shell: Shell, bids: Path) -> None:
    assert shell("check", "-e", "SELECT 'abc") == 1
    assert len(heads(shell.out)) == 2 and heads(shell.out)[0].startswith(
        "<command line>:1:8: error"
    )
    circle = "CREATE VIEW a AS SELECT x FROM b; CREATE VIEW b AS SELECT x FROM a; SELECT x FROM,"
    assert shell("check", "-e", circle) == 1
    assert heads(shell.out) == [
        '<command line>:1:32: error: view "a" and view "b" are defined by each other',
        '<command line>:1:82: error: expected the name of a stream, table or view but found ","',
        "2 errors, no notices, 2 statements not checked: what they use is wrong",
    ]


def test_nothing_is_left_of_a_check(bids: Path) -> None:
    database = Database(base=str(bids.parent))
    database.execute(bids.read_text())
    checked = database.check("CREATE VIEW a AS SELECT item FROM bids [Now]; SELECT item FROM a")
    assert [query.name for query in checked.queries] == ["a", "q1"] and not checked.errors
    assert list(database.queries) == [] and list(database.streams) == ["bids"]
