"""Millstream: continuous queries on Spark, in one language."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from millstream.errors import MillstreamError, Notice

if TYPE_CHECKING:
    from millstream.api import Connection, QueryHandle, connect
    from millstream.blocks.general.python.tables import Table

    Database = Connection

__all__ = [
    "Connection",
    "Database",
    "MillstreamError",
    "Notice",
    "QueryHandle",
    "Table",
    "connect",
]


def __getattr__(name: str) -> Any:
    """The interface is imported when it is first asked for: a command that does not need it starts
    ten times as fast. `Database` is what `connect` gives, by the name it had first."""
    if name not in __all__:
        raise AttributeError(f"module 'millstream' has no attribute {name!r}")
    if name == "Table":
        from millstream.blocks.general.python.tables import Table

        return Table
    from millstream import api

    return getattr(api, "Connection" if name == "Database" else name)


class _Package(ModuleType):
    """This package, in which `connect` is the function, whoever imports the package `connect`."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "connect" or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
