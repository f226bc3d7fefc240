"""The picture of a plan: every operator and every edge is in it, and nothing overlaps."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest

from millstream.algebra.node import Node, walk
from millstream.database import Database
from millstream.errors import MillstreamError
from millstream.plan.layout import Box, laid_out
from plan.figure import FIGURE, MACHINE, draw, draw_machine

SVG = "{http://www.w3.org/2000/svg}"
SCRIPT = """
CREATE STREAM l1 (ts int, src varchar, protocol varchar) ORDER BY ts;
CREATE STREAM l2 (ts int, src varchar, protocol varchar) ORDER BY ts;
CREATE VIEW pairs AS SELECT a.src, b.protocol FROM l1 [Range 9] a, l2 [Range 9] b
  WHERE a.src = b.src AND a.protocol = 'a<b & "c" > ''d''';
CREATE VIEW missing AS SELECT src FROM l1 [Range 9] WHERE src NOT IN (SELECT src FROM l2 [Range 9]);
CREATE VIEW both AS SELECT STREAMED a.src, b.protocol
  FROM l1 [Range 9] a FULL OUTER JOIN l2 [Range 9] b ON a.src = b.src;
CREATE VIEW wide AS SELECT src, count(*) AS a_rather_long_name, min(protocol) AS another_long_name,
  max(protocol) AS and_one_more_of_them FROM l1 [Rows 100] GROUP BY src HAVING count(*) > 3;
"""
NAMES = ("pairs", "missing", "both", "wide")


@pytest.fixture(scope="module")
def database() -> Database:
    found = Database(tell=lambda text: None)
    found.execute(SCRIPT)
    return found


def edges(root: Node) -> Counter[str]:
    """The patterns of all edges: of every operator to each that reads it, and to the answer."""
    found = Counter([root.pattern.name])
    for node in walk(root):
        found.update(child.pattern.name for child in node.inputs)
    return found


@pytest.mark.parametrize("stage", ["bound", "optimized", "physical"])
@pytest.mark.parametrize("name", NAMES)
def test_every_edge_is_drawn_in_its_colour(database: Database, name: str, stage: str) -> None:
    query = database.find_query(name)
    tree = ElementTree.fromstring(database.picture([query], stage))
    groups = [g for g in tree.iter(f"{SVG}g") if g.find(f"{SVG}polygon") is not None]
    assert Counter(g.get("class") for g in groups) == edges(database.plan_of(query, stage))
    for group in groups:
        assert group.findtext(f"{SVG}text") == group.get("class")
        assert (group.findtext(f"{SVG}title") or "").startswith(f"{group.get('class')}: ")


@pytest.mark.parametrize("name", NAMES)
def test_boxes_do_not_overlap(database: Database, name: str) -> None:
    def corners(box: Box) -> tuple[float, float, float, float]:
        return box.x - box.width / 2, box.x + box.width / 2, box.y, box.y + box.height

    boxes = laid_out(database.plan_of(database.find_query(name), "physical")).all
    assert len(boxes) > 3
    for one, other in combinations(boxes, 2):
        left, right, top, bottom = corners(one)
        a, b, c, d = corners(other)
        assert right < a or b < left or bottom < c or d < top
    for box in boxes:
        assert box.x - box.width / 2 > -0.001
        assert all(child.y > box.y + box.height for child in box.children)


def test_a_part_that_comes_again_is_drawn_once(database: Database) -> None:
    boxes = laid_out(database.plan_of(database.find_query("both"), "optimized")).all
    again = [box for box in boxes if box.again]
    assert again and all(not box.children for box in again)
    whole = [box.node for box in boxes if not box.again]
    assert {box.node for box in again} <= set(whole)
    assert len({n for n in whole if n.inputs}) == len([n for n in whole if n.inputs])


def test_words_of_users_are_text(database: Database) -> None:
    text = database.picture([database.find_query("pairs")])
    titles = [t.text or "" for t in ElementTree.fromstring(text).iter(f"{SVG}title")]
    assert any("""(protocol = 'a<b & "c" > ''d''')""" in title for title in titles)


def test_letters_that_svg_does_not_have() -> None:
    database = Database(tell=lambda text: None)
    database.execute("CREATE STREAM s (ts int, a varchar) ORDER BY ts;")
    query = database.query("SELECT a FROM s [Now] WHERE a = 'x\x01y\x0bz\ufffe'")
    assert "x y z" in database.picture([query])
    ElementTree.fromstring(database.picture([query]))


def test_all_queries_in_one(database: Database) -> None:
    tree = ElementTree.fromstring(database.picture(database.queries.values()))
    titles = [t.text for t in tree.iter(f"{SVG}text") if t.get("class") == "title"]
    assert [t.split(":")[0] for t in titles if t] == list(NAMES)


def test_the_figure_of_the_manual_is_what_is_drawn() -> None:
    assert FIGURE.read_text(encoding="utf-8") == draw(), "make docs draws it anew"
    assert MACHINE.read_text(encoding="utf-8") == draw_machine(), "make docs draws it anew"


def test_a_stage_that_does_not_exist(database: Database) -> None:
    with pytest.raises(MillstreamError, match='stage "bond" does not exist'):
        database.picture([database.find_query("pairs")], "bond")


def test_picture_from_the_command_line(tmp_path: Path) -> None:
    from millstream.cli.explaining import explain_script

    script = tmp_path / "s.sql"
    script.write_text(SCRIPT)
    file = tmp_path / "plan.svg"
    assert explain_script(script, "physical", None, file, None, ()) == f"4 plans drawn into {file}"
    assert "wide: complete, physical plan" in file.read_text()
    assert explain_script(script, "bound", "Pairs", file, None, ()) == f"1 plan drawn into {file}"
    assert "wide" not in file.read_text()
    with pytest.raises(MillstreamError, match='query "pears" does not exist') as wrong:
        explain_script(script, "bound", "pears", file, None, ())
    assert wrong.value.hint == 'Did you mean "pairs"?'


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "--picture needs a file, and"),
        ("none/plan.svg", "does not exist"),
        ("s.sql/plan.svg", "not a directory"),
    ],
)
def test_files_that_cannot_be_written(tmp_path: Path, name: str, message: str) -> None:
    from millstream.cli.explaining import explain_script

    script = tmp_path / "s.sql"
    script.write_text(SCRIPT)
    with pytest.raises(MillstreamError) as wrong:
        explain_script(script, "bound", None, tmp_path / name, None, ())
    assert message in wrong.value.message and wrong.value.hint
