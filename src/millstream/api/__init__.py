"""The Python interface: connect, declare, query, run."""

from millstream.api.connection import Connection, connect
from millstream.api.handle import QueryHandle

__all__ = ["Connection", "QueryHandle", "connect"]
