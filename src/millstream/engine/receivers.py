"""Receivers: where answers go, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

import pyarrow as pa

from millstream.connect.parquet_sink import ParquetSink
from millstream.connect.text_sink import TextSink
from millstream.engine.outputs import unique_names
from millstream.engine.set_aside import set_files_aside
from millstream.engine.spool import Spool


class Receiver(Protocol):
    """Takes the rows of named results: queries, `<stream>.late`, `<stream>.errors`."""

    def rows(self, name: str, batch: pa.RecordBatch, number: int) -> None:
        """Take more rows of a result, if there are any, in order; `number` is their batch."""

    def whole(self, name: str, content: pa.RecordBatch) -> None:
        """Take the content of a stored result at the last instant."""

    def sizes(self) -> dict[str, int]:
        """How far every result has come, for a restart."""

    def close(self) -> None: ...


@runtime_checkable
class Forgetting(Protocol):
    """A receiver that keeps rows, and has to lose those of a query that is no more."""

    def forget(self, name: str) -> None:
        """Drop what was kept of a result: more rows under its name are those of another query."""


@runtime_checkable
class Following(Protocol):
    """A receiver that follows the changes of results, and keeps none."""

    def withdrawn(self, name: str, rows: pa.RecordBatch) -> None:
        """Take the changes by which the rows of a query leave that was replaced."""


class Callbacks:
    """Hands rows to functions, by the name of the result."""

    def __init__(self) -> None:
        self.functions: dict[str, list[Callable[[pa.RecordBatch], None]]] = {}

    def add(self, name: str, function: Callable[[pa.RecordBatch], None]) -> None:
        self.functions.setdefault(name, []).append(function)

    def rows(self, name: str, batch: pa.RecordBatch, number: int) -> None:
        for function in self.functions.get(name, ()) if batch.num_rows else ():
            function(batch)

    def whole(self, name: str, content: pa.RecordBatch) -> None: ...

    def sizes(self) -> dict[str, int]:
        return {}

    def close(self) -> None: ...


class Folder:
    """Writes every result to `DIR/<name>.<format>`.

    Text files grow as the results come; Parquet files are written when the run closes, from a spool
    beside them. After a restart both are cut back to where the last finished batch left them.
    `aside` are queries that start fresh, with the sizes of the results that they leave.
    """

    def __init__(
        self,
        folder: str | Path,
        format: str,
        schemas: Mapping[str, pa.Schema],
        sizes: Mapping[str, int] | None = None,
        aside: Mapping[str, Mapping[str, int]] | None = None,
    ) -> None:
        self.folder = Path(folder)
        self.format = format
        self.schemas = {name: self._named(schema) for name, schema in schemas.items()}
        self.folder.mkdir(parents=True, exist_ok=True)
        self.kept = [
            path
            for query, left in (aside or {}).items()
            for path in set_files_aside(self.folder, query, format, left)
        ]
        """The files of earlier results that were set aside."""
        self._sinks = {
            name: self._open(name, schema, (sizes or {}).get(name))
            for name, schema in self.schemas.items()
        }

    def rows(self, name: str, batch: pa.RecordBatch, number: int) -> None:
        if name in self._sinks and batch.num_rows:
            self._sinks[name].append(batch.rename_columns(self.schemas[name].names))

    def whole(self, name: str, content: pa.RecordBatch) -> None:
        path = str(self._path(name))
        if self.format == "parquet":
            ParquetSink.write(path, content.schema, [content])
            return
        with TextSink(path, content.schema, self.format) as sink:
            sink.append(content)

    def sizes(self) -> dict[str, int]:
        for sink in self._sinks.values():
            sink.flush()
        return {name: sink.size for name, sink in self._sinks.items()}

    def close(self) -> None:
        for name, sink in self._sinks.items():
            if isinstance(sink, Spool):
                ParquetSink.write(str(self._path(name)), self.schemas[name], sink.batches())
            sink.close()

    def discard_spools(self) -> None:
        """Remove what is no longer needed after the last batch of a run without checkpoint."""
        for sink in self._sinks.values():
            if isinstance(sink, Spool):
                sink.path.unlink(missing_ok=True)

    def _named(self, schema: pa.Schema) -> pa.Schema:
        """CSV may have two columns of one name; formats that know columns by name may not."""
        if self.format == "csv":
            return schema
        return pa.schema([f.with_name(n) for f, n in zip(schema, unique_names(schema.names))])

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.{self.format}"

    def _open(self, name: str, schema: pa.Schema, size: int | None) -> TextSink | Spool:
        if self.format == "parquet":
            return Spool(self.folder / f".{name}.spool", size)
        return TextSink(str(self._path(name)), schema, self.format, size)
