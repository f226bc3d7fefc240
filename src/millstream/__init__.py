"""Millstream: continuous queries on Spark, in one language."""

from millstream.api import Connection, QueryHandle, connect
from millstream.errors import MillstreamError, Notice

Database = Connection
"""What `connect` gives, by the name it had first."""

__all__ = ["Connection", "Database", "MillstreamError", "Notice", "QueryHandle", "connect"]
