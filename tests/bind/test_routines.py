"""Definitions of aggregates and functions: the trees that they become, and what authors are told.

In routines.txt cases are separated by a line of equals signs: a comment, a definition, a line of
dashes, then the bound routine and its notices.
"""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

from errors.cases import database
from millstream.bind.blocks import bind_routine, routine_from_text, routines_from_text
from millstream.blocks.derived import over_window
from millstream.catalog import Catalog
from millstream.connect.table import TableFiles
from millstream.lang import parse_script

HERE = Path(__file__).parent
PAPER = (HERE / "paper.sql").read_text()
TREES = (HERE / "routines.txt").read_text()
CASES = [case.strip("\n").partition("\n----\n") for case in TREES.split("\n====\n")]


def shown(definition: str) -> str:
    (statement,) = parse_script(definition.partition("\n")[2])
    known = database().catalog
    routine, notices, reads = bind_routine(statement, known, statement.place.text)
    lines = [routine.described]
    lines += [f"calls {', '.join(sorted(routine.calls))}"] if routine.calls else []
    lines += [f"reads {', '.join(reads)}"] if reads else []
    return "\n".join([*lines, *(f"-- {notice.render()}" for notice in notices)])


@pytest.mark.parametrize(("definition", "expected"), [(d, e) for d, _, e in CASES])
def test_tree(definition: str, expected: str) -> None:
    assert shown(definition) == expected


def test_the_text_of_a_routine_defines_it() -> None:
    known = database().catalog
    for definition in [d.partition("\n")[2] for d, _, _ in CASES]:
        routine = bind_routine(parse_script(definition)[0], known, definition)[0]
        again = bind_routine(parse_script(routine.text)[0], known, routine.text)[0]
        assert again == routine and again.text == routine.text
        assert pickle.loads(pickle.dumps(routine)) == routine


def test_the_aggregates_of_the_paper() -> None:
    found = {(r.name, r.is_window): r for r in routines_from_text(PAPER)}
    blocking = {name for (name, window), r in found.items() if r.is_blocking}
    assert blocking == {"avg"}
    assert found["avg", True].calls == {"avg": found["avg", False]}
    assert found["cum_avg", False].terminate is None and found["max", True].expire == ()
    assert found["max16", True].is_algebraic and found["max16", True].returns_on_expire
    assert found["item_alarm", True].inwindow[2] == ("ttime", pa.timestamp("us"))


def test_the_window_version_of_a_base_one_is_that_of_example_11() -> None:
    base = routine_from_text("AGGREGATE g(x real) : real { INSERT INTO RETURN VALUES (x); }")
    catalog = Catalog()
    catalog.put_routine(base)
    written = routine_from_text(
        "WINDOW AGGREGATE g(x real) : real { TABLE inwindow(x); "
        "INSERT INTO RETURN SELECT g(inwindow.x) FROM inwindow; }",
        catalog,
    )
    derived = over_window(base)
    assert derived.described.replace(" newest", "") == written.described
    assert derived.calls == written.calls and derived.digest != written.digest


def test_a_digest_covers_what_is_called() -> None:
    called = "AGGREGATE g(x int) : int { INSERT INTO RETURN VALUES (x + %d); }"
    caller = "AGGREGATE f(x int) : int { TABLE t(n int); INSERT INTO RETURN SELECT g(n) FROM t; }"
    first, second = (routine_from_text(called % n + caller) for n in (1, 2))
    assert first.described == second.described and first != second


def test_a_file_is_loaded_into_a_local_table(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("a,b\n1,2\n2,3\n")
    text = "AGGREGATE f(x int) : int { TABLE t(a int, b int); LOAD FROM 'edges.csv' INTO t; }"
    routine = bind_routine(parse_script(text)[0], Catalog(), text, TableFiles(str(tmp_path)))[0]
    (insert,) = routine.initialize
    assert insert.query.sources[0].of.rows.to_pydict() == {"a": [1, 2], "b": [2, 3]}
