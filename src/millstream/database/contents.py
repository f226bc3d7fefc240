"""What statements have defined so far, as one value that is replaced as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from millstream.bind.tables.histories import TableHistories
from millstream.catalog import Catalog
from millstream.database.registry import Registry
from millstream.library import LIBRARY
from millstream.settings import Settings


@dataclass
class Contents:
    """Names and who reads them, registered queries, settings, and what tables hold.

    A script works on a copy, which takes the place of these contents when all of it succeeded. So
    contents that others can see never change, and whoever has them has one state of everything.
    `pinned` are the settings that come from outside, and that no script changes; `allows_python`
    says whether a script may name classes in Python, which are then loaded.
    """

    catalog: Catalog = field(default_factory=lambda: Catalog(shipped=LIBRARY))
    queries: Registry = field(default_factory=Registry)
    settings: Settings = field(default_factory=Settings)
    pinned: frozenset[str] = frozenset()
    allows_python: bool = False
    tables: TableHistories = field(init=False)

    def __post_init__(self) -> None:
        self.tables = TableHistories(self.catalog)

    def copy(self) -> Contents:
        """Contents that can be changed without changing these."""
        other = replace(self, catalog=self.catalog.copy(), queries=self.queries.copy())
        other.tables = self.tables.copy(other.catalog)
        return other
