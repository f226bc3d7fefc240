"""Expected against actual: bags per instant, doubles within a tolerance; CSV files read back."""

import csv
import json
import math
from collections import Counter
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from .evaluate import Result
from .spec import INTEGERS, Row, instant_of

TOLERANCE = 1e-9


def differences(expected: Result, actual_rows, tolerance: float = TOLERANCE) -> str | None:
    """What is wrong with the actual rows, in words; None when they are as expected.

    Rows have the form of `expected.rows`: (ts, row), (op, ts, row), or row. Stream and tagged
    rows must come in the order of time; within an instant the order does not matter. A sum of
    doubles that moved by less than the tolerance may be reported as changed or not.
    """
    actual = list(actual_rows)
    if expected.kind in ("relation", "rows"):
        missing, extra = leftovers(list(expected.rows), actual, tolerance)
        return complaint("", missing, extra)
    times = [moment_of(expected, row) for row in actual]
    for before, after in pairwise(times):
        if after < before:
            return f"{after} comes after {before}: not in the order of time"
    wanted = [moment_of(expected, row) for row in expected.rows]
    for at in sorted({*times, *wanted}):
        missing, extra = leftovers(
            [row for row, ts in zip(expected.rows, wanted) if ts == at],
            [row for row, ts in zip(actual, times) if ts == at],
            tolerance,
        )
        missing = [row for row in missing if not is_doubtful(expected, row, at, tolerance)]
        extra = [row for row in extra if not is_doubtful(expected, row, at, tolerance)]
        if missing or extra:
            return complaint(f"at {at}: ", missing, extra)
    return None


def moment_of(expected: Result, row: tuple) -> int:
    return row[0] if expected.kind == "stream" else row[1]


def complaint(where: str, missing: list, extra: list) -> str | None:
    parts = [f"missing {missing}"] if missing else []
    parts += [f"unexpected {extra}"] if extra else []
    return where + ", ".join(parts) if parts else None


def leftovers(expected: list, actual: list, tolerance: float) -> tuple[list, list]:
    """Both bags without what they have in common."""
    common = Counter(expected) & Counter(actual)
    missing = list((Counter(expected) - common).elements())
    extra = []
    for row in (Counter(actual) - common).elements():
        twin = next((m for m in missing if is_close(m, row, tolerance)), None)
        if twin is None:
            extra.append(row)
        else:
            missing.remove(twin)
    return missing, extra


def is_close(x: object, y: object, tolerance: float) -> bool:
    """Equal, with doubles (cells of tuples, too) equal within the tolerance."""
    if isinstance(x, tuple) and isinstance(y, tuple):
        return len(x) == len(y) and all(is_close(a, b, tolerance) for a, b in zip(x, y))
    if isinstance(x, float) and isinstance(y, float):
        return math.isclose(x, y, rel_tol=tolerance, abs_tol=tolerance)
    return x == y


def is_doubtful(expected: Result, change: tuple, at: int, tolerance: float) -> bool:
    """The row holds sums of doubles, and is there before and at the instant, within tolerance."""
    row = change[-1]
    if not expected.may_drift or not any(isinstance(cell, float) for cell in row):
        return False
    before, now = state_at(expected, at - 1), state_at(expected, at)
    return all(any(is_close(row, r, tolerance) for r in rows) for rows in (before, now))


def state_at(expected: Result, at: int) -> tuple[Row, ...]:
    """The bag of the relation behind a result at an instant."""
    return next((rows for ts, rows in reversed(expected.history) if ts <= at), ())


def read_result(folder: Path | str, name: str, expected: Result) -> list:
    """The rows of `<folder>/<name>.csv` in the form of the expected result's rows.

    A file of late or bad rows that does not exist holds none.
    """
    path = Path(folder) / f"{name}.csv"
    if expected.kind == "rows" and not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        header, *lines = list(csv.reader(file)) or [[]]
    if expected.kind == "rows":
        places = [header.index(column) for column, _ in expected.columns]
        return [cells(expected, [line[i] for i in places]) for line in lines]
    check_header(path, expected, header)
    match expected.kind:
        case "stream":
            return [(read_ts(line[0]), cells(expected, line[1:])) for line in lines]
        case "tagged":
            return [(line[0], read_ts(line[1]), cells(expected, line[2:])) for line in lines]
    return [cells(expected, line or [""]) for line in lines]


def check_header(path: Path, expected: Result, header: list[str]) -> None:
    front = {"stream": ["ts"], "tagged": ["op", "ts"]}.get(expected.kind, [])
    wanted = front + [name for name, _ in expected.columns]
    if header != wanted:
        raise ValueError(f"{path.name} has the columns {header}, not {wanted}")


def cells(expected: Result, texts: list[str]) -> Row:
    return tuple(read_cell(text, type_) for text, (_, type_) in zip(texts, expected.columns))


def read_ts(text: str) -> int:
    """An instant: an integer, or ISO 8601."""
    return int(text) if text.lstrip("-").isdigit() else instant_of(read_timestamp(text))


def read_timestamp(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=None)


def read_cell(text: str, type_: str) -> object:
    """A value of a column type; an empty cell is NULL."""
    if text == "":
        return None
    if type_ in INTEGERS:
        return int(text)
    if type_.startswith("array"):
        return tuple(json.loads(text))
    match type_:
        case "double":
            return float(text)
        case "boolean":
            return {"true": True, "false": False}[text.lower()]
        case "timestamp":
            return read_timestamp(text)
    return text
