"""From a declared stream to its source, and to the file of a table's changes."""

from __future__ import annotations

from millstream.connect.registry import open_source, open_stream
from millstream.connect.statements import spool_of

__all__ = ["open_source", "open_stream", "spool_of"]
