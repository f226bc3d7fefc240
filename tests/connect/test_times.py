"""Times that are counts since 1970, or in a format: `WITH (timestamp = …)`."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import random
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.cli.main import app
from millstream.connect.times import TIMESTAMP_OPTION
from millstream.errors import MillstreamError
from millstream.testing import run_script

MAY = dt.datetime(2024, 5, 1, 10, 20, 30)
LATER = MAY.replace(microsecond=250_000)
SECONDS = 1_714_558_830
STREAM = "CREATE STREAM s (at timestamp, n bigint) ORDER BY at SOURCE '{}' WITH (timestamp = '{}');"


def read(format: str, *cells: str | None) -> list[dt.datetime | str | None]:
    """Cells as times of a format, "bad" where they are none."""
    times = TIMESTAMP_OPTION.kind.read(format)
    found = times.from_text(pa.array(cells, pa.string()), pa.timestamp("us"))
    bad = [False] * len(cells) if found.bad is None else found.bad
    return ["bad" if wrong else value for wrong, value in zip(bad, found.values.to_pylist())]


@pytest.mark.parametrize(
    ("format", "cell", "time"),
    [
        ("%d/%m/%Y %H:%M:%S", "01/05/2024 10:20:30", MAY),
        ("dd/MM/yyyy HH:mm:ss", "1/5/2024 10:20:30", MAY),
        ("%m/%d/%Y %I:%M:%S %p", "05/01/2024 10:20:30 am", MAY),
        ("M/d/yyyy h:mm:ss a", "5/1/2024 10:20:30 AM", MAY),
        ("%d.%m.%y %H:%M:%S", "01.05.24 10:20:30", MAY),
        ("%Y%m%d%H%M%S", "20240501102030", MAY),
        ("yyyyMMdd'T'HHmmss", "20240501T102030", MAY),
        ("%d/%b/%Y:%H:%M:%S %z", "01/May/2024:12:20:30 +0200", MAY),
        ("EEE, dd MMM yyyy HH:mm:ss XXX", "Wed, 01 May 2024 05:20:30 -05:00", MAY),
        ("%F %T", "2024-05-01 10:20:30", MAY),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2024-05-01T10:20:30.250Z", LATER),
        ("%Y-%m-%d %H:%M:%S.%f", "2024-05-01 10:20:30.1234567", MAY.replace(microsecond=123_456)),
        ("%B %d, %Y", "May 1, 2024", dt.datetime(2024, 5, 1)),
        ("%d.%m.%y", "01.05.69", dt.datetime(1969, 5, 1)),
        ("%d.%m.%y", "01.05.68", dt.datetime(2068, 5, 1)),
        ("%I %p %d/%m/%Y", "12 AM 01/05/2024", dt.datetime(2024, 5, 1)),
        ("%I %p %d/%m/%Y", "12 PM 01/05/2024", dt.datetime(2024, 5, 1, 12)),
        ("epoch_s", str(SECONDS), MAY),
        ("EPOCH_MS", f"{SECONDS}000", MAY),
        ("epoch_us", f" {SECONDS}000000 ", MAY),
        ("epoch_s", f"{SECONDS}.1234567", MAY.replace(microsecond=123_456)),
        ("epoch_s", "-0.5", dt.datetime(1969, 12, 31, 23, 59, 59, 500_000)),
        ("epoch_ms", "1.5e3", dt.datetime(1970, 1, 1, 0, 0, 1, 500_000)),
    ],
)  # fmt: skip
def test_cells(format: str, cell: str, time: dt.datetime) -> None:
    assert read(format, cell) == [time]
    assert read(format, None, "", cell, "what", f" {cell} ") == [None, None, time, "bad", time]


@pytest.mark.parametrize(
    ("format", "cell"),
    [
        ("%d/%m/%Y", "31/02/2024"),
        ("%d/%m/%Y", "2024-05-01"),
        ("%d/%m/%Y %H:%M", "01/05/2024 24:00"),
        ("%d/%m/%Y %I:%M %p", "01/05/2024 13:00 PM"),
        ("%d/%m/%Y %I:%M %p", "01/05/2024 0:00 AM"),
        ("%d %b %Y", "1 Foo 2024"),
        ("%d/%m/%Y", "٠١/05/2024"),
        ("%Y%m%d", "2024511"),
        ("epoch_s", f"{SECONDS}000"),
        ("epoch_ms", "9223372036854775807"),
        ("epoch_ms", "2024-05-01"),
        ("epoch_us", "NaN"),
    ],
)
def test_cells_that_are_no_times(format: str, cell: str) -> None:
    assert read(format, cell) == ["bad"]


def test_formats_give_what_strptime_gives() -> None:
    chance, first = random.Random(3), dt.datetime(1970, 1, 1)
    times = [first + dt.timedelta(seconds=chance.randrange(3_000_000_000)) for _ in range(300)]
    for format in ("%d/%m/%Y %H:%M:%S", "%b %d %Y %I:%M:%S %p", "%Y%m%d%H%M%S", "%y-%m-%d %H.%M"):
        cells = [time.strftime(format) for time in times]
        assert read(format, *cells) == [dt.datetime.strptime(cell, format) for cell in cells]


@pytest.mark.parametrize(
    ("format", "why"),
    [
        ("%H:%M:%S", "it has no year"),
        ("dd/mm/yyyy", "it has no month"),
        ("%d/%m/%Y %I:%M", "hours up to 12 and AM or PM go together"),
        ("%d/%m/%Y %d", "it has two parts for the day"),
        ("dd/MM/yyyy QQ", "QQ is not known"),
        ("%d/%m/%Y %", "% is not known"),
    ],
)
def test_formats_that_are_none(format: str, why: str) -> None:
    with pytest.raises(MillstreamError, match=f"which is no format: {why}"):
        TIMESTAMP_OPTION.kind.read(format)


def test_in_every_format_of_files(tmp_path: Path) -> None:
    rows = [(SECONDS + i, i) for i in range(3)]
    (tmp_path / "s.csv").write_text("at,n\n" + "".join(f"{s},{n}\n" for s, n in rows) + "soon,3\n")
    lines = [{"at": s, "n": n} for s, n in rows[:2]] + [
        {"at": str(rows[2][0]), "n": 2},
        {"at": [1]},
    ]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    pq.write_table(pa.table({"at": [s for s, _ in rows], "n": range(3)}), tmp_path / "s.parquet")
    expected = [MAY + dt.timedelta(seconds=i) for i in range(3)]
    for ending in ("csv", "jsonl", "parquet"):
        script = STREAM.format(f"s.{ending}", "epoch_s") + "SELECT n FROM s;"
        for rows_at_once in ("1", "100"):
            results = run_script(script, tmp_path, {"batch_rows": rows_at_once})
            assert results["q1"]["ts"].to_pylist() == expected, ending
    reasons = run_script(STREAM.format("s.csv", "epoch_s") + "SELECT n FROM s;", tmp_path)
    assert reasons["s.errors"]["reason"].to_pylist() == ['column "at": "soon" is not a timestamp']


@pytest.mark.parametrize(
    "column",
    [
        pa.array([float(SECONDS) + 0.25]),
        pa.array([Decimal(f"{SECONDS}.25")]),
        pa.array([f"{SECONDS}.25"]),
        pa.array([f"{SECONDS}.25"]).dictionary_encode(),
        pa.array([MAY.replace(microsecond=250_000)], pa.timestamp("ms", "Asia/Tokyo")),
    ],
    ids=lambda column: str(column.type)[:12],
)
def test_parquet_columns_of_other_types(column: pa.Array, tmp_path: Path) -> None:
    pq.write_table(pa.table({"at": column, "n": [1]}), tmp_path / "s.parquet")
    rows = run_script(STREAM.format("s.parquet", "epoch_s") + "SELECT n FROM s;", tmp_path)["q1"]
    assert rows["ts"].to_pylist() == [MAY.replace(microsecond=250_000)]


def test_parquet_integers_need_a_unit(tmp_path: Path) -> None:
    pq.write_table(pa.table({"at": [SECONDS], "n": [1]}), tmp_path / "s.parquet")
    script = (
        "CREATE STREAM s (at timestamp, n bigint) ORDER BY at SOURCE 's.parquet'; SELECT n FROM s;"
    )
    with pytest.raises(MillstreamError) as error:
        run_script(script, tmp_path)
    assert (
        error.value.hint
        == "Say what it counts: WITH (timestamp = 'epoch_ms'), 'epoch_s' or 'epoch_us'."
    )


def test_bad_rows_say_what_to_declare(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("at,n\n1714558830000,1\n01/05/2024 10:00,2\n5,3\n")
    script = "CREATE STREAM s (at timestamp, n bigint) ORDER BY at SOURCE 's.csv'; SELECT n FROM s;"
    assert run_script(script, tmp_path)["s.errors"]["reason"].to_pylist() == [
        'column "at": "1714558830000" is not a timestamp; '
        "if it counts from 1970, say WITH (timestamp = 'epoch_ms')",
        'column "at": "01/05/2024 10:00" is not a timestamp; '
        "say its format, such as WITH (timestamp = '%d/%m/%Y %H:%M:%S')",
        'column "at": "5" is not a timestamp',
    ]


def test_heartbeats_and_changes_are_written_the_same_way(tmp_path: Path) -> None:
    lines = ['{"at": 1000, "n": 1}', '{"$heartbeat": 5000}', '{"at": 2000, "n": 2}']
    (tmp_path / "s.jsonl").write_text("\n".join(lines) + "\n")
    results = run_script(STREAM.format("s.jsonl", "epoch_ms") + "SELECT n FROM s;", tmp_path)
    assert results["s.late"]["n"].to_pylist() == [2]
    (tmp_path / "t.csv").write_text("op,ts,n\ninsert,1000,1\ninsert,2000,2\n")
    script = "CREATE TABLE t (n bigint) SOURCE 't.csv' WITH (timestamp = 'epoch_ms');"
    stamps = run_script(f"{script} SELECT STREAMED n FROM t;", tmp_path)["q1"]["ts"].to_pylist()
    assert stamps == [dt.datetime(1970, 1, 1, 0, 0, second) for second in (1, 2)]


def test_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "s.csv.gz").write_bytes(gzip.compress(b"at,n\n01/05/2024 10:20:30,1\nNA,2\n"))
    script = tmp_path / "s.sql"
    script.write_text(
        "CREATE STREAM s (n bigint, at timestamp(3)) ORDER BY n SOURCE 's.csv.gz' "
        "WITH (timestamp = 'dd/MM/yyyy HH:mm:ss', null = 'NA'); SELECT at FROM s;"
    )
    words = ["run", str(script), "--host", "local", "--out", str(tmp_path / "out")]
    app(words, standalone_mode=False)
    text = (tmp_path / "out/q1.csv").read_text()
    assert text == "ts,at\n1,2024-05-01T10:20:30.000000\n2,\n"


def test_a_wrong_format_has_a_place_and_a_hint(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("at,n\n")
    with pytest.raises(MillstreamError) as error:
        run_script(STREAM.format("s.csv", "QQ/MM/yyyy") + "SELECT n FROM s;", tmp_path)
    place = error.value.place
    assert place is not None and error.value.hint is not None
    assert place.text[place.start : place.end] == "timestamp = 'QQ/MM/yyyy'"
    assert "%d/%m/%Y %H:%M:%S" in error.value.hint
