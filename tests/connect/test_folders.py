"""A folder for every partition: each is a sequence of files with a clock of its own."""

from __future__ import annotations

import json
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from drain import drain

from millstream.cli.main import main
from millstream.connect import open_source
from millstream.database import Database
from millstream.errors import MillstreamError
from millstream.local.host import LocalHost
from millstream.testing import run_script
from millstream.testing.run import KeptResults

SCHEMA = pa.schema([("at", pa.int64()), ("room", pa.string())])
FOLDERS = {"partitions": "folders"}
STREAM = """CREATE STREAM readings (at bigint, room string) ORDER BY at
  SOURCE 'devices' WITH (partitions = 'folders'{});"""
QUERIES = """
SELECT room FROM readings;
SELECT STREAMED room FROM readings [Partition By room Rows 1];
SELECT STREAMED count(*) AS n FROM readings [Rows 4];
"""


def write(folder, path, *rows):
    file = folder / "devices" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(file, "a") as out:
        if not out.tell():
            out.write("at,room\n")
        out.writelines(f"{row}\n" for row in rows)


@pytest.fixture
def devices(tmp_path):
    """The cellar is far behind the attic; each has a row that is late in its own sequence."""
    write(tmp_path, "attic/1.csv", "10,attic", "12,attic", "11,attic")
    write(tmp_path, "attic/2.csv", "13,attic", "x,attic", "20,attic")
    write(tmp_path, "cellar/1.csv", "1,cellar", "3,cellar")
    write(tmp_path, "cellar/2.csv", "2,cellar", "10,cellar", "13,cellar", "14,cellar")
    return tmp_path


def rows_of(table):
    return list(zip(*(column.to_pylist() for column in table.columns)))


def test_lateness_is_decided_in_every_folder_for_itself(devices):
    found = run_script(STREAM.format("") + QUERIES, devices)
    assert rows_of(found["q1"]) == [
        (1, "cellar"), (3, "cellar"), (10, "attic"), (10, "cellar"), (12, "attic"),
        (13, "attic"), (13, "cellar"), (14, "cellar"), (20, "attic"),
    ]  # fmt: skip
    assert sorted(rows_of(found["readings.late"])) == [(2, 2, "cellar"), (11, 11, "attic")]
    assert rows_of(found["readings.errors"]) == [
        (5, 'attic: column "at": "x" is not a bigint', "x,attic")
    ]


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 1000])
@pytest.mark.parametrize("restart", [False, True])
def test_cuts_and_restarts_do_not_matter(devices, rows, restart):
    script = STREAM.format("") + QUERIES
    whole = run_script(script, devices)
    cut = run_script(script, devices, {"batch_rows": str(rows), "buckets": "3"}, restart)
    for name in whole:
        assert sorted(rows_of(cut[name])) == sorted(rows_of(whole[name])), name
        if name.startswith("q"):
            assert rows_of(cut[name]) == rows_of(whole[name]), name


def test_positions_count_in_every_folder(devices):
    source = open_source("devices", "s", SCHEMA, FOLDERS, str(devices), False)
    good, errors, _ = drain(source, 1000, SCHEMA.names)
    assert sorted(good)[:4] == [(1, (1, "cellar")), (1, (10, "attic")), (2, (3, "cellar")),
                                (2, (12, "attic"))]  # fmt: skip
    for rows in (1, 2, 3, 7):
        again, bad, _ = drain(source, rows, SCHEMA.names)
        assert (sorted(again), bad) == (sorted(good), errors)


def test_formats_may_differ_and_other_files_are_left_out(tmp_path):
    write(tmp_path, "a/1.csv", "1,csv")
    write(tmp_path, ".hidden/1.csv", "9,hidden")
    write(tmp_path, "_temporary/1.csv", "9,hidden")
    write(tmp_path, "beside.csv", "9,beside")
    (tmp_path / "devices/empty").mkdir()
    (tmp_path / "devices/b").mkdir()
    pq.write_table(
        pa.table({"at": [2, 3], "room": ["parquet", "parquet"]}), tmp_path / "devices/b/1.parquet"
    )
    source = open_source("devices", "s", SCHEMA, FOLDERS, str(tmp_path), False)
    assert sorted(drain(source, 10, SCHEMA.names)[0]) == [
        (1, (1, "csv")), (1, (2, "parquet")), (2, (3, "parquet")),
    ]  # fmt: skip


def test_a_pattern_of_folders(tmp_path):
    for place in ("north/attic", "south/attic", "south/cellar"):
        write(tmp_path, f"{place}/1.csv", f"1,{place}")
    source = open_source("devices/*/at*", "s", SCHEMA, FOLDERS, str(tmp_path), False)
    _, position, _ = source.plan(source.start(), 100)
    assert list(position["partitions"]) == ["north/attic", "south/attic"]


