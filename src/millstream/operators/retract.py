"""Retract: ends that are known are told when they come, by negative rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from millstream.algebra.changes import Changes, forever
from millstream.algebra.kept import Kept, ending
from millstream.algebra.node import Node, Step
from millstream.algebra.pattern import Label
from millstream.algebra.state import Log, State
from millstream.algebra.time import INFINITY, Span
from millstream.operators.events import cancelled

OPEN = "open "
"""How names of state begin that hold rows which were given out open."""


@dataclass(frozen=True, eq=False)
class Retract(Node):
    """The same relation, whose rows stay until a negative row takes them back.

    Law: at every instant the output is the input; only what is known of the ends differs.
    One that `drains` leaves the ends of new rows as they are, and only takes back the rows that it
    gave out open before the strategy was changed.
    State: the rows whose expiration lies ahead. Cost: the batch and what falls due.
    """

    follows_reader: ClassVar[bool] = True
    only_adds: ClassVar[bool] = False  # type: ignore[assignment]
    keeps: ClassVar[tuple[Kept, ...]] = (ending(),)

    drains: bool
    input: Node

    @property
    def words(self) -> str:
        return "what was left open" if self.drains else ""

    @property
    def meaning(self) -> str:  # type: ignore[override]
        return self.input.meaning

    @property
    def state_name(self) -> str:
        return f"{OPEN}{self.input.meaning}"

    @property
    def label(self) -> Label:
        return Label(self.input.pattern, "every end is told by a negative row")

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        buffer, log = self.manner.buffer, state.get("due", Log())
        ends = cancelled(Changes.concat(buffer.due(log, span), self.schema))
        gone = replace(ends, ts=ends.exp, exp=forever(len(ends)), weight=-ends.weight)
        if self.drains:
            return {"due": log.after(span.end)}, Changes.concat([changes, gone], self.schema)
        ahead = (changes.exp > span.end) & (changes.exp != INFINITY)
        opened = replace(changes, exp=changes.exp.copy())
        opened.exp[ahead] = INFINITY
        kept = buffer.add(log, changes.keep(ahead), span.end)
        return {"due": kept}, Changes.concat([opened, gone], self.schema)
