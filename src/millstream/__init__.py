"""Millstream: continuous queries on Spark, in one language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.errors import MillstreamError, Notice

if TYPE_CHECKING:
    from millstream.api import Connection, QueryHandle, connect

    Database = Connection

__all__ = ["Connection", "Database", "MillstreamError", "Notice", "QueryHandle", "connect"]


def __getattr__(name: str) -> Any:
    """The interface is imported when it is first asked for: a command that does not need it starts
    ten times as fast. `Database` is what `connect` gives, by the name it had first."""
    if name not in __all__:
        raise AttributeError(f"module 'millstream' has no attribute {name!r}")
    from millstream import api

    return getattr(api, "Connection" if name == "Database" else name)
