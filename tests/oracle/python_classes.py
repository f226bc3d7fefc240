"""Aggregates as classes in Python: those of `own_calls`, and more. The file is copied beside the
scripts that name its classes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from millstream import Table


class Total:
    total: int

    def initialize(self, x: int) -> None:
        self.total = x

    def iterate(self, x: int) -> None:
        self.total += x

    def terminate(self) -> int:
        return self.total

    def expire(self, x: int) -> int:
        self.total -= x
        return self.total


class Bounds(NamedTuple):
    lo: int
    hi: int


class Ends:
    seen: list[int]

    def iterate(self, x: int) -> None:
        self.seen.append(x)

    def terminate(self) -> Bounds:
        return Bounds(min(self.seen), max(self.seen))


class Highest:
    def iterate(self, x: int) -> int:
        self.inwindow.delete(lambda row: row.x < x)
        return self.oldest().x


class Rises:
    before: int | None

    def iterate(self, x: int) -> list[tuple[int, int]]:
        found = []
        if self.before is not None:
            found += [(self.before, x)] if self.before < x else []
            found += [(self.before, 2 * x)] if self.before + 2 < x else []
        self.before = x
        return found


class Kinds:
    seen: dict[int, int]

    def iterate(self, x: int) -> int:
        self.seen[x] = self.seen.get(x, 0) + 1
        return len(self.seen)


class Largest:
    """The two largest values of the window, by counts that expire."""

    seen: Table = Table(value=int, times=int)

    def iterate(self, x: int) -> list[int]:
        if not self.seen.update({"times": self._times(x) + 1}, value=x):
            self.seen.insert(x, 1)
        return self._two()

    def expire(self, x: int) -> list[int]:
        if self._times(x) == 1:
            self.seen.delete(value=x)
        else:
            self.seen.update({"times": self._times(x) - 1}, value=x)
        return self._two()

    def _times(self, x: int) -> int:
        return sum(row.times for row in self.seen.find(value=x))

    def _two(self) -> list[int]:
        every = [row.value for row in self.seen for _ in range(row.times)]
        return sorted(every, reverse=True)[:2]


@dataclass
class Spell:
    """How many values in a row were at least five, as text, with times of day for show."""

    words: str = ""
    began: datetime = datetime(2024, 5, 1)
    every: timedelta = timedelta(seconds=90)
    on: bool = False

    def iterate(self, x: int) -> str:
        self.on = x >= 5
        self.words = self.words + "x" if self.on else ""
        return f"{self.words}{(self.began + len(self.words) * self.every):%M:%S}{self.on}"
