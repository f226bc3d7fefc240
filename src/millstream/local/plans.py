"""The record of planned batches: a batch that runs again, after a crash, reads the same."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from millstream.engine.read_tasks import ReadTask
from millstream.files import Folder, MissingFile

Plan = tuple[list[ReadTask], dict[str, dict[str, Any]]]
"""The read tasks of a batch, and the positions after it."""


@dataclass(frozen=True)
class Plans:
    """The plans of the batch that runs and of the one before, by their numbers, in a folder."""

    folder: Folder

    def get(self, number: int) -> Plan | None:
        """The plan of a batch that was begun before; None if there is none that is whole."""
        try:
            data = json.loads(self.folder.get(_name(number)).to_pybytes())
            return [ReadTask.from_json(task) for task in data["tasks"]], data["positions"]
        except (MissingFile, ValueError, KeyError):
            return None

    def put(self, number: int, tasks: list[ReadTask], positions: dict[str, dict[str, Any]]) -> None:
        """Record a plan before it is carried out; those that are done are removed."""
        plan = {"tasks": [task.to_json() for task in tasks], "positions": positions}
        self.folder.put(_name(number), [json.dumps(plan).encode()])
        for name in self.folder.list():
            if name < _name(number - 1):
                self.folder.remove(name)


def _name(number: int) -> str:
    return f"{number:012d}.json"
