"""The figure of the manual: the two plans of the paper's Figure 6. `make docs` draws it anew."""

from __future__ import annotations

from pathlib import Path

from millstream.database import Database
from plan.table import read_table

FIGURE = Path(__file__).resolve().parents[2] / "docs" / "figures" / "update-patterns.svg"


def draw() -> str:
    script, (left, right, *_) = read_table()
    database = Database(tell=lambda text: None)
    database.execute(script)
    drawn = [database.query(left.query, "pulled_up"), database.query(right.query, "pushed_down")]
    return database.picture(drawn, "bound")


if __name__ == "__main__":
    FIGURE.write_text(draw(), encoding="utf-8")
