"""What a run on Spark says: its summary, what it waits for, and its log."""

import logging
import time
from pathlib import Path

import pytest

import millstream
from millstream.engine.waiting import Watch
from spark.command import run_here

pytestmark = pytest.mark.spark

BIDS = (
    "CREATE STREAM bids (at int, item string, price double) ORDER BY at SOURCE 'bids.csv';"
    "CREATE VIEW dear AS SELECT Istream(item) FROM bids [Now] WHERE price > 15;"
    "CREATE VIEW counts AS SELECT item, count(*) AS n FROM bids GROUP BY item;"
)
ROWS = "1,lamp,20\n2,vase,cheap\n4,lamp,30\n3,vase,10\n5,vase\n6,lamp,dear\n7,kite,12\n"


def test_the_summary_of_a_run_and_of_the_next_on_its_checkpoint(spark, tmp_path: Path, caplog):
    (tmp_path / "bids.csv").write_text(f"at,item,price\n{ROWS}")
    for rows, emitted, read in ((3, 2, 7), (100, 1, 2)):
        db = millstream.connect(
            spark=spark,
            base=str(tmp_path),
            checkpoint=str(tmp_path / "checkpoint"),
            settings={"batch_rows": rows},
        )
        db.execute(BIDS)
        with caplog.at_level(logging.INFO, "millstream"):
            db.run()
        summary = db.summary()
        assert summary.streams["bids"].rows == read
        assert summary.queries["dear"].emitted == emitted
        if read == 7:
            assert str(summary).splitlines() == [
                'stream "bids": 7 rows read, 1 late, 3 bad',
                '  2 bad: column "price" is not a double (first: row 2, 2,vase,cheap)',
                "  1 bad: the row has … cells instead of 3 (first: row 5, 5,vase)",
                'query "dear": 2 rows emitted',
                'query "counts": 2 rows at the end',
            ]
        with (tmp_path / "bids.csv").open("a") as file:
            file.write("8,kite,99\n9,kite,none\n")
    assert str(summary).splitlines() == [
        'stream "bids": 2 rows read, 1 bad',
        '  1 bad: column "price" is not a double (first: row 9, 9,kite,none)',
        'query "dear": 1 row emitted',
        'query "counts": 2 rows at the end',
    ]
    said = [record.getMessage() for record in caplog.records]
    assert 'stream "bids": 7 rows read, 1 late, 3 bad' in said


def test_the_command_says_the_same(spark, tmp_path: Path, capfd) -> None:
    (tmp_path / "bids.csv").write_text(f"at,item,price\n{ROWS}")
    script = tmp_path / "bids.sql"
    script.write_text(BIDS)
    run_here("run", script, "--query", "dear", "--log", tmp_path / "run.log")
    out, err = capfd.readouterr()
    assert out == "ts,item\n1,lamp\n4,lamp\n"
    assert '-- stream "bids": 7 rows read, 1 late, 3 bad\n' in err
    assert "batch 0: 7 rows read" in (tmp_path / "run.log").read_text()


def test_a_run_that_waits_says_for_what(spark, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,k\n1,x\n5,x\n")
    (tmp_path / "b.csv").write_text("t,k\n2,x\n")
    db = millstream.connect(spark=spark, base=str(tmp_path))
    db.execute("CREATE STREAM a (t int, k string) ORDER BY t SOURCE 'a.csv';")
    db.execute("CREATE STREAM b (t int, k string) ORDER BY t SOURCE 'b.csv';")
    db.query("SELECT STREAMED a.k FROM a [Range 9] a, b [Range 9] b WHERE a.k = b.k", "pairs")
    with db:
        db.start()
        host = db._host
        assert host is not None
        host.watch = Watch(host.watch.tell, silence=1_000_000)
        until = time.monotonic() + 60
        while not db.notices and time.monotonic() < until:
            time.sleep(0.1)
    assert [notice.message.partition(" s: ")[2] for notice in db.notices] == [
        "no answers of pairs from 2 on until it speaks or is declared idle"
    ]
