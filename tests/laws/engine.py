"""Run a generated script through the engine and compare it with the oracle."""

from __future__ import annotations

import tempfile
import traceback
from pathlib import Path

import pyarrow as pa

from millstream.errors import MillstreamError
from millstream.testing import run_script
from oracle.compare import differences
from oracle.evaluate import evaluate
from oracle.files import as_text
from oracle.generate import shrink, write


def rows_of(kind: str, table: pa.Table) -> list:
    """A result of ours in the oracle's form; by position, since names may stand twice."""
    columns = [_values(c) for c in table.columns]
    rows = list(zip(*columns)) if columns else []
    if kind == "stream":
        return [(row[0], row[1:]) for row in rows]
    if kind == "tagged":
        return [(row[0], row[1], row[2:]) for row in rows]
    return rows


def _values(column: pa.ChunkedArray) -> list:
    values = column.to_pylist()
    return (
        [None if v is None else tuple(v) for v in values]
        if pa.types.is_list(column.type)
        else values
    )


def instants(kind: str, table: pa.Table) -> pa.Table:
    """The `ts` column as the integer it is."""
    place = {"stream": 0, "tagged": 1}.get(kind)
    if place is None or table.num_columns == 0:
        return table
    field = table.schema.field(place)
    return table.set_column(place, field.name, table.column(place).cast(pa.int64()))


def mismatch(case, settings: dict[str, str] | None = None, restart=False) -> str | None:
    """What differs between the engine and the oracle, or None."""
    expected = evaluate(case)
    with tempfile.TemporaryDirectory() as folder:
        script = write(case, Path(folder))
        try:
            turns = restart if isinstance(restart, tuple) else ()
            actual = run_script(script.read_text(), folder, settings, bool(restart), turns)
        except MillstreamError as error:
            return f"refused: {error.render()}"
    return compare(expected, actual)


def outcome(case, settings: dict[str, str] | None = None, restart=False) -> str | None:
    """What differs, is refused, or breaks; None when engine and oracle agree."""
    try:
        return mismatch(case, settings, restart)
    except Exception:
        return f"broken: {traceback.format_exc(limit=-4)}"


def kind_of(found: str | None) -> str:
    """Agreed, refused, broken or different: shrinking keeps to one of them."""
    if found is None:
        return "agreed"
    word = found.split(":")[0]
    return word if word in ("refused", "broken") else "different"


def shrunk(case, settings: dict[str, str] | None = None, restart=False) -> str:
    """The outcome of the smallest case that fails in the same way, and the files that show it."""
    kind = kind_of(outcome(case, settings, restart))
    small = shrink(case, lambda c: kind_of(outcome(c, settings, restart)) == kind)
    return f"{outcome(small, settings, restart)}\n{as_text(small)}"


def compare(expected, actual: dict[str, pa.Table]) -> str | None:
    for name, result in expected.items():
        if name.endswith(".errors"):
            continue
        kind = "stream" if name.endswith(".late") else result.kind
        table = actual.get(name)
        rows = rows_of(kind, instants(kind, table)) if table is not None else []
        if name.endswith(".late"):
            rows = [row[-len(result.columns) :] for _, row in rows]
        found = differences(result, rows)
        if found:
            return f"{name}: {found}"
    return None
