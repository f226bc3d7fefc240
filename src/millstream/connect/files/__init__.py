"""Files: CSV, JSON lines and Parquet, alone, in folders, or a folder for every partition."""

from __future__ import annotations

from typing import Any

from millstream.catalog import Stream
from millstream.connect.connector import Connector, Inferred
from millstream.connect.files.folders import Folders
from millstream.connect.files.formats import FORMAT, PARTITIONS, SETS, open_files
from millstream.connect.files.inference import infer_from
from millstream.connect.files.listing import resolve
from millstream.connect.options import Options
from millstream.connect.partitioned import PartitionedSource
from millstream.connect.source import Source

_FIRST = Options("a file source", (FORMAT, PARTITIONS))
"""Those that must be known before a file is looked for."""


def open_stream(stream: Stream, follow: bool) -> Source:
    """The source of a stream in files, relative to the folder of its script."""
    assert stream.source is not None
    options = {name.lower(): value for name, value in stream.options}
    first: dict[str, Any] = _FIRST.read({n: v for n, v in options.items() if n in _FIRST.names})
    if first["partitions"] is not None:
        return PartitionedSource(stream.name, Folders.of(stream, follow))
    files = resolve(stream.source, stream.base, follow, first["format"])
    return open_files(files, stream, options)


def infer(stream: Stream) -> Inferred:
    """The columns of a stream in files, from the first of them."""
    assert stream.source is not None
    return infer_from(open_stream(stream, follow=True), stream.source)


FILES = Connector("files", ("file",), "a file, a folder, a pattern", SETS, open_stream, infer=infer)
