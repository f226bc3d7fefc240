"""Golden files for other hosts: a script over CSV files that runs to its end, and its results."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

import pyarrow as pa

from millstream.algebra.reading import from_text
from millstream.connect.files.csv_source import CsvSource
from millstream.connect.files.listing import Files
from millstream.connect.source import ReadBatch
from millstream.lang import CreateStream, CreateTable, InsertQuery, Statement, parse_script
from millstream.testing.fed_source import csv_line
from millstream.testing.golden import depends_on_moments, expected_rows, joined_rows
from millstream.testing.golden_file import (
    STEPS,
    GoldenFile,
    Row,
    Target,
    partitions_of,
    split_row,
)
from millstream.testing.results import Shape, difference, rows_of
from millstream.testing.stage import Definitions, ResultRows, is_given


@dataclass(frozen=True)
class Bounded:
    """A script in a folder, and the whole of every result it must give."""

    script: Path
    expected: ResultRows
    shapes: dict[str, Shape]

    @property
    def wants_changes(self) -> bool:
        """Whether the run must write changes, too (`--changes`)."""
        return any(name.endswith(".changes") for name in self.expected)

    def differences(self, out: str | Path) -> list[str]:
        """What is wrong with the CSV files of a run; a file of late or bad rows may be missing."""
        found = []
        for name, shape in self.shapes.items():
            if name.endswith(".changes") and name not in self.expected:
                continue
            rows = _read(Path(out) / f"{name}.csv", shape)
            wrong = difference(shape, self.expected.get(name, []), rows)
            if wrong:
                found.append(f"{name}\n{wrong}")
        return found


def is_bounded(file: GoldenFile) -> bool:
    """Whether one run to the end shows all of it: the file ends, and moments do not matter."""
    return bool(file.of("end")) and not depends_on_moments(file)


def as_bounded_script(file: GoldenFile, folder: str | Path) -> Bounded:
    """Write `script.sql` and the files it reads into a folder.

    The expected results are those of all steps together. Results of the script that the file does
    not name are not looked at.
    """
    folder = Path(folder)
    with tempfile.TemporaryDirectory() as scratch:
        defined = Definitions.of(file, scratch)
    for block in file.of("file"):
        (folder / block.words).write_text(block.text + "\n", encoding="utf-8")
    fed = {Target.of(block.words).name.lower() for block in file.of("feed")}
    for stream in defined.database.streams.values():
        if is_given(stream, fed):
            continue
        for path, rows in _files(file, stream.name, folder):
            lines = [csv_line(tuple(stream.schema.names)), *map(csv_line, rows)]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    script = folder / "script.sql"
    script.write_text(_script(file, fed), encoding="utf-8")
    shapes = defined.shapes()
    derived = set(defined.database.queries) - set(defined.queries) - file.names
    shown = {n: s for n, s in shapes.items() if n.removesuffix(".changes") not in derived}
    return Bounded(script, _expected(file, list(defined.queries), shapes), shown)


def _script(file: GoldenFile, fed: set[str]) -> str:
    statements = []
    every = [s for block in file.of("script") for s in parse_script(block.text)]
    filled = {s.name.lower() for s in every if isinstance(s, InsertQuery)}
    for block in file.of("script", "query"):
        if block.kind == "query":
            statements.append(f'CREATE VIEW "{block.words}" AS {block.text.rstrip("; ")};')
            continue
        for statement in parse_script(block.text):
            place = statement.place
            text = place.text[place.start : place.end]
            if _is_read(statement, filled) or _is_fed(statement, fed):
                text += "" if statement.source else _source(file, statement.name)
            statements.append(f"{text};")
    return "\n".join(statements) + "\n"


def _files(file: GoldenFile, stream: str, folder: Path) -> list[tuple[Path, list[Row]]]:
    """The files of a stream that is fed: one, or one in a folder for every partition."""
    names = partitions_of(file, stream)
    if not names:
        return [(folder / f"{stream}.csv", _fed_rows(file, stream, None))]
    return [(folder / stream / n / "1.csv", _fed_rows(file, stream, n)) for n in names]


def _fed_rows(file: GoldenFile, stream: str, partition: str | None) -> list[Row]:
    blocks = [(Target.of(block.words), block) for block in file.of("feed")]
    return [
        split_row(line, block.place)
        for target, block in blocks
        if target.name.lower() == stream.lower() and target.partition == partition
        for line in block.body
    ]


def _source(file: GoldenFile, stream: str) -> str:
    if partitions_of(file, stream):
        return f" SOURCE '{stream}' WITH (partitions = 'folders')"
    return f" SOURCE '{stream}.csv'"


def _is_read(statement: Statement, filled: set[str]) -> TypeGuard[CreateStream]:
    return isinstance(statement, CreateStream) and statement.name.lower() not in filled


def _is_fed(statement: Statement, fed: set[str]) -> TypeGuard[CreateTable]:
    return isinstance(statement, CreateTable) and statement.name.lower() in fed


def _expected(file: GoldenFile, queries: Sequence[str], shapes: dict[str, Shape]) -> ResultRows:
    sole = queries[0] if len(queries) == 1 else None
    wanted: ResultRows = {}
    for block in file.of(*STEPS):
        wanted = joined_rows(wanted, expected_rows(block, sole), shapes)
    return wanted


def _read(path: Path, shape: Shape) -> list[Row]:
    """The rows of a CSV file, its columns by position: two of them may have the same name.

    Arrays stay the text they are.
    """
    if not path.exists():
        return []
    texts = pa.schema([(f"column{i}", pa.string()) for i in range(len(shape.schema))])
    source = CsvSource(path.stem, texts, Files(str(path), False, "csv"), header=False)
    table = pa.Table.from_batches([read_batch.rows for read_batch in _read_batches(source)], texts)[
        1:
    ]
    kinds = [pa.string() if pa.types.is_list(kind) else kind for kind in shape.schema.types]
    columns = [
        from_text(column.combine_chunks(), kind).values
        for column, kind in zip(table.columns, kinds)
    ]
    return rows_of(shape, pa.Table.from_arrays(columns, shape.schema.names))


def _read_batches(source: CsvSource) -> list[ReadBatch]:
    position, done, found = source.start(), False, []
    while not done:
        slices, position, done = source.plan(position, 1_000_000)
        found += [source.read(piece, source.schema.names) for piece in slices]
    return found
