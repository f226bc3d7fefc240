"""Millstream: continuous queries on Spark, in one language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millstream.api import Database, QueryHandle, connect
    from millstream.errors import MillstreamError, Notice

__all__ = ["Database", "MillstreamError", "Notice", "QueryHandle", "connect"]


def __getattr__(name: str) -> Any:
    """Look public names up when they are asked for: workers import only what they need."""
    if name in ("MillstreamError", "Notice"):
        from millstream import errors

        return getattr(errors, name)
    if name in __all__:
        from millstream import api

        return getattr(api, name)
    raise AttributeError(f"module 'millstream' has no attribute {name!r}")
