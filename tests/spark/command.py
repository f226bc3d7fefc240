"""The command line, in a process of its own or in this one."""

import os
import signal
import subprocess
import sys
from pathlib import Path

BIDS = """
CREATE STREAM bids (item bigint, price double, ts bigint) ORDER BY ts SLACK 3 SOURCE 'bids.csv';
CREATE TABLE items (item bigint, name string) SOURCE 'items.csv';
CREATE VIEW recent AS SELECT item, count(*) AS n, sum(price) AS total, max(price) AS top
  FROM bids [Range 40] GROUP BY item;
SELECT Istream(name, price) FROM bids, items WHERE bids.item = items.item AND price > 5;
SELECT STREAMED count(*) AS n, avg(price) AS mean FROM bids [Rows 25];
SELECT Rstream(item, price) FROM bids [Partition By item Rows 1] WHERE price > 8;
SELECT STREAMED DISTINCT item FROM bids [Range 12] WHERE price > 7;
SELECT STREAMED a.item, b.price FROM bids [Range 9] a, bids [Range 5] b WHERE a.item = b.item
  AND NOT EXISTS (SELECT * FROM bids [Range 3] c WHERE c.item = a.item AND c.price < 2);
AGGREGATE swing(x double) : double {
  TABLE ends(low double, high double);
  INITIALIZE : { INSERT INTO ends VALUES (x, x); }
  ITERATE : { UPDATE ends SET low = least(low, x), high = greatest(high, x); }
  TERMINATE : { INSERT INTO RETURN SELECT high - low FROM ends; }
}
SELECT item, FIRST(Y).ts AS since, count(*Y) AS n, sum(*Y.price) AS total, swing(*Y.price) AS swing,
    Z.price AS after, timed_out
  FROM bids PARTITION BY item AS (*Y, Z) WITHIN 60 WITH TIMEOUTS
  WHERE Y.price > 1 AND swing(Y.price) < 9 AND Z.price < 5;
SELECT STREAMED item, X.price AS low, count(*Y) AS rises
  FROM bids [Range 30] PARTITION BY item SEQUENCE BY ts AS (X, *Y)
  WHERE Y.price > Y.previous.price;
"""


def write_bids(folder: Path, rows: int) -> Path:
    """A script with its data: out of order within the slack, with late and bad rows."""
    lines = ["item,price,ts"]
    for i in range(rows):
        wobble = (i * 7919) % 6 - (30 if i % 97 == 96 else 0)
        price = "oops" if i % 151 == 150 else f"{(i * 37) % 101 / 10}"
        lines.append(f"{i * i % 11},{price},{i + wobble}")
    (folder / "bids.csv").write_text("\n".join(lines) + "\n")
    names = [f"{i},name{i}" for i in range(9)]
    (folder / "items.csv").write_text("\n".join(["item,name", *names]) + "\n")
    script = folder / "script.sql"
    script.write_text(BIDS)
    return script


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "millstream.cli.main", *map(str, words)]


def start(*words: object) -> subprocess.Popen:
    return subprocess.Popen(
        command(*words),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


def run(*words: object, timeout: int = 240) -> str:
    """Run the command to its end; its output. Anything but success is an error."""
    done = subprocess.run(
        command(*words), capture_output=True, text=True, timeout=timeout, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def run_here(*words: object) -> None:
    """Run the command in this process, on the Spark session that is there if it needs one."""
    from millstream.cli.main import app

    app([str(word) for word in words], standalone_mode=False)


def kill(process: subprocess.Popen) -> None:
    """End a run and all its Java and Python processes at once."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir()) if not p.name.startswith(".")}
