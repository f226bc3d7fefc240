"""The five queries of the comparison of strategies, and the connections they run over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.connect import open_source
from millstream.connect.source import Slab, Slice, error_rows

COLUMNS = {
    "ts": pa.int64(), "protocol": pa.string(), "source": pa.int64(), "destination": pa.int64(),
}  # fmt: skip
STREAM = (
    "CREATE STREAM {name} (ts bigint, protocol string, source bigint, destination bigint) "
    "ORDER BY ts SOURCE 'generate:connections?events={events}';"
)

PAIRS = (
    "SELECT {form} a.source, a.destination AS here, b.destination AS there "
    "FROM link0 [Range {window}] a, link1 [Range {window}] b "
    "WHERE a.source = b.source AND a.protocol = '{protocol}' AND b.protocol = '{protocol}';"
)
SOURCES = "SELECT {form} DISTINCT source FROM link0 [Range {window}];"
ROUTES = "SELECT {form} DISTINCT source, destination FROM link0 [Range {window}];"
LESS = (
    "SELECT {form} source FROM link0 [Range {window}] "
    "EXCEPT ALL SELECT source FROM link1 [Range {window}];"
)
BOTH = (
    "SELECT {form} a.source FROM (SELECT DISTINCT source FROM link0 [Range {window}]) a, "
    "(SELECT DISTINCT source FROM link1 [Range {window}]) b WHERE a.source = b.source;"
)
NOT_THERE = "NOT EXISTS (SELECT * FROM link1 [Range {window}] b WHERE a.source = b.source)"
NEGATION_BELOW = (
    "SELECT {form} a.source, a.destination AS here, c.destination AS there FROM "
    "(SELECT source, destination FROM link0 [Range {window}] a WHERE protocol = 'ftp' AND "
    + NOT_THERE
    + ") a, link2 [Range {window}] c WHERE a.source = c.source AND c.protocol = 'ftp';"
)
NEGATION_ABOVE = (
    "SELECT {form} a.source, a.destination AS here, c.destination AS there "
    "FROM link0 [Range {window}] a, link2 [Range {window}] c WHERE a.source = c.source "
    "AND a.protocol = 'ftp' AND c.protocol = 'ftp' AND " + NOT_THERE + ";"
)

QUERIES = {
    "1 ftp": PAIRS.replace("{protocol}", "ftp"),
    "1 telnet": PAIRS.replace("{protocol}", "telnet"),
    "2 source": SOURCES,
    "2 source, destination": ROUTES,
    "3": LESS,
    "4": BOTH,
    "5 negation below": NEGATION_BELOW,
    "5 negation above": NEGATION_ABOVE,
}
"""Query 1 joins two links, 2 takes duplicates out of one, 3 takes one from another, 4 joins two
without duplicates, 5 joins a link with what is left of another, in two orders."""


@dataclass(frozen=True)
class Ready:
    """A source whose rows are there already, so that only what comes after reading is measured."""

    name: str
    rows: pa.RecordBatch

    @staticmethod
    def of(name: str, count: int) -> Ready:
        """The first connections of a link."""
        url, schema = f"generate:connections?events={4 * count}", pa.schema(list(COLUMNS.items()))
        source = open_source(url, name, schema, {}, ".", False)
        slices, _, _ = source.plan(source.start(), count)
        batches = [source.read(slice_, schema.names).rows for slice_ in slices]
        return Ready(name, pa.Table.from_batches(batches).combine_chunks().to_batches()[0])

    def start(self) -> dict[str, Any]:
        return {"row": 0}

    def plan(self, position: dict[str, Any], rows: int) -> tuple[list[Slice], dict[str, Any], bool]:
        low = position["row"]
        high = min(low + rows, len(self.rows))
        slices = [Slice(self.name, {"row": low}, low + 1, high - low)] if low < high else []
        return slices, {"row": high}, high == len(self.rows)

    def read(self, slice: Slice, columns: Sequence[str]) -> Slab:
        rows = self.rows.slice(slice.at["row"], slice.rows).select(list(columns))
        return Slab(rows, np.arange(slice.seq, slice.seq + slice.rows), error_rows([], [], []))

    def largest(self, slice: Slice, column: str) -> int | None:
        return int(self.rows.column(column)[slice.at["row"] + slice.rows - 1].as_py())
