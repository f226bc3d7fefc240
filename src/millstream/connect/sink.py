"""What a sink is: batches go in, and it can say how far it is."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa


class Sink(Protocol):
    """Where results go, appended batch by batch.

    Law: a sink opened again at a size it once had, and given the same batches, ends up with the
    same bytes; that is how a repeated batch leaves no trace.
    """

    @property
    def size(self) -> int:
        """The bytes written so far; durable only after `flush`."""

    def append(self, batch: pa.RecordBatch) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...