@pytest.mark.parametrize(
    ("url", "options", "message", "hint"),
    [
        ("devises", FOLDERS, 'folder "devises" does not exist', "Did you mean devices?"),
        ("devices/attic/1.csv", FOLDERS, 'folder "devices/attic/1.csv" does not exist',
         "With partitions = 'folders' the source is a folder of folders."),
        ("devices/attic", FOLDERS, '"devices/attic" has no folders with files',
         "Put files into folders in it, or follow it (--follow, db.start())."),
        ("devices", {"partitions": "files"}, 'option "partitions" is "files", which does not exist',
         "Use folders."),
        ("devices", {"partition": "folders"}, None, None),
        ("devices", {**FOLDERS, "delimeter": ";"}, 'option "delimeter" of a csv source does not '
         "exist", "Did you mean delimiter?"),
    ],
)  # fmt: skip
def test_what_cannot_be_opened(devices, url, options, message, hint):
    with pytest.raises(MillstreamError) as error:
        open_source(url, "s", SCHEMA, options, str(devices), False)
    assert message in (None, error.value.message)
    assert hint in (None, error.value.hint)


def test_from_the_command_line(devices, monkeypatch):
    (devices / "script.sql").write_text(STREAM.format("") + QUERIES)
    for rows in (1, 1000):
        words = f"run script.sql --out out{rows} --host local --set batch_rows={rows}"
        monkeypatch.chdir(devices)
        monkeypatch.setattr("sys.argv", ["millstream", *words.split()])
        with pytest.raises(SystemExit) as left:
            main()
        assert left.value.code == 0
    for name in ("q1", "q2", "q3"):
        text = (devices / f"out1/{name}.csv").read_text()
        assert text == (devices / f"out1000/{name}.csv").read_text()
    lines = (devices / "out1/q1.csv").read_text().splitlines()
    assert lines[:4] == ["ts,room", "1,cellar", "3,cellar", "10,attic"]


class Following:
    """A script that follows its folders, with all it knows taken through files on demand."""

    def __init__(self, script, base):
        self.session = Database(base=str(base), tell=lambda text: None)
        self.session.execute(script)
        self.kept = KeptResults()
        sources = self.session.sources(follow=True)
        self.host = LocalHost(self.session.job(), sources, [self.kept])

    def batches(self):
        while self.host.batch():
            pass

    def until(self, rows):
        until = time.monotonic() + 20
        while self.rows() != rows:
            assert time.monotonic() < until, self.rows()
            if not self.host.batch():
                time.sleep(0.02)

    def restart(self, folder):
        positions = json.loads(json.dumps(self.host.positions))
        self.host = self.host.restarted(folder)
        self.host.positions = positions
        self.host.sources = self.session.sources(follow=True)

    def rows(self, name="q1"):
        tables = self.kept.tables()
        return rows_of(tables[name]) if name in tables else []


def test_a_silent_folder_holds_the_others_back(tmp_path):
    write(tmp_path, "attic/1.csv", "1,attic")
    write(tmp_path, "cellar/1.csv", "1,cellar", "5,cellar")
    job = Following(STREAM.format("") + QUERIES, tmp_path)
    job.batches()
    time.sleep(0.3)
    job.batches()
    assert job.rows() == []
    write(tmp_path, "attic/1.csv", "4,attic")
    job.batches()
    assert job.rows() == [(1, "attic"), (1, "cellar")]


def test_a_silent_folder_with_idle_does_not(tmp_path):
    write(tmp_path, "attic/1.csv", "1,attic")
    write(tmp_path, "cellar/1.csv", "1,cellar", "5,cellar")
    job = Following(STREAM.format(", idle = '0.2 seconds'") + QUERIES, tmp_path)
    job.batches()
    write(tmp_path, "cellar/1.csv", "6,cellar")
    job.until([(1, "attic"), (1, "cellar"), (5, "cellar")])
    write(tmp_path, "attic/2.csv", "3,attic", "7,attic")
    write(tmp_path, "cellar/1.csv", "9,cellar")
    assert job.host.batch()  # and no further one: the attic would be idle again before long
    assert job.rows("readings.late") == [(3, 3, "attic")]
    assert job.rows()[3:] == [(6, "cellar")]


def test_a_folder_that_appears_while_following_and_a_restart_in_the_middle(tmp_path):
    write(tmp_path, "attic/1.csv", "1,attic", "5,attic")
    job = Following(STREAM.format("") + QUERIES, tmp_path)
    job.batches()
    assert job.rows() == [(1, "attic")]
    job.restart(tmp_path / "state")
    write(tmp_path, "cellar/1.csv", "4,cellar", "5,cellar", "8,cellar")
    write(tmp_path, "attic/2.csv", "9,attic")
    job.batches()
    assert job.rows("readings.late") == [(4, 4, "cellar")], "it begins at the heartbeat, 4"
    assert job.rows() == [(1, "attic"), (5, "attic"), (5, "cellar")]
    job.restart(tmp_path / "state")
    write(tmp_path, "cellar/1.csv", "7,cellar", "9,cellar")
    job.batches()
    assert job.rows("readings.late")[1:] == [(7, 7, "cellar")]
    assert job.rows()[3:] == [(8, "cellar")]
