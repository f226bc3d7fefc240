"""Millstream: continuous queries on Spark, in one language."""

from millstream.api import Database, QueryHandle, connect
from millstream.errors import MillstreamError, Notice

__all__ = ["Database", "MillstreamError", "Notice", "QueryHandle", "connect"]
