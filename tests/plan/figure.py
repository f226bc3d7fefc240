"""Figures of the manual: the two plans of the paper's Figure 6, and the machine of a pattern.
`make docs` draws them anew."""

from __future__ import annotations

from pathlib import Path

from millstream.database import Database
from plan.table import read_table

FIGURES = Path(__file__).resolve().parents[2] / "docs" / "figures"
FIGURE, MACHINE = FIGURES / "update-patterns.svg", FIGURES / "machine.svg"


def draw() -> str:
    script, (left, right, *_) = read_table()
    database = Database(tell=lambda text: None)
    database.execute(script)
    drawn = [database.query(left.query, "pulled_up"), database.query(right.query, "pushed_down")]
    return database.picture(drawn, "bound")


def draw_machine() -> str:
    """A price that falls at least twice, moves a little or not at all, and is then back on top."""
    database = Database(tell=lambda text: None)
    database.execute("CREATE STREAM prices (t int, item string, price double) ORDER BY t;")
    text = """
      SELECT Top.price, count(*Down) AS falls
      FROM prices PARTITION BY item AS (Top, *Down, *Flat, Back)
      WHERE Down.price < 0.98 * Down.previous.price AND count(*Down) > 1
        AND Flat.price BETWEEN 0.98 * Flat.previous.price AND 1.02 * Flat.previous.price
        AND Back.price > Top.price"""
    return database.picture([database.query(text, "back_on_top")], "machine")


if __name__ == "__main__":
    FIGURE.write_text(draw(), encoding="utf-8")
    MACHINE.write_text(draw_machine(), encoding="utf-8")
