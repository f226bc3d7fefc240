"""`millstream demo`: continuous queries on a live auction feed, on the screen."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.columns import Columns
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from millstream.database import Database
from millstream.engine.outputs import COMPLETE

SCRIPT = Path(__file__).with_name("demo.sql")
MOST_ROWS = 8


def run_demo(seconds: int, master: str | None) -> None:
    """Run the demo's script for a while and show its answers as they change."""
    from millstream.spark.host import SparkHost
    from millstream.spark.session import make_session

    console = Console()
    console.print(f"The queries ({SCRIPT.name}):\n", style="bold")
    console.print(SCRIPT.read_text(), highlight=False, markup=False, style="cyan")
    console.print("Starting Spark; the first answers take about twenty seconds.", style="dim")
    database = Database(base=str(SCRIPT.parent))
    database.pin("batch_rows", "100000")
    database.execute(SCRIPT.read_text())
    board = Board(database)
    host = SparkHost(
        make_session(master),
        database.job(),
        lambda commit: [board],
        follow=True,
        progress=board.batch,
    )
    try:
        with Live(console=console, refresh_per_second=4, transient=False) as live:
            host.start()
            _watch(host, board, live, seconds)
        host.stop()
    finally:
        host.close()
    console.print(
        f"\n{board.rows_read:,} events in {board.batches} batches. "
        "Next: write your own script, and run it with: millstream run SCRIPT.sql",
        style="bold",
    )


def _watch(host: Any, board: Board, live: Live, seconds: int) -> None:
    try:
        while not board.batches and host.is_active:
            time.sleep(0.2)
        until = time.monotonic() + seconds
        while time.monotonic() < until and host.is_active:
            board.look(host)
            live.update(board.picture())
            time.sleep(0.5)
    except KeyboardInterrupt:
        pass


class Board:
    """The answers as they stand, for the screen."""

    def __init__(self, database: Database) -> None:
        self.queries = dict(database.queries)
        self.latest: dict[str, pa.Table] = {}
        self.counts: dict[str, int] = {}
        self.rows_read = self.batches = 0
        self.line = ""
        self._lock = threading.Lock()

    def rows(self, name: str, batch: pa.RecordBatch, number: int) -> None:
        if batch.num_rows:
            with self._lock:
                self.counts[name] = self.counts.get(name, 0) + batch.num_rows
                self.latest[name] = pa.Table.from_batches([batch]).slice(
                    max(0, batch.num_rows - MOST_ROWS)
                )

    def whole(self, name: str, content: pa.RecordBatch) -> None: ...

    def sizes(self) -> dict[str, int]:
        return {}

    def close(self) -> None: ...

    def batch(self, report: Any) -> None:
        self.batches += 1
        self.rows_read += report.rows
        self.line = (
            f"batch {report.number}  {self.rows_read:,} events  "
            f"{report.seconds:.2f} s for {report.rows:,}  state {report.state_rows:,} rows"
        )

    def look(self, host: Any) -> None:
        """Read the stored results, all at the same instant."""
        for name, query in self.queries.items():
            if query.form == COMPLETE:
                table = pa.Table.from_batches([host.content(name)])
                if "bids" in table.schema.names and table.num_rows:
                    table = table.sort_by([("bids", "descending")])
                with self._lock:
                    self.latest[name] = table

    def picture(self) -> Group:
        with self._lock:
            panels = [self._panel(name) for name in self.queries]
        return Group(Columns(panels), Text(self.line, style="dim"))

    def _panel(self, name: str) -> Panel:
        table = Table(box=None, pad_edge=False)
        content = self.latest.get(name)
        for column in content.schema.names if content is not None else ():
            table.add_column(column, justify="right", style="bold")
        for row in content.slice(0, MOST_ROWS).to_pylist() if content is not None else ():
            table.add_row(*(_cell(v) for v in row.values()))
        said = f"{self.counts[name]:,} rows so far" if name in self.counts else ""
        return Panel(table, title=name, subtitle=said, width=58)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    return "" if value is None else str(value)[:26]
