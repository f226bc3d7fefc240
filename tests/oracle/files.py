"""A case as a folder: script.sql and one CSV file per stream and table."""

import csv
from datetime import datetime
from pathlib import Path

from .spec import Script


def write(case: Script, folder: Path | str) -> Path:
    """Write the case for `millstream run`; returns the path of the script."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for relation in (*case.streams, *case.tables):
        with open(folder / f"{relation.name}.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([name for name, _ in relation.columns])
            writer.writerows([[cell_text(value) for value in row] for row in relation.rows])
    script = folder / "script.sql"
    script.write_text(case.to_sql(), encoding="utf-8")
    return script


def cell_text(value: object) -> str:
    """A cell; NULL is empty."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case datetime():
            return value.isoformat(sep=" ")
        case float():
            return repr(value)
    return str(value)
