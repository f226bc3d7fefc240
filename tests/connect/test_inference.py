"""Columns that are inferred from files: their types, what is told, and that they stay the same."""

from __future__ import annotations

import datetime as dt
import json
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.checkpointed import Checkpointed
from millstream.cli.main import main
from millstream.cli.running import load
from millstream.connect.files import inference
from millstream.connect.files.cell_types import type_of_cells
from millstream.database import Database
from millstream.database.events import Noticed
from millstream.engine.read_tasks import reopened
from millstream.errors import MillstreamError
from millstream.testing import run_script


class Told:
    """A database over a folder, and the notices it gave."""

    def __init__(self, base: Path) -> None:
        self.notices: list[str] = []
        self.texts: list[str] = []
        self.database = Database(base=str(base), tell=self.texts.append)
        self.database.events.subscribe(lambda e: self.notices.append(e.notice.render()), Noticed)

    def declared(self, statement: str) -> str:
        """What was inferred for a statement, as the notice says it."""
        self.database.execute(statement)
        return self.notices[-1].partition(": ")[2]


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path)


@pytest.mark.parametrize(
    ("cells", "type"),
    [
        (["1", "-2", " 3 ", None], "int64"),
        (["1", "2.5"], "double"),
        (["1e3", "-.5", "NaN"], "double"),
        (["nan", "inf"], "string"),
        (["True", "false"], "bool"),
        (["t", "f"], "string"),
        (["2024-05-01"], "date32[day]"),
        (["2024-05-01", "2024-05-01T10:00:00Z"], "timestamp[us]"),
        (["2024-13-01"], "string"),
        (["2024-05-01 25:00:00"], "string"),
        (["00123", "1"], "string"),
        (["0", "0.5"], "double"),
        (["9223372036854775807"], "int64"),
        (["9223372036854775808"], "string"),
        (["1", "x"], "string"),
        (["", None], "string"),
        ([], "string"),
    ],
)
def test_type_of_cells(cells: list[str | None], type: str) -> None:
    assert str(type_of_cells(pa.array(cells, pa.string()))) == type


