"""Where the last finished batch has left a job."""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.engine.beginning import Past
from millstream.engine.checkpoint import Commit
from millstream.engine.clock import Clock
from millstream.engine.hot_keys import HotKeys
from millstream.engine.measures import Measures
from millstream.engine.trail import Trail, trail_from_json


@dataclass(frozen=True)
class Finished:
    """Where the last finished batch has left a job: its number, its levels, the clock after it."""

    number: int = -1
    levels: int = 0
    clock: Clock = field(default_factory=Clock.start)
    hot: HotKeys = field(default_factory=HotKeys)
    measures: Measures = field(default_factory=Measures)
    trail: Trail = field(default_factory=dict)

    @property
    def past(self) -> Past:
        """What is known of the rows that were read so far."""
        return Past(self.clock, self.trail)

    @staticmethod
    def of(commit: Commit | None) -> Finished:
        """Where a run goes on: no source has ended for it."""
        if commit is None:
            return Finished()
        clock, hot = commit.clock.without_ends(), HotKeys.from_json(commit.hot)
        measures = Measures.from_json(commit.measures)
        trail = trail_from_json(commit.trail)
        return Finished(commit.batch, commit.levels, clock, hot, measures, trail)

    def left(self, levels: int) -> tuple[int, ...]:
        """Which batch left the state of every level; −1 for those that are new."""
        return tuple(self.number if level < self.levels else -1 for level in range(levels))
