"""Sources and sinks, one file each."""

from millstream.connect.opening import OPTIONS, open_source
from millstream.connect.parquet_sink import ParquetSink
from millstream.connect.sink import Sink
from millstream.connect.source import ERRORS, ReadBatch, Slice, Source
from millstream.connect.text_sink import TextSink, encode, header

__all__ = [
    "ERRORS",
    "OPTIONS",
    "ParquetSink",
    "ReadBatch",
    "Sink",
    "Slice",
    "Source",
    "TextSink",
    "encode",
    "header",
    "open_source",
]
