"""Changes of a table that statements made: those before the run, then those while it ran."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.changes import concat_rows, no_rows
from millstream.connect.cells import as_csv
from millstream.connect.source import ReadBatch, Slice, error_rows, largest_of
from millstream.connect.statements.appended import FAULTS, read_batches
from millstream.errors import MillstreamError
from millstream.files import Folder


@dataclass(frozen=True)
class StatementSource:
    """Rows that came with the job, then those put into a folder while it runs, bad ones too.

    Position: how many of the first there were and what was in them, the number of the next batch
    in the folder, the next arrival number.
    Law: a job that goes on must bring the rows that were read before, and may bring more.
    """

    name: str
    schema: pa.Schema
    rows: pa.RecordBatch
    spool: Folder | None
    follow: bool
    _digests: dict[int, str] = field(default_factory=dict, init=False, compare=False)

    def start(self) -> dict[str, Any]:
        return {"row": 0, "digest": self._digest(0), "offset": 0, "seq": 1}

    def plan(self, position: dict[str, Any], rows: int) -> tuple[list[Slice], dict[str, Any], bool]:
        begin, seq = position["row"], position["seq"]
        if self._digest(begin) != position["digest"]:
            raise MillstreamError(
                f'the statements about table "{self.name}" are not those of the checkpoint',
                detail="It has carried out others already.",
                hint="Add statements with later times only, or start anew with another "
                "--checkpoint.",
            )
        end = min(begin + rows, self.rows.num_rows)
        if end > begin:
            after = {**position, "row": end, "digest": self._digest(end), "seq": seq + end - begin}
            slices = [Slice(self.name, {"row": begin, "end": end}, seq, end - begin)]
            return slices, after, end == self.rows.num_rows and self._is_over(position["offset"])
        slices, offset = [], position["offset"]
        for stop, batch in self._appended(offset):
            if slices and batch.num_rows > rows:
                break
            at = {"start": offset, "stop": stop}
            slices.append(Slice(self.name, at, seq, batch.num_rows))
            rows, seq, offset = rows - batch.num_rows, seq + batch.num_rows, stop
        return slices, {**position, "offset": offset, "seq": seq}, self._is_over(offset)

    def read(self, slice: Slice, columns: Sequence[str]) -> ReadBatch:
        if "row" in slice.at:
            rows = self.rows.slice(slice.at["row"], slice.length)
        else:
            rows = next(batch for _, batch in self._appended(slice.at["start"]))
        if rows.schema == FAULTS:
            return self._bad(rows, slice.seq, columns)
        schema = pa.schema([self.schema.field(name) for name in columns])
        asked = concat_rows([rows.select(list(columns))], schema)
        return ReadBatch(
            asked, np.arange(slice.seq, slice.seq + slice.length), error_rows([], [], [])
        )

    def _bad(self, faults: pa.RecordBatch, seq: int, columns: Sequence[str]) -> ReadBatch:
        schema = pa.schema([self.schema.field(name) for name in columns])
        numbers = np.arange(seq, seq + faults.num_rows)
        reasons, texts = (column.to_pylist() for column in faults.columns)
        return ReadBatch(no_rows(schema), numbers[:0], error_rows(numbers, reasons, texts))

    def largest(self, slice: Slice, column: str) -> int | None:
        return largest_of(self.read(slice, [column]).rows.column(0))

    def _appended(self, start: int) -> Any:
        return iter(()) if self.spool is None else read_batches(self.spool, start)

    def _is_over(self, offset: int) -> bool:
        return not self.follow and next(self._appended(offset), None) is None

    def _digest(self, count: int) -> str:
        """A short name of the first rows, the same in every process."""
        if count not in self._digests:
            cells = [as_csv(column) for column in self.rows.slice(0, count).columns]
            lines = pc.binary_join_element_wise(*cells, ",").to_pylist() if count else []
            text = "\n".join(lines)
            self._digests[count] = hashlib.sha256(text.encode()).hexdigest()[:16]
        return self._digests[count]
