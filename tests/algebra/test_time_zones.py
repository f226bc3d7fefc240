"""Local times and UTC: against Python's own zones, the hours at which clocks change included."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from millstream.algebra.kernels import from_utc, to_utc
from millstream.database import Database
from millstream.testing import run_script

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC")
TIMES = [
    dt.datetime(year, month, day) + dt.timedelta(minutes=15 * quarter)
    for year in (1969, 2024)
    for month, day in ((1, 31), (3, 10), (3, 31), (4, 7), (10, 6), (10, 27), (11, 3))
    for quarter in range(-40, 140)
]


@pytest.mark.parametrize("zone", ZONES)
def test_local_times_as_utc(zone: str) -> None:
    """The first of two such times; after a gap, as if the clock had not been changed (fold = 0)."""
    ours = to_utc(pa.array([*TIMES, None], pa.timestamp("us")), zone).to_pylist()
    theirs = [
        t.replace(tzinfo=ZoneInfo(zone)).astimezone(dt.UTC).replace(tzinfo=None) for t in TIMES
    ]
    assert ours == [*theirs, None]


@pytest.mark.parametrize("zone", ZONES)
def test_utc_as_local_times(zone: str) -> None:
    ours = from_utc(pa.array([*TIMES, None], pa.timestamp("us")), zone).to_pylist()
    there = [
        t.replace(tzinfo=dt.UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None) for t in TIMES
    ]
    assert ours == [*there, None]


FORMS = {
    "at AT TIME ZONE 'Europe/Berlin'": "08",
    "to_utc_timestamp(at, 'Europe/Berlin')": "08",
    "to_utc_timestamp(at, zone)": "08",
    "TIMESTAMP '2024-05-01 10:00:00' AT TIME ZONE zone": "08",
    "at AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin'": "12",
    "(at AT TIME ZONE 'UTC') AT TIME ZONE zone": "12",
    "CAST(at AS timestamptz) AT TIME ZONE 'Europe/Berlin'": "12",
    "at::timestamp with time zone AT TIME ZONE 'Europe/Berlin'": "12",
    "CAST(at AS timestamp_ltz) AT TIME ZONE '+02:00'": "12",
    "CAST(at AS timestamp without time zone) AT TIME ZONE 'Europe/Berlin'": "08",
    "CAST(at AS timestamp_ntz) AT TIME ZONE 'Europe/Berlin'": "08",
    "TIMESTAMPTZ '2024-05-01 12:00:00+02:00' AT TIME ZONE 'Europe/Berlin'": "12",
    "from_utc_timestamp(at, 'Europe/Berlin')": "12",
    "at AT TIME ZONE 'Europe/Berlin' + INTERVAL '1' HOUR": "09",
    "at AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin' AT TIME ZONE 'Europe/Berlin'": "10",
}
DECLARED = """
CREATE STREAM s (n bigint, at {}, zone string) ORDER BY n SOURCE 's.csv';
"""


@pytest.mark.parametrize(
    "kind",
    ["timestamp", "TIMESTAMP(3)", "timestamp(6) without time zone", "timestamptz", "timestamp_ltz",
     "timestamp_ntz", "timestamp with time zone", "timestamp(0) with local time zone"],
)  # fmt: skip
def test_what_at_time_zone_means(kind: str, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("n,at,zone\n1,2024-05-01 10:00:00.123456,Europe/Berlin\n")
    items = ", ".join(f"{form} AS c{i}" for i, form in enumerate(FORMS))
    rows = run_script(DECLARED.format(kind) + f"SELECT {items} FROM s;", tmp_path)["q1"]
    found = [value.strftime("%H") for value in list(rows.to_pylist()[0].values())[1:]]
    assert dict(zip(FORMS, found)) == FORMS


def test_whoever_may_mean_the_opposite_is_told() -> None:
    db = Database(tell=lambda text: None)
    db.execute(DECLARED.format("timestamp").replace(" SOURCE 's.csv'", ""))
    told = db.execute("SELECT at AT TIME ZONE 'Europe/Berlin' FROM s")[0].notices
    assert any("takes at for a local time there" in notice.message for notice in told)
    assert any("from_utc_timestamp(at, 'Europe/Berlin')" in (n.hint or "") for n in told)
    told = db.execute("SELECT from_utc_timestamp(at, 'Europe/Berlin') FROM s")[0].notices
    assert not any("local time" in notice.message for notice in told)
