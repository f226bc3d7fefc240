"""Files of a folder: in the order of numbers in their names; a notice where that goes wrong."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from connect.drain import drain
from millstream.connect.files.listing import BY_LETTERS, Files
from millstream.connect.opening import open_source
from millstream.database import Database
from millstream.database.events import Noticed
from millstream.testing import run_script

SCHEMA = pa.schema([("t", pa.int64())])
STREAM = "CREATE STREAM s (t int) ORDER BY t SOURCE '{}'; SELECT t FROM s"


def write(folder: Path, name: str, *times: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if name.endswith(".csv"):
        (folder / name).write_text("\n".join(["t", *map(str, times)]) + "\n")
    elif name.endswith(".jsonl"):
        (folder / name).write_text("".join(f'{{"t": {t}}}\n' for t in times))
    else:
        pq.write_table(pa.table({"t": pa.array(times, pa.int64())}), folder / name)


def notices(folder: Path, script: str) -> list[str]:
    found: list[str] = []
    database = Database(base=str(folder), tell=lambda text: None)
    database.events.subscribe(lambda event: found.append(event.notice.render()), Noticed)
    database.execute(script)
    return found


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("source", ["days", "days/day-*.{}"])
def test_2_comes_before_10(tmp_path: Path, ending: str, source: str) -> None:
    for day in (1, 2, 10, 11):
        write(tmp_path / "days", f"day-{day}.{ending}", day, day)
    found = run_script(STREAM.format(source.format(ending)), tmp_path)
    assert found["q1"].column("t").to_pylist() == [1, 1, 2, 2, 10, 10, 11, 11]
    assert "s.late" not in found or not found["s.late"].num_rows


def test_numbers_in_folders_and_equal_numbers(tmp_path: Path) -> None:
    names = ["d10/1.csv", "d2/10.csv", "d2/9.csv", "d2/09.csv", "d2/9b.csv"]
    for name in names:
        write(tmp_path / name.split("/")[0], name.split("/")[1], 1)
    files = Files(str(tmp_path / "**" / "*.csv"), follow=False).all()
    found = [str(Path(file).relative_to(tmp_path)) for file in files]
    assert found == ["d2/09.csv", "d2/9.csv", "d2/9b.csv", "d2/10.csv", "d10/1.csv"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_position_of_before_goes_on_in_its_order(tmp_path: Path, ending: str) -> None:
    """Files used to be in the order of letters: after 10 came 2, which must not be passed over."""
    for day in (1, 2, 10, 11):
        write(tmp_path / "days", f"{day}.{ending}", day)
    source = open_source("days", "s", SCHEMA, {}, str(tmp_path), follow=False)
    assert Files(str(tmp_path / "days"), False).now(BY_LETTERS).names[1].endswith(f"10.{ending}")
    position = {**source.start(), "file": str(tmp_path / "days" / f"1.{ending}")}
    del position["order"]
    rest: list[int] = []
    ended = False
    while not ended:
        slices, position, ended = source.plan(position, 1)
        rest += [t for s in slices for t in source.read(s, ["t"]).rows.column(0).to_pylist()]
    assert rest == [1, 10, 11, 2]


def test_a_new_position_keeps_its_order(tmp_path: Path) -> None:
    for day in (1, 2, 10):
        write(tmp_path / "days", f"{day}.csv", day)
    source = open_source("days", "s", SCHEMA, {}, str(tmp_path), follow=False)
    assert drain(source, 1)[0] == [(1, (1,)), (2, (2,)), (3, (10,))]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_names_that_do_not_tell_the_order(tmp_path: Path, ending: str) -> None:
    write(tmp_path / "days", f"friday.{ending}", 50, 51)
    write(tmp_path / "days", f"monday.{ending}", 10, 11)
    told = notices(tmp_path, STREAM.format("days"))
    assert told == [
        'the files of "s" are read in the order of their names, and '
        f'"monday.{ending}" begins at 10, before "friday.{ending}" (50), which is read first: its '
        "rows arrive late (hint: Number the files in the order of time, or let SLACK span them.)"
    ]
    within = STREAM.format("days").replace("ORDER BY t", "ORDER BY t SLACK 40")
    assert notices(tmp_path, within) == []
    unordered = STREAM.format("days").replace("ORDER BY t", "")
    assert notices(tmp_path, unordered) == []


def test_no_notice_where_files_overlap_or_cannot_be_told(tmp_path: Path) -> None:
    write(tmp_path / "days", "1.csv", 10, 20)
    write(tmp_path / "days", "2.csv")
    (tmp_path / "days" / "3.csv").write_text("other\n5\n")
    write(tmp_path / "days", "4.csv", 10)
    assert notices(tmp_path, STREAM.format("days")) == []


def test_times_in_seconds_are_compared_in_time(tmp_path: Path) -> None:
    write(tmp_path / "days", "a.csv", 100)
    write(tmp_path / "days", "b.csv", 90)
    script = STREAM.format("days").replace("ORDER BY t", "ORDER BY t SECONDS SLACK {} Seconds")
    assert notices(tmp_path, script.format(10)) == []
    assert len(notices(tmp_path, script.format(9))) == 1


def test_the_tenth_file_of_a_followed_folder(tmp_path: Path) -> None:
    """By letters, 10 would come before 9, which is being read, and would never be read itself."""
    write(tmp_path / "days", "9.csv", 9)
    source = open_source("days", "s", SCHEMA, {}, str(tmp_path), follow=True)
    slices, position, _ = source.plan(source.start(), 10)
    assert source.read(slices[0], ["t"]).rows.column(0).to_pylist() == [9]
    write(tmp_path / "days", "10.csv", 10)
    slices, position, _ = source.plan(position, 10)
    assert source.read(slices[0], ["t"]).rows.column(0).to_pylist() == [10]
    write(tmp_path / "days", "2.csv", 2)
    assert source.plan(position, 10)[0] == [], "it has no place in the sequence any more"
