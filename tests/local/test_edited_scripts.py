"""A script that is edited between two runs on one checkpoint: nothing is erased unasked."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from local.script import Script, files

STREAM = "CREATE STREAM bids (t int, item string, price int) ORDER BY t SOURCE 'bids.csv';\n"
BUSY = "CREATE VIEW busy AS SELECT STREAMED item, count(*) AS n FROM bids GROUP BY item;\n"
TOP = "CREATE VIEW top AS SELECT STREAMED max(n) AS n FROM busy;\n"
DEAR = "SELECT item, price FROM bids WHERE price > 10;\n"
CHEAP = "SELECT item, price FROM bids WHERE price <= 10;\n"


@pytest.fixture
def script(tmp_path: Path) -> Script:
    (tmp_path / "bids.csv").write_text("t,item,price\n1,lamp,20\n2,vase,5\n3,lamp,30\n")
    return Script(tmp_path, STREAM + BUSY + TOP + DEAR)


def more(script: Script, rows: str) -> None:
    with open(script.folder / "bids.csv", "a") as file:
        file.write(rows)


def test_a_bare_query_above_another_leaves_it_its_name_and_its_rows(script: Script, capfd) -> None:
    assert script.run(capfd)[0] == 0
    assert script.rows("q1") == ["1,lamp,20", "3,lamp,30"]
    script.path.write_text(STREAM + BUSY + TOP + CHEAP + DEAR)
    more(script, "4,kite,7\n5,kite,40\n")
    code, said = script.run(capfd)
    assert code == 0 and 'query "q2" is new since the last run' in said
    assert script.rows("q1") == ["1,lamp,20", "3,lamp,30", "5,kite,40"]
    assert script.rows("q2") == ["4,kite,7"]


def test_a_bare_query_that_is_gone_leaves_its_file_and_its_number(script: Script, capfd) -> None:
    script.path.write_text(STREAM + CHEAP + DEAR)
    assert script.run(capfd)[0] == 0
    script.path.write_text(STREAM + DEAR + "SELECT item FROM bids WHERE price = 7;\n")
    more(script, "4,kite,7\n5,kite,40\n")
    code, said = script.run(capfd)
    assert code == 0
    assert 'query "q1" of the last run is gone: its state is dropped, its result stays' in said
    assert script.rows("q1") == ["2,vase,5"]
    assert script.rows("q2") == ["1,lamp,20", "3,lamp,30", "5,kite,40"]
    assert script.rows("q3") == ["4,kite"]


def test_a_changed_query_is_refused_by_name_and_nothing_is_touched(script: Script, capfd) -> None:
    assert script.run(capfd)[0] == 0
    whole = files(script.out), files(script.checkpoint / "commits")
    script.path.write_text(STREAM + BUSY.replace("bids GROUP", "bids [Range 9] GROUP") + TOP + DEAR)
    more(script, "4,kite,7\n")
    code, said = script.run(capfd)
    assert code == 1
    assert f'queries "busy", "top" cannot go on from checkpoint "{script.checkpoint}"' in said
    assert "Write --restart busy --restart top" in said
    assert (files(script.out), files(script.checkpoint / "commits")) == whole
    code, said = script.run(capfd, "--restart", "busy")
    assert code == 1 and 'query "top" cannot go on' in said
    assert (files(script.out), files(script.checkpoint / "commits")) == whole


def test_a_restarted_query_starts_fresh_and_its_old_file_is_kept(script: Script, capfd) -> None:
    assert script.run(capfd)[0] == 0
    old = files(script.out)
    (script.out / "busy.1.csv").write_text("older\n")
    script.path.write_text(STREAM + BUSY.replace("bids GROUP", "bids [Range 9] GROUP") + TOP + DEAR)
    more(script, "4,kite,7\n")
    code, said = script.run(capfd, "--restart", "busy", "--restart", "TOP")
    assert (
        code == 0
        and 'query "busy" begins with the content it has now; its earlier result is kept' in said
    )
    now = files(script.out)
    assert now["busy.1.csv"] == b"older\n"
    assert now["busy.2.csv"] == old["busy.csv"] and now["top.1.csv"] == old["top.csv"]
    assert script.rows("busy") == ["+,3,lamp,2", "+,3,vase,1", "+,4,kite,1"]
    assert script.rows("q1") == ["1,lamp,20", "3,lamp,30"]
    assert script.run(capfd)[0] == 0, "the query is known as it is now"
    assert script.rows("busy") == ["+,3,lamp,2", "+,3,vase,1", "+,4,kite,1"]


def test_readers_of_a_restarted_view_must_be_named(script: Script, capfd) -> None:
    assert script.run(capfd)[0] == 0
    code, said = script.run(capfd, "--restart", "busy")
    assert code == 1 and said.startswith("-- ") and 'query "top" reads "busy"' in said
    assert "Name all of them: --restart busy --restart top" in said
    code, said = script.run(capfd, "--restart", "bussy")
    assert code == 1 and 'Did you mean "busy"?' in said
    more(script, "4,kite,7\n")
    assert script.run(capfd, "--restart", "busy", "--restart", "top")[0] == 0
    assert script.rows("busy") == ["+,3,lamp,2", "+,3,vase,1", "+,4,kite,1"]
    assert script.rows("busy.1") == ["+,1,lamp,1", "+,2,vase,1", "u,3,lamp,2"]


def test_a_new_reader_of_a_restarted_view_need_not_be_named(script: Script, capfd) -> None:
    script.path.write_text(STREAM + BUSY)
    assert script.run(capfd)[0] == 0
    script.path.write_text(STREAM + BUSY.replace("count(*)", "sum(price)") + TOP)
    assert "--restart busy (in Python" in script.run(capfd)[1]
    more(script, "4,kite,7\n")
    assert script.run(capfd, "--restart", "busy")[0] == 0
    assert script.rows("busy") == ["+,3,lamp,50", "+,3,vase,5", "+,4,kite,7"]
    assert script.rows("top") == ["+,3,50"]


def test_a_query_that_comes_back_does_not_write_over_what_it_left(script: Script, capfd) -> None:
    assert script.run(capfd)[0] == 0
    old = files(script.out)["top.csv"]
    script.path.write_text(STREAM + BUSY + DEAR)
    assert script.run(capfd)[0] == 0
    assert files(script.out)["top.csv"] == old
    script.path.write_text(STREAM + BUSY + TOP + DEAR)
    code, said = script.run(capfd)
    assert code == 1 and "was taken out of the script, and its result of then is kept" in said
    assert script.run(capfd, "--restart", "top")[0] == 0
    assert files(script.out)["top.1.csv"] == old


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_other_formats_and_stored_results_are_kept_too(script: Script, capfd, form: str) -> None:
    stored = "CREATE VIEW busy AS SELECT item, count(*) AS n FROM bids GROUP BY item;\n"
    script.path.write_text(STREAM + stored + DEAR)
    wanted = ("--format", form, "--changes")
    assert script.run(capfd, *wanted)[0] == 0
    old = files(script.out)
    script.path.write_text(STREAM + stored.replace("FROM bids", "FROM bids [Now]") + DEAR)
    assert script.run(capfd, *wanted)[0] == 1 and files(script.out) == old
    assert script.run(capfd, *wanted, "--restart", "busy")[0] == 0
    now = files(script.out)
    for name in ("busy", "busy.changes"):
        if form == "parquet":
            kept = pq.read_table(script.out / f"{name}.1.parquet")
            assert kept.num_rows == {"busy": 2, "busy.changes": 3}[name]
        else:
            assert now[f"{name}.1.jsonl"] == old[f"{name}.jsonl"]


def test_equal_bare_queries_are_told_apart(script: Script, capfd) -> None:
    script.path.write_text(STREAM + DEAR + DEAR)
    assert script.run(capfd)[0] == 0
    script.path.write_text(STREAM + CHEAP + DEAR + DEAR)
    more(script, "5,kite,40\n")
    assert script.run(capfd)[0] == 0
    assert script.rows("q1") == script.rows("q2") == ["1,lamp,20", "3,lamp,30", "5,kite,40"]
    assert script.rows("q3") == []
