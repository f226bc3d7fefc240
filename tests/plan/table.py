"""The table of plans, as its tests read it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from millstream.algebra.node import Node
from millstream.database import Database
from millstream.plan.strategy import BEGINS, joined_at

TABLE = Path(__file__).with_name("plans.txt")


@dataclass(frozen=True)
class Entry:
    """A query, the stage of its plan, and the beginning of every line with its pattern.

    The stage `joined` is that of a query that came while the job ran, and begins at 12.
    """

    query: str
    stage: str
    lines: tuple[tuple[str, str], ...]

    def plan(self, script: str) -> Node:
        database = Database(tell=lambda text: None)
        database.execute(script)
        query = database.execute(self.query)[-1]
        if self.stage == "joined":
            return joined_at(query.changes_root, f"after batch 1{BEGINS}12")
        return database.plan_of(query, self.stage)


def read_table() -> tuple[str, list[Entry]]:
    """The declarations, and the entries."""
    text = "\n".join(x for x in TABLE.read_text().splitlines() if not x.startswith("#"))
    script, *entries = text.split("\n====\n")
    return script, [read_entry(entry) for entry in entries]


def read_entry(text: str) -> Entry:
    query, _, plan = text.partition("\n----\n")
    stage = "bound"
    if query.startswith("stage "):
        first, _, query = query.partition("\n")
        stage = first.split()[1]
    lines = [line.rpartition(" ") for line in plan.splitlines()]
    return Entry(query, stage, tuple((line.rstrip(), pattern) for line, _, pattern in lines))
