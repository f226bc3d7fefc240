"""Machines of patterns as text, as a picture and for Graphviz: all states and edges are there."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

import millstream
from millstream.cli.explaining import NO_PATTERN, explain_script
from millstream.database import Database
from millstream.errors import MillstreamError
from millstream.plan.machine_text import shown

SVG = "{http://www.w3.org/2000/svg}"
SCRIPT = """
CREATE STREAM s (t int, k varchar, x double) ORDER BY t;
CREATE TABLE kept (t int, k varchar, x double);
CREATE VIEW dips AS SELECT A.x AS top, count(*B) AS n
  FROM s PARTITION BY k AS (A, *B, *C, D)
  WHERE B.x < 0.9 * B.previous.x AND count(*B) > 1 AND C.x >= 0.9 * C.previous.x AND D.x < A.x;
CREATE VIEW words AS SELECT * FROM s MATCH_RECOGNIZE (
  PARTITION BY k MEASURES A.x AS top
  PATTERN (A (B | C){2,3}? D+) DEFINE B AS k = 'a<b & "c"\\', C AS x > PREV(x), D AS sum(D.x) < 9);
CREATE VIEW pair AS SELECT A.x AS a, B.x AS b FROM s PARTITION BY k AS (A, B) WHERE B.x > A.x;
CREATE VIEW of_rows AS SELECT A.x AS a, B.x AS b
  FROM kept PARTITION BY k SEQUENCE BY t AS (A, *B) WHERE B.x > B.previous.x;
CREATE VIEW plain AS SELECT STREAMED k, count(*) AS n FROM s GROUP BY k;
"""
NAMES = ("dips", "words", "pair", "of_rows")


@pytest.fixture(scope="module")
def database() -> Database:
    found = Database(tell=lambda text: None)
    found.execute(SCRIPT)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_state_and_edge_is_drawn(database: Database, name: str) -> None:
    query = database.find_query(name)
    (pattern,) = shown(database.plan_of(query, "optimized"))
    machine = pattern.machine
    edges = {(e.source, e.target) for e in machine.edges}
    tree = ElementTree.fromstring(database.picture([query], "machine"))
    titles = [g.findtext(f"{SVG}title") or "" for g in tree.iter(f"{SVG}g") if g.get("class")]
    drawn = [re.fullmatch(r"(\d+) \S+ to (\d+) \S+", title) for title in titles]
    assert {(int(m[1]), int(m[2])) for m in drawn if m} == edges and len(drawn) == len(edges)
    words = "\n".join(t.text or "" for t in tree.iter(f"{SVG}text"))
    for state in machine.states:
        assert state.name in words
    graph = database.picture([query], "machine", "graphviz")
    assert set(re.findall(r"p0_(\d+) -> p0_(\d+)", graph)) == {(str(a), str(b)) for a, b in edges}
    assert len(re.findall(r"p0_\d+ \[label", graph)) >= len(machine.states)


@pytest.mark.parametrize("name", NAMES)
def test_boxes_do_not_overlap(database: Database, name: str) -> None:
    tree = ElementTree.fromstring(database.picture([database.find_query(name)], "machine"))
    boxes = [r for r in tree.iter(f"{SVG}rect") if r.get("class") == "box"]
    spans = [(float(r.get("y", 0)), float(r.get("height", 0))) for r in boxes]
    assert all(y + high < after for (y, high), (after, _) in pairwise(spans))
    width = float(tree.get("width", 0))
    assert all(float(r.get("width", 0)) < width for r in boxes)


def test_the_text_has_conditions_counts_and_tables(database: Database) -> None:
    text = database.explain(database.find_query("dips"), "machine")
    for line in (
        "2 *B     B.x < (0.9 * B.previous.x)   2 *B, else 3 *C",
        "at its end: count(*B) > 1",
        "4 D      D.x < A.x                    match",
        "did not meet *B",
        "a number may be negative",
    ):
        assert line in text
    assert "the rows end" not in text
    assert "the rows end" in database.explain(database.find_query("of_rows"), "machine")


def test_what_is_counted_in_define_is_shown(database: Database) -> None:
    text = database.explain(database.find_query("words"), "machine")
    assert "counting sum(D.x)" in text and "SET pattern_steps" in text


def test_a_naive_search_has_no_tables() -> None:
    naive = Database(tell=lambda text: None)
    naive.execute("SET search = naive;" + SCRIPT)
    text = naive.explain(naive.find_query("dips"), "machine")
    assert "(naive)" in text and "shift" not in text


def test_a_query_without_a_pattern(database: Database) -> None:
    with pytest.raises(MillstreamError, match="looks for no pattern"):
        database.explain(database.find_query("plain"), "machine")


def test_forms_that_do_not_exist(database: Database) -> None:
    with pytest.raises(MillstreamError, match='form "png" of a picture does not exist'):
        database.picture([database.find_query("dips")], "machine", "png")
    with pytest.raises(MillstreamError, match='stage "bound" is drawn as SVG only'):
        database.picture([database.find_query("dips")], "bound", "graphviz")


def test_explain_machine_in_its_forms() -> None:
    told: list[str] = []
    database = Database(tell=told.append)
    database.execute(SCRIPT + "EXPLAIN MACHINE AS SVG pair; EXPLAIN MACHINE AS GRAPHVIZ pair;")
    picture, graph = told[-2:]
    assert picture.startswith("<svg ") and graph.startswith('digraph "pair" {')


def test_from_the_command_line(tmp_path: Path) -> None:
    script = tmp_path / "s.sql"
    script.write_text(SCRIPT)
    text = explain_script(script, "machine", None, None, None, ())
    assert [line.split(":")[0] for line in text.splitlines() if line.endswith(", machine")] == [
        f"-- {name}" for name in NAMES
    ]
    for suffix, begins in ((".svg", "<svg "), (".dot", "digraph "), (".gv", "digraph ")):
        file = tmp_path / f"m{suffix}"
        said = explain_script(script, "machine", None, file, None, ())
        assert said == f"4 machines drawn into {file}"
        assert file.read_text().startswith(begins)
    with pytest.raises(MillstreamError, match="is for Graphviz, and --stage bound"):
        explain_script(script, "bound", None, tmp_path / "m.dot", None, ())
    script.write_text("CREATE STREAM s (t int) ORDER BY t; SELECT t FROM s;")
    assert explain_script(script, "machine", None, None, None, ()) == NO_PATTERN


def test_from_python() -> None:
    with millstream.connect(host="local") as db:
        db.execute("CREATE STREAM s (t int, x int) ORDER BY t;")
        query = db.query("SELECT A.x FROM s AS (A, B) WHERE B.x > A.x")
        assert "2 B      B.x > A.x         match" in query.explain("machine")
        assert query.picture("machine").startswith("<svg ")
        assert query.picture("machine", "graphviz").startswith("digraph ")
