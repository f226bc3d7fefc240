"""A case as a folder: script.sql and one CSV file per stream and table."""

import csv
import io
import json
from datetime import datetime
from pathlib import Path

from .spec import Script, StreamSpec, TableSpec


def write(case: Script, folder: Path | str) -> Path:
    """Write the case for `millstream run`; returns the path of the script."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files_of(case).items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    return folder / "script.sql"


def as_text(case: Script) -> str:
    """All files of a case, one after the other, each under its name."""
    return "\n".join(f"--- {name}\n{text}" for name, text in files_of(case).items())


def files_of(case: Script) -> dict[str, str]:
    """The files that reproduce a case, by name."""
    files = {"script.sql": case.to_sql()}
    for relation in (*case.streams, *case.tables):
        if getattr(relation, "feed", "rows") != "statements":
            files[f"{relation.name}.csv"] = file_text(relation)
    return files


def file_text(relation: StreamSpec | TableSpec) -> str:
    """The CSV file of a stream, a table, or a table's changes."""
    names = [name for name, _ in relation.columns]
    lines: list[list[object]] = [list(row) for row in relation.rows]
    if isinstance(relation, TableSpec) and relation.feed == "changes":
        names = ["op", "ts", *names]
        lines = [[change.op, change.ts, *change.row] for change in relation.changes]
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([[cell_text(value) for value in line] for line in lines])
    return file.getvalue()


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
        case tuple():
            return json.dumps(value)
    return str(value)
