"""Results as a Parquet file, which is there as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.files import writing


class ParquetSink:
    """A Parquet file written from all its batches at once."""

    @staticmethod
    def write(path: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        """Write beside the file, then put it in its place.

        Law: at any moment the path holds the old file or the new one, whole.
        """
        draft = f"{path}.tmp"
        with writing(path):
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
            with pq.ParquetWriter(draft, schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
            with open(draft, "rb") as file:
                os.fsync(file.fileno())
            os.replace(draft, path)
