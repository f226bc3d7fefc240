"""Retract: rows whose ends are known are retracted by negative rows when these ends come."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, forever
from millstream.algebra.lifetime import Ends, Lifetime, ends_of
from millstream.algebra.node import Node, Step
from millstream.algebra.pattern import Label
from millstream.algebra.state_parts import Extent, StatePart, Structure, ending
from millstream.algebra.time import INFINITY, Span
from millstream.state.chunks import Log, State
from millstream.state.events import cancelled
from millstream.state.waiting import add_waiting, due_in

OPEN = "open "
"""The prefix of the names of states that hold rows emitted open."""


ALWAYS, MEASURED, DRAINS = "", "what leaves early", "what was left open"
OFTEN = 0.5
"""Rows are emitted open when more than this share of them is retracted before its end, …"""

MANY = 4
"""… and at least so many operators above would have to wait for the ends of the others."""

MEMORY = 0.9
"""The share of the counts that is carried over from step to step."""


@dataclass(frozen=True, eq=False)
class Retract(Node):
    """The same rows, which stay until they are retracted, whatever end was known for them.

    Law: at every instant the output is the input; only what is known of the ends differs.
    ALWAYS emits every row open. MEASURED does so while most rows are retracted before their end, as
    can happen above a negation, and many operators wait for the ends: then it is cheaper when one
    waits for all. DRAINS leaves the ends of new rows as they are, and only retracts rows that were
    emitted open before the strategy was changed.
    State: the rows that were emitted open. Cost: the batch and what falls due.
    """

    follows_content: ClassVar[bool] = True

    follows_reader: ClassVar[bool] = True

    when: str
    input: Node

    @property
    def state_parts(self) -> tuple[StatePart, ...]:  # type: ignore[override]
        seen = StatePart("seen", "how many rows came, and left early", Structure.LIST, Extent.ONE)
        return (ending(of="rows that were emitted open"), *([seen] if self.counts else []))

    @property
    def counts(self) -> bool:
        """Whether it counts rows that leave early: where enough operators wait above."""
        return self.when == MEASURED and self.state_layout.readers >= MANY

    @property
    def words(self) -> str:
        return self.when

    @property
    def meaning(self) -> str:  # type: ignore[override]
        return self.input.meaning

    @property
    def state_name(self) -> str:
        return f"{OPEN}{self.input.meaning}"

    def lives(self, given: Lifetime) -> Lifetime:
        return replace(
            given,
            label=Label(given.pattern, "every end is emitted as a negative row"),
            retracts=not given.monotonic,
            ends=Ends.OPEN if self.when == ALWAYS else ends_of(given),
        )

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        buffer, log = self.state_layout.buffer, state.get("due", Log())
        counts, opens = self._opens(state, changes)
        if not opens and not log.chunks:
            return {"due": log, **counts}, changes
        ends = cancelled(Changes.concat(due_in(buffer, log, span), self.schema))
        gone = replace(ends, ts=ends.exp, exp=forever(len(ends)), weight=-ends.weight)
        if not opens:
            kept = log.after(span.end)
            return {"due": kept, **counts}, Changes.concat([changes, gone], self.schema)
        ahead = (changes.exp > span.end) & (changes.exp != INFINITY)
        opened = replace(changes, exp=changes.exp.copy())
        opened.exp[ahead] = INFINITY
        kept = add_waiting(buffer, log, changes.keep(ahead), span.end)
        return {"due": kept, **counts}, Changes.concat([opened, gone], self.schema)

    def _opens(self, state: State, changes: Changes) -> tuple[dict[str, pa.RecordBatch], bool]:
        """The counts after the changes, and whether new rows are emitted open because of them."""
        if not self.counts:
            return {}, self.when == ALWAYS
        saved: pa.RecordBatch | None = state.get("seen")
        before = [0.0, 0.0] if saved is None else [column[0].as_py() for column in saved.columns]
        back = int(np.count_nonzero(changes.weight < 0))
        came, early = (MEMORY * b + n for b, n in zip(before, (len(changes) - back, back)))
        seen = pa.RecordBatch.from_pydict({"came": [came], "early": [early]})
        return {"seen": seen}, early > OFTEN * came
