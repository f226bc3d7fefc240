"""Sources and sinks: one folder for each family of sources."""

from millstream.connect.connector import Connector
from millstream.connect.opening import open_source
from millstream.connect.options import Option, Options
from millstream.connect.parquet_sink import ParquetSink
from millstream.connect.partitioned import PartitionedSource, Partitions
from millstream.connect.registry import CONNECTORS
from millstream.connect.sink import Sink
from millstream.connect.source import ERRORS, ReadBatch, Slice, Source
from millstream.connect.text_sink import TextSink, encode, header

__all__ = [
    "CONNECTORS",
    "ERRORS",
    "Connector",
    "Option",
    "Options",
    "ParquetSink",
    "PartitionedSource",
    "Partitions",
    "ReadBatch",
    "Sink",
    "Slice",
    "Source",
    "TextSink",
    "encode",
    "header",
    "open_source",
]
