"""The Python interface: connect, declare, query, run."""

from millstream.api.connecting import connect
from millstream.api.connection import Connection
from millstream.api.handle import QueryHandle

__all__ = ["Connection", "QueryHandle", "connect"]
