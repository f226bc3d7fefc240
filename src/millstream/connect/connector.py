"""What a family of sources declares: one value in its folder, one line to register."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from millstream.catalog import Fields, Stream
from millstream.connect.options import Options
from millstream.connect.source import Source


class Database(Protocol):
    """A table somewhere else, which is read whole, and may be read again."""

    def read(self, schema: pa.Schema) -> tuple[pa.RecordBatch, list[tuple[str, str]]]:
        """The rows that can be read as the schema; the others as (reason, row)."""


@dataclass(frozen=True)
class Inferred:
    """Columns that a source was seen to have.

    `file` is the one that was looked into, `rows` how many rows of it, None where it tells by
    itself or was read whole. `left_out` are columns that no type of ours holds.
    """

    columns: Fields
    file: str
    rows: int | None = None
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Connector:
    """A family of sources.

    `schemes` are the words before the colon of the SOURCE that it answers to; files answer to what
    has none. `written` is what to write in SOURCE, for hints. `options` has the options of every
    kind of source in the family. `open` makes the source of a stream (and whether it is followed),
    with an error where there is something wrong with it; `database` a table that is read whole;
    `infer` tells the columns of a source that is declared without any.
    """

    family: str
    schemes: tuple[str, ...]
    written: str
    options: tuple[Options, ...]
    open: Callable[[Stream, bool], Source]
    database: Callable[[Stream], Database] | None = None
    infer: Callable[[Stream], Inferred] | None = None
