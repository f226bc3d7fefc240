"""Tables read whole from a file, as they stand at the beginning of a run."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from millstream.connect.opening import open_source
from millstream.errors import MillstreamError

BATCH = 1_000_000


def load_table(
    url: str, name: str, schema: pa.Schema, options: Mapping[str, str], base: str
) -> pa.RecordBatch:
    """All rows of a bounded source. A bad row is an error: a table must not lack rows unnoticed."""
    source = open_source(url, name, schema, options, base, follow=False)
    position, ended, parts = source.start(), False, []
    while not ended:
        slices, position, ended = source.plan(position, BATCH)
        for piece in slices:
            slab = source.read(piece, schema.names)
            if slab.errors.num_rows:
                first = slab.errors.slice(0, 1).to_pylist()[0]
                raise MillstreamError(
                    f'row {first["seq"]} of table "{name}" cannot be read: {first["reason"]}',
                    hint="Mend the row in the file.",
                )
            parts.append(slab.rows)
    table = pa.Table.from_batches(parts, schema=schema).combine_chunks()
    arrays = [
        pa.concat_arrays(c.chunks) if c.num_chunks else pa.array([], c.type) for c in table.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
