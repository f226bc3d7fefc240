"""A job whose state goes through a folder of any kind after every batch gives the same answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from files.conftest import *  # noqa: F403
from millstream.database import Database
from millstream.files import Folder
from millstream.local.host import LocalHost
from millstream.testing.run import KeptResults, run_script

SCRIPT = """
CREATE STREAM bids (ts timestamp, item string, price double) ORDER BY ts SOURCE 'bids.csv';
CREATE STREAM sold (ts timestamp, item string) ORDER BY ts SOURCE 'sold.csv';
CREATE VIEW busy AS SELECT STREAMED item, count(*) AS n, max(price) AS highest
  FROM bids [Range 20 Seconds] GROUP BY item;
CREATE VIEW unsold AS SELECT item, price FROM bids [Range 30 Seconds] b
  WHERE NOT EXISTS (SELECT * FROM sold [Range 9 Seconds] s WHERE s.item = b.item);
SELECT Istream(*) FROM bids [Rows 3] b JOIN sold [Rows 2] s ON b.item = s.item;
"""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    bids = [f"2024-05-01 10:00:{n:02d},item{n % 3},{n * 7 % 11}" for n in range(50)]
    sold = [f"2024-05-01 10:00:{n:02d},item{n % 4}" for n in range(2, 50, 5)]
    (folder / "bids.csv").write_text("\n".join(["ts,item,price", *bids]) + "\n")
    (folder / "sold.csv").write_text("\n".join(["ts,item", *sold]) + "\n")
    return folder


def test_state_in_any_folder(base: Path, folder: Folder) -> None:
    settings = {"batch_rows": "12", "buckets": "2"}
    session = Database(base=str(base), tell=lambda text: None)
    for name, value in settings.items():
        session.pin(name, value)
    session.execute(SCRIPT)
    kept = KeptResults()
    job = session.job(frozenset(session.queries))
    host = LocalHost(job, session.sources(follow=False), [kept])
    while not host.is_done:
        host.batch()
        host = host.restarted(folder)
    host.finish()
    whole = run_script(SCRIPT, base, settings)
    assert {name: t.to_pylist() for name, t in kept.tables().items()} == {
        name: t.to_pylist() for name, t in whole.items()
    }
    assert whole["unsold"].num_rows and whole["busy"].num_rows
    assert folder.folder("level1/bucket0").list()