def test_csv(told: Told, tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text(
        "at;item;price;zip;#x;note\n2024-05-01 10:00:00;lamp;20;00123;1;\n"
        "2024-05-01 10:00:20;clock;35.5;00124;2;\n"
    )
    text = told.declared("CREATE STREAM b ORDER BY at SOURCE 'b.csv' WITH (delimiter = ';')")
    assert text == (
        "CREATE STREAM b (at timestamp, item string, price double, zip string, note string) "
        "ORDER BY at SOURCE 'b.csv' WITH ('delimiter' = ';');"
    )
    assert told.notices == [
        f'the columns of stream "b" are inferred from "b.csv" (without "#x"): {text}'
    ]
    told.database.execute("DESCRIBE b")
    assert told.texts[-1].endswith(f"inferred: {text}")
    pasted = Told(tmp_path)
    pasted.database.execute(text)
    assert pasted.notices == []
    assert pasted.database.streams["b"].declared == told.database.streams["b"].declared


def test_json(told: Told, tmp_path: Path) -> None:
    rows = [
        {"t": 1, "x": 1, "Name": "a", "ok": True, "at": "2024-05-01T10:00:00Z", "tags": [1]},
        {"$heartbeat": 1},
        {"t": 2, "x": 1.5, "name": "12", "big": 2**70, "mixed": 1, "none": None},
        {"t": 3, "mixed": "b", "deep": {"a": 1}},
    ]
    lines = "\n".join(map(json.dumps, rows)) + "\nno json\n"
    (tmp_path / "b.jsonl").write_text(lines)
    text = told.declared("CREATE STREAM b ORDER BY t SOURCE 'b.jsonl'")
    assert text.startswith(
        'CREATE STREAM b (t bigint, x double, "Name" string, ok boolean, at timestamp, '
        "big string, mixed string, none string)"
    ) or text.startswith(
        "CREATE STREAM b (t bigint, x double, Name string, ok boolean, at timestamp, "
        "big string, mixed string, none string)"
    )
    assert '(without "tags", "deep")' in told.notices[0]
    found = run_script("CREATE STREAM b ORDER BY t SOURCE 'b.jsonl'; SELECT * FROM b", tmp_path)
    assert found["q1"].column("big").to_pylist() == [None, str(2**70), None]
    assert found["b.errors"].num_rows == 1


def test_parquet(told: Told, tmp_path: Path) -> None:
    table = pa.table(
        {
            "at": pa.array([0, 10**9], pa.timestamp("ns", "UTC")),
            "n": pa.array([1, 2], pa.int16()),
            "x": pa.array([1.5, 2.5], pa.float32()),
            "d": pa.array([Decimal("1.50"), None], pa.decimal128(9, 2)),
            "day": pa.array([dt.date(2024, 5, 1)] * 2),
            "s": pa.array(["a", "b"]).dictionary_encode(),
            "ok": pa.array([True, None]),
            "raw": pa.array([b"a", b"b"]),
            "many": pa.array([[1], [2]]),
        }
    )
    pq.write_table(table, tmp_path / "x.parquet")
    text = told.declared("CREATE STREAM s ORDER BY at SOURCE 'x.parquet'")
    assert text == (
        "CREATE STREAM s (at timestamp, n bigint, x double, d decimal(9,2), day date, s string, "
        "ok boolean) ORDER BY at SOURCE 'x.parquet';"
    )
    assert '(without "raw", "many")' in told.notices[0]
    found = run_script(
        "CREATE STREAM s ORDER BY at SOURCE 'x.parquet'; SELECT n, d FROM s", tmp_path
    )
    assert found["q1"].column("n").to_pylist() == [1, 2]


def test_a_day_can_be_the_time(told: Told, tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("day,n\n2024-05-01,1\n2024-05-02,2\n")
    assert "(day timestamp, n bigint)" in told.declared(
        "CREATE STREAM b ORDER BY Day SOURCE 'b.csv'"
    )


def test_the_first_file_of_a_folder(told: Told, tmp_path: Path) -> None:
    (tmp_path / "days").mkdir()
    (tmp_path / "days" / "10.csv").write_text("t,x\n1,late\n")
    (tmp_path / "days" / "9.csv").write_text("t,x\n1,2.5\n")
    assert "(t bigint, x double)" in told.declared("CREATE STREAM b ORDER BY t SOURCE 'days'")
    assert 'from "9.csv"' in told.notices[0]


def test_the_first_folder_of_partitions(told: Told, tmp_path: Path) -> None:
    (tmp_path / "in" / "a").mkdir(parents=True)
    (tmp_path / "in" / "a" / "1.csv").write_text("t,x\n1,2.5\n")
    text = told.declared(
        "CREATE STREAM b ORDER BY t SOURCE 'in' WITH (partitions = 'folders', idle = '1 second')"
    )
    assert "(t bigint, x double)" in text


def test_tables(told: Told, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,name\n1,lamp\n2,clock\n")
    assert told.declared("CREATE TABLE t KEY (id) SOURCE 't.csv'") == (
        "CREATE TABLE t (id bigint, name string) KEY (id) SOURCE 't.csv';"
    )
    (tmp_path / "c.csv").write_text("op,ts,id,price\n+,1,1,2.5\nu,3,1,4\n")
    assert told.declared("CREATE TABLE c KEY (id) NON RETROACTIVE SOURCE 'c.csv'") == (
        "CREATE TABLE c (id bigint, price double) KEY (id) NON RETROACTIVE SOURCE 'c.csv';"
    )
    told.database.execute("DESCRIBE c")
    assert "inferred: CREATE TABLE c (id" in told.texts[-1]
    assert told.database.streams["c"].inferred is not None


def test_a_sample(told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inference, "SAMPLE", 3)
    (tmp_path / "b.csv").write_text("t,x\n1,1\n2,2\n3,3\n4,4.5\n")
    told.declared("CREATE STREAM b ORDER BY t SOURCE 'b.csv'")
    assert "from the first 3 rows of" in told.notices[0]
    assert told.notices[0].endswith("(hint: A later row that does not fit is a bad row.)")
    found = run_script("CREATE STREAM b ORDER BY t SOURCE 'b.csv'; SELECT x FROM b", tmp_path)
    assert found["q1"].num_rows == 3
    assert found["b.errors"].column("reason").to_pylist() == ['column "x": "4.5" is not a bigint']
    with pytest.raises(MillstreamError) as caught:
        told.database.execute("CREATE TABLE t SOURCE 'b.csv'")
    assert "Its columns were inferred: CREATE TABLE t (t bigint, x bigint)" in str(caught.value)


def test_a_file_that_grew_is_the_same_stream(tmp_path: Path) -> None:
    data, folder = tmp_path / "b.csv", tmp_path / "checkpoint"
    script = "CREATE STREAM b ORDER BY t SOURCE 'b.csv'; SELECT t, x FROM b"
    data.write_text("t,x\n1,1\n2,2\n")
    first = Checkpointed(script, tmp_path, folder, {})
    first.go()
    data.write_text("t,x\n1,1\n2,2\n3,half\n4,4\n")
    again = Checkpointed(script, tmp_path, folder, {})
    again.positions = reopened(again.session.sources(follow=False), again.positions)
    again.go()
    found = {name: table.to_pylist() for name, table in again.kept.tables().items()}
    assert [row["x"] for row in found["q1"]] == [4]
    assert [row["reason"] for row in found["b.errors"]] == ['column "x": "half" is not a bigint']
    other = script.replace("'b.csv'", "'b.csv' WITH (delimiter = ',')")
    with pytest.raises(MillstreamError, match="another declaration"):
        Checkpointed(other, tmp_path, folder, {})


def test_the_command_line_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "b.csv").write_text("t,x\n1,1\n")
    script = tmp_path / "script.sql"
    script.write_text("CREATE STREAM b ORDER BY t SOURCE 'b.csv'; SELECT x FROM b;")
    monkeypatch.setattr(sys, "argv", ["millstream", "run", str(script), "--host", "local"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    out, err = capfd.readouterr()
    said = " ".join(err.split())
    assert "CREATE STREAM b (t bigint, x bigint) ORDER BY t SOURCE 'b.csv';" in said
    assert said.count("CREATE STREAM") == 1
    assert out == "ts,x\n1,1\n"


def test_a_followed_folder_may_be_empty(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    script = tmp_path / "script.sql"
    script.write_text("CREATE STREAM b (t int) ORDER BY t SOURCE 'in'; SELECT t FROM b;")
    with pytest.raises(MillstreamError, match='folder "in" has no files'):
        load(script, (), print)
    assert load(script, (), print, follow=True).sources(follow=True).keys() == {"b"}
    for source in ("'*.csv'", "'in' WITH (partitions = 'folders')", "'in' WITH (format = 'csv')"):
        script.write_text(f"CREATE STREAM b (t int) ORDER BY t SOURCE {source};")
        assert load(script, (), print, follow=True).streams.keys() == {"b"}
    (tmp_path / "broken.parquet").write_text("")
    script.write_text("CREATE STREAM b (t int) SOURCE 'broken.parquet';")
    with pytest.raises(MillstreamError, match="cannot be read as Parquet"):
        load(script, (), print, follow=True)
    script.write_text("CREATE STREAM b ORDER BY t SOURCE 'in';")
    with pytest.raises(MillstreamError, match="no file yet that columns could be inferred from"):
        load(script, (), print, follow=True)


def test_columns_may_be_names_alone(tmp_path: Path) -> None:
    """The types that are not written are those of the source, in the order that is written."""
    (tmp_path / "t.csv").write_text("at,Bike,minutes\n1,17,12\n2,4,7.5\n")
    told = Told(tmp_path)
    found = told.declared("STREAM trips (minutes, bike int, at) ORDER BY at SOURCE 't.csv'")
    assert found == (
        "CREATE STREAM trips (minutes double, bike int, at bigint) ORDER BY at SOURCE 't.csv';"
    )
    assert told.declared("TABLE kept (bike, at) SOURCE 't.csv'") == (
        "CREATE TABLE kept (bike bigint, at bigint) SOURCE 't.csv';"
    )


def test_a_name_that_the_source_does_not_have_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("at,bike\n1,17\n")
    with pytest.raises(MillstreamError) as caught:
        Told(tmp_path).declared("STREAM trips (at, bikes) ORDER BY at SOURCE 't.csv'")
    assert caught.value.message == 'column "bikes" does not exist in file "t.csv"'
    assert caught.value.hint == 'Did you mean "bike"?'
    place = caught.value.place
    assert place is not None and place.text[place.start : place.end] == "bikes"
