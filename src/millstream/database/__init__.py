"""The database core: names, queries, settings, events. Interfaces are shells around it."""

from millstream.database.database import Database
from millstream.database.explaining import STAGES

__all__ = ["STAGES", "Database"]
