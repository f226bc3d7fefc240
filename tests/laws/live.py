"""A job on the local host whose queries come and go between batches."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from millstream.database import Database
from millstream.local.host import LocalHost
from millstream.testing.run import KeptResults

STREAMS = """
CREATE STREAM bids (ts bigint, item bigint, price bigint) ORDER BY ts {} SOURCE 'bids.csv';
CREATE STREAM sold (ts bigint, item bigint) ORDER BY ts {} SOURCE 'sold.csv';
"""
COLUMNS = {"bids": "ts,item,price", "sold": "ts,item"}


class Live:
    """A job over the files of a folder, a few rows in every batch."""

    def __init__(
        self, folder: Path, views: dict[str, str], settings: dict[str, str], order: str = ""
    ) -> None:
        self.folder = folder
        self.session = Database(base=str(folder), tell=lambda text: None)
        for name, value in settings.items():
            self.session.pin(name, value)
        self.session.execute(STREAMS.format(order, order))
        for name, text in views.items():
            self.session.query(text, name)
        self.kept = KeptResults()
        self.host = LocalHost(self._job(), self.session.sources(follow=False), [self.kept])

    def _job(self):
        return self.session.job(frozenset(self.session.queries))

    def add(self, name: str, text: str) -> tuple:
        self.session.query(text, name)
        return self.host.change(self._job())

    def drop(self, name: str) -> None:
        self.session.execute(f'DROP QUERY "{name}"')
        self.host.change(self._job())

    def replace(self, name: str, text: str) -> tuple:
        """Another query under the name of one that is there, at one boundary."""
        self.session.execute(f'CREATE OR REPLACE VIEW "{name}" AS {text}')
        return self.host.change(self._job())

    def batch(self) -> bool:
        return not self.host.is_done and (self.host.batch() or True)

    def restart(self, strategy: str | None = None) -> None:
        self.host = self.host.restarted(self.folder / "state", strategy)

    def to_the_end(self) -> None:
        while self.batch():
            pass

    def told(self, name: str) -> list[tuple]:
        """The changes of a query so far, in the order they came."""
        tables = self.kept.tables()
        table = tables.get(f"{name}.changes", tables.get(name))
        return [] if table is None else list(zip(*(c.to_pylist() for c in table.columns)))

    def content(self, name: str) -> Counter:
        batch = self.host.content(name)
        return Counter(zip(*(c.to_pylist() for c in batch.columns)))

    def replayed(self, name: str) -> Counter:
        """The rows that are there after all changes of a query so far."""
        plan, changes = self.session.queries[name].plan, self.told(name)
        key = None if plan.key is None else [plan.schema.names.index(k) for k in plan.key]
        rows: Counter = Counter()
        for op, _, *values in changes:
            row = tuple(values)
            if key is not None and op in "u-":
                mark = [row[i] for i in key]
                before = sum(rows.values())
                rows = Counter({r: n for r, n in rows.items() if [r[i] for i in key] != mark})
                assert before == sum(rows.values()) + 1, f"{changes}: {row} was not there"
            elif op == "-":
                assert rows[row] > 0, f"{changes}: {row} was not there"
                rows[row] -= 1
            if op in "+u":
                rows[row] += 1
        return +rows
