"""A script in which one key has nearly all rows, and its data."""

from pathlib import Path

SCRIPT = """
CREATE STREAM bids (t int, item int, price int) ORDER BY t SOURCE 'bids.csv';
CREATE STREAM sold (t int, item int, who int) ORDER BY t SOURCE 'sold.csv';
SELECT STREAMED who, count(*) AS n, sum(price) AS spent
  FROM bids [Range 20] b JOIN sold [Range 10] s ON b.item = s.item GROUP BY who;
SELECT COMPLETE price FROM bids [Range 5] WHERE item NOT IN (SELECT item FROM sold [Range 3]);
"""


def write_hot(folder: Path, rows: int, others: int = 100) -> Path:
    """Nine rows of ten have one key, in both streams; the others have one of many."""
    for name, extra, step in (("bids", "price", 7919), ("sold", "who", 104729)):
        lines = [f"t,item,{extra}"]
        for i in range(rows):
            item = 7 if i % 10 else 100 + i * step % others
            lines.append(f"{i},{item},{i * step % 5}")
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    script = folder / "script.sql"
    script.write_text(SCRIPT)
    return script
