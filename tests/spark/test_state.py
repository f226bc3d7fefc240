"""EXPLAIN STATE on Spark: what operators hold, from the files of the last finished batch."""

from pathlib import Path

import pytest

import millstream
from millstream.cli.explaining import explain_script

pytestmark = pytest.mark.spark

SCRIPT = (
    "CREATE STREAM bids (item bigint, price double, ts bigint) ORDER BY ts SOURCE 'bids.csv';\n"
    "CREATE VIEW dear AS SELECT item, max(price) AS most FROM bids [Range 8] GROUP BY item;\n"
)


def held(report: str) -> dict[str, str]:
    """By operator and what it keeps, what it holds."""
    found, operator = {}, ""
    lines = [line for line in report.splitlines() if not line.startswith("--")]
    start = lines[0].index("holds now")
    for line in lines[1:]:
        if line.startswith("  "):
            found[f"{operator}: {line[2:].split('  ')[0]}"] = line[start:]
        else:
            operator = line.split()[0]
    return found


def test_state_of_a_run_and_of_its_checkpoint(spark, tmp_path: Path, capsys) -> None:
    rows = [f"{i % 3},{i}.5,{i}" for i in range(1, 31)]
    (tmp_path / "bids.csv").write_text("\n".join(["item,price,ts", *rows]) + "\n")
    folder = tmp_path / "checkpoint"
    db = millstream.connect(
        spark=spark, base=str(tmp_path), checkpoint=str(folder), settings={"batch_rows": 10}
    )
    (query,) = db.execute(SCRIPT)
    assert "it has not run" in query.explain("state")
    db.run()
    report = query.explain("state")
    found = held(report)
    assert found["GroupBy: totals and the row shown"].startswith("3 rows, ")
    assert found["GroupBy: rows whose end lies ahead"].startswith("9 rows, ")
    assert found["Exchange: rows that wait for the heartbeat"] == "nothing"
    assert report.splitlines()[-1].startswith("-- in all ") and "after batch " in report
    capsys.readouterr()
    db.execute("EXPLAIN STATE dear;")
    assert capsys.readouterr().out == report + "\n"

    script = tmp_path / "script.sql"
    script.write_text(SCRIPT)
    before = sorted((p, p.stat().st_mtime_ns) for p in folder.rglob("*"))
    assert explain_script(script, "state", "dear", None, folder, ()).startswith(report)
    assert sorted((p, p.stat().st_mtime_ns) for p in folder.rglob("*")) == before
    script.write_text(SCRIPT.replace("Range 8", "Range 9"))
    assert "it has not run" in explain_script(script, "state", "dear", None, folder, ())
