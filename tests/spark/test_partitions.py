"""A folder for every partition, on Spark: the same answers, also from a run that goes on."""

import pytest

from millstream.testing import run_script
from spark.running import run_on_spark

pytestmark = pytest.mark.spark

SCRIPT = """
CREATE STREAM readings (at bigint, room string) ORDER BY at
  SOURCE 'devices' WITH (partitions = 'folders');
SELECT room FROM readings;
SELECT STREAMED room, count(*) AS n FROM readings [Rows 4] GROUP BY room;
"""


def write(folder, path, *rows):
    file = folder / "devices" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(["at,room", *rows]) + "\n")


def rows_of(table):
    return list(zip(*(column.to_pylist() for column in table.columns)))


def test_folders_are_partitions_and_a_run_goes_on_with_them(spark, tmp_path):
    write(tmp_path, "attic/1.csv", "10,attic", "12,attic", "11,attic", "13,attic", "20,attic")
    write(tmp_path, "cellar/1.csv", "1,cellar", "3,cellar", "2,cellar", "10,cellar", "14,cellar")
    expected = run_script(SCRIPT, tmp_path)
    first = run_on_spark(spark, SCRIPT, tmp_path, {"batch_rows": "3"}, str(tmp_path / "kept"))
    for name in first:
        assert sorted(rows_of(first[name])) == sorted(rows_of(expected[name])), name
    assert rows_of(first["q1"]) == rows_of(expected["q1"])
    assert sorted(rows_of(first["readings.late"])) == [(2, 2, "cellar"), (11, 11, "attic")]

    write(tmp_path, "attic/2.csv", "30,attic", "33,attic")
    write(tmp_path, "cellar/2.csv", "13,cellar", "31,cellar")
    write(tmp_path, "yard/1.csv", "19,yard", "25,yard", "32,yard")
    more = run_on_spark(spark, SCRIPT, tmp_path, {"batch_rows": "3"}, str(tmp_path / "kept"))
    assert rows_of(more["q1"]) == [
        (25, "yard"), (30, "attic"), (31, "cellar"), (32, "yard"), (33, "attic"),
    ]  # fmt: skip
    late = [(13, 13, "cellar"), (19, 19, "yard")]
    assert sorted(rows_of(more["readings.late"])) == late, "the first run ended at 20"
