"""Receivers: where answers go, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from millstream.connect.parquet_sink import ParquetSink
from millstream.connect.text_sink import TextSink


class Receiver(Protocol):
    """Takes the rows of named results. Names are those of queries, `<stream>.late`, `<stream>.errors`."""

    def rows(self, name: str, batch: pa.RecordBatch) -> None:
        """Take more rows of a result, in order."""

    def whole(self, name: str, content: pa.RecordBatch) -> None:
        """Take the content of a stored result at the last instant."""

    def sizes(self) -> dict[str, int]:
        """How far every result has come, for a restart."""

    def close(self) -> None: ...


class Callbacks:
    """Hands rows to functions, by the name of the result."""

    def __init__(self) -> None:
        self.functions: dict[str, list[Callable[[pa.RecordBatch], None]]] = {}

    def add(self, name: str, function: Callable[[pa.RecordBatch], None]) -> None:
        self.functions.setdefault(name, []).append(function)

    def rows(self, name: str, batch: pa.RecordBatch) -> None:
        for function in self.functions.get(name, ()):
            function(batch)

    def whole(self, name: str, content: pa.RecordBatch) -> None: ...

    def sizes(self) -> dict[str, int]:
        return {}

    def close(self) -> None: ...


class Folder:
    """Writes every result to `DIR/<name>.<format>`.

    Text files grow as the results come; after a restart they are cut back to where the last finished
    batch left them. Parquet files are written when the run closes.
    """

    def __init__(
        self, folder: str | Path, format: str, schemas: Mapping[str, pa.Schema],
        file_names: Mapping[str, str], sizes: Mapping[str, int] | None = None,
    ) -> None:
        self.folder = Path(folder)
        self.format = format
        self.schemas = dict(schemas)
        self.file_names = dict(file_names)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._kept: dict[str, list[pa.RecordBatch]] = {}
        self._sinks: dict[str, TextSink] = {}
        if format != "parquet":
            for name, schema in self.schemas.items():
                self._open(name, schema, (sizes or {}).get(name))

    def _path(self, name: str) -> Path:
        return self.folder / f"{self.file_names.get(name, name)}.{self.format}"

    def _open(self, name: str, schema: pa.Schema, size: int | None) -> None:
        self._sinks[name] = TextSink(self._path(name), schema, self.format, size)

    def rows(self, name: str, batch: pa.RecordBatch) -> None:
        if name not in self.schemas or batch.num_rows == 0:
            return
        if self.format == "parquet":
            self._kept.setdefault(name, []).append(batch)
        else:
            self._sinks[name].append(batch)

    def whole(self, name: str, content: pa.RecordBatch) -> None:
        path = self._path(f"{name}")
        if self.format == "parquet":
            ParquetSink().write(path, content.schema, [content])
            return
        sink = TextSink(path, content.schema, self.format, None)
        sink.append(content)
        sink.close()

    def sizes(self) -> dict[str, int]:
        for sink in self._sinks.values():
            sink.flush()
        return {name: sink.size for name, sink in self._sinks.items()}

    def close(self) -> None:
        for sink in self._sinks.values():
            sink.close()
        if self.format == "parquet":
            for name, schema in self.schemas.items():
                ParquetSink().write(self._path(name), schema, self._kept.get(name, []))
