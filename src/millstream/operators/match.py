"""Match: a pattern that is looked for in the tuples of a stream."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, take_rows
from millstream.algebra.expressions import name_text
from millstream.algebra.facts import Columns
from millstream.algebra.identity import identity_of_elements, identity_of_values
from millstream.algebra.lengths import length_text
from millstream.algebra.lifetime import Lifetime, elements
from millstream.algebra.node import Distribution, Node, Step
from millstream.algebra.state_parts import Extent, StatePart, Structure
from millstream.algebra.time import Span
from millstream.blocks.machine import Failure
from millstream.operators.failures import FAILED, told
from millstream.operators.match_rows import PartitionRows, SearchRows
from millstream.operators.measured import Measuring
from millstream.patterns.search import Search
from millstream.patterns.tallies import Measure
from millstream.state.by_key import RowByKey
from millstream.state.chunks import Log, Part, State
from millstream.state.ordered_run import OrderedRun, in_order_of_arrival, keys_of, single
from millstream.state.waiting import add_waiting, due_in

SEEN = "#seen"
"""How many rows have come: the place of the last one."""

MUCH = 4_096
"""Attempts have many words: only so many are read and written whole."""


@dataclass(frozen=True, eq=False)
class Match(Node):
    """`FROM s PARTITION BY … AS (X, *Y)`: the matches of a pattern, each when it is decided.

    Law: the tuples of a partition are taken in the order of time, then of arrival. The search looks
    for a match from the first of them on; it goes on after the last tuple of a match, and after a
    failure one tuple after the start of the failed attempt. A match is an element of the output at
    the instant of the tuple that decides it, or, if its time runs out, at the instant after that.
    State: of each partition in which an attempt is going on, where it stands and what it has
    counted; the rows that it can still need. Cost: what arrives, and the partitions it belongs to.
    """

    is_stream: ClassVar[bool] = True
    long_steps: ClassVar[bool] = True
    key: ClassVar[None] = None  # type: ignore[assignment]
    reach: ClassVar[None] = None  # type: ignore[assignment]

    partition_by: tuple[str, ...]
    search: Search
    gives: tuple[tuple[str, pa.DataType], ...]
    input: Node

    @cached_property
    def schema(self) -> pa.Schema:
        keys = [self.input_schema.field(name) for name in self.partition_by]
        return pa.schema([*keys, *(pa.field(name, kind) for name, kind in self.gives)])

    @property
    def words(self) -> str:
        columns = ", ".join(name_text(name) for name in self.partition_by)
        by = f"Partition By {columns} " if columns else ""
        given = ", ".join(name_text(name) for name, _ in self.gives)
        asked = self.search.words(lambda length: length_text(length, self.time_domain))
        return f"{by}{asked}" + (f" giving {given}" if given else "")

    def lives(self, stream: Lifetime) -> Lifetime:
        return elements("what has matched stays")

    @property
    def required_distribution(self) -> Distribution:
        return self.partition_by

    def closes(self, last: int) -> int:
        """When the time of all attempts is over, where that is reported."""
        search = self.search
        return last + search.within + 1 if search.timeouts and search.within is not None else last

    @property
    def state_parts(self) -> tuple[StatePart, ...]:  # type: ignore[override]
        parts = [
            StatePart("partitions", "attempts", Structure.GROUPS, Extent.ATTEMPTS),
            StatePart("rows", "rows of attempts", Structure.HASH, Extent.ATTEMPTED),
            StatePart("seen", "rows so far", Structure.GROUPS, Extent.ONE),
        ]
        if self.search.timeouts:
            words = "partitions whose attempt runs out of time"
            parts.append(StatePart("due", words, Structure.DUE, Extent.ATTEMPTS))
        return tuple(parts)

    def columns_needed(self, wanted: Columns) -> tuple[Columns, ...] | None:
        """Tuples without an arrival of their own come in the order of all their values."""
        if not self.input.has_arrival:
            return None
        return (frozenset((*self.partition_by, *self._rows.columns)),)

    def with_columns(self, wanted: Columns) -> Node | None:
        """Without what nobody uses of a match."""
        kept = tuple((name, kind) for name, kind in self.gives if name in wanted)
        return None if len(kept) == len(self.gives) else replace(self, gives=kept)

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        arrivals = in_order_of_arrival(single(changes))
        due = Changes.concat(self._due(state, span), self._key_schema)
        if len(arrivals) + len(due) == 0:
            return state, Changes.empty(self.schema)
        width = len(self.partition_by)
        stored = RowByKey(state.get("partitions"), self._words_schema, width, MUCH)
        known = stored.touched(keys_of(self.partition_by, arrivals, due))
        run = OrderedRun.of(known, self.partition_by, arrivals, due)
        touched = np.flatnonzero(run.touched)
        words = self._words(known, run.partitions)
        seen = _number(state.get("seen"))
        rows = self._rows.gathered(state.get("rows"), run, touched, seen)
        measure = Measuring(self.state_layout.native)
        found = self.search.find(
            rows.rows,
            rows.starts,
            rows.fresh,
            rows.position,
            rows.ts,
            words[touched],
            skips=self.state_layout.skips,
            steps=self.state_layout.steps,
            now=span.end,
            measure=measure,
        )
        before = words[touched]
        words[touched] = found.state
        after: dict[str, Part] = {
            "partitions": self._partitions(stored, known, run, words),
            "rows": self._rows.kept(state.get("rows"), rows, found.kept, span.end),
            "seen": pa.record_batch({SEEN: pa.array([seen + len(arrivals)])}),
        }
        if self.search.timeouts:
            after["due"] = self._with_due(state, rows, before, found.state, touched, run, span)
        failed = [failure for failure in found.failed if rows.is_new[failure[1].event]]
        out = self._emit(found.matches, rows, take_rows(run.keys, touched), measure, failed)
        said = told(rows.rows, rows.arrival, found.given_up, failed)
        if said.num_rows:
            after[FAILED] = said
        return after, out

    @cached_property
    def _rows(self) -> SearchRows:
        return SearchRows(
            self.input_schema, self.partition_by, *self.search.columns(n for n, _ in self.gives)
        )

    @cached_property
    def _key_schema(self) -> pa.Schema:
        return pa.schema([self.input_schema.field(name) for name in self.partition_by])

    @cached_property
    def _words_schema(self) -> pa.Schema:
        width = self.search.words_of_state
        numbers = [pa.field(f"#{i}", pa.int64()) for i in range(width)]
        return pa.schema([*self._key_schema, *numbers])

    def _words(self, known: pa.RecordBatch, partitions: int) -> np.ndarray:
        """The state of every partition, a line each; of those that are new, nothing."""
        words = self.search.empty_state(partitions)
        for i, column in enumerate(known.columns[len(self.partition_by) :]):
            words[: known.num_rows, i] = column.to_numpy()
        return words

    def _partitions(
        self, stored: RowByKey, known: pa.RecordBatch, run: OrderedRun, words: np.ndarray
    ) -> Part:
        """The partitions after the step: those in which an attempt is going on."""
        going = self.search.is_going(words)
        columns = [pa.array(np.ascontiguousarray(words[going, i])) for i in range(words.shape[1])]
        keys = take_rows(run.keys, np.flatnonzero(going)).columns
        now = pa.RecordBatch.from_arrays([*keys, *columns], schema=self._words_schema)
        gone = take_rows(known, np.flatnonzero(~going[: run.known]))
        return stored.after(gone, now, int(run.touched.sum()))

    def _emit(
        self,
        matches: Any,
        rows: PartitionRows,
        keys: pa.RecordBatch,
        measure: Measure,
        failed: list[tuple[str, Failure]],
    ) -> Changes:
        search = self.search
        mine = take_rows(keys, search.partitions_of(matches))
        given = search.results(matches, rows.rows, dict(self.gives), measure, failed)
        made = pa.RecordBatch.from_arrays([*mine.columns, *given], schema=self.schema)
        decider, ts = search.decided(matches)
        seq, by_time = rows.arrival(decider), decider < 0
        if by_time.any():
            of_time = identity_of_elements(identity_of_values(made, len(matches)), ts)
            seq = np.where(by_time, of_time, seq)
        return Changes.elements(made, ts, seq).in_time_order()

    def _due(self, state: State, span: Span) -> list[Changes]:
        """The partitions whose attempt may run out of time in the span."""
        if not self.search.timeouts:
            return []
        log = state.get("due", Log())
        assert isinstance(log, Log)
        return due_in(self.state_layout.buffer, log, span)

    def _with_due(
        self,
        state: State,
        rows: PartitionRows,
        before: np.ndarray,
        after: np.ndarray,
        touched: np.ndarray,
        run: OrderedRun,
        span: Span,
    ) -> Log:
        """What is due, with the attempts that have begun."""
        search, log = self.search, state.get("due", Log())
        assert isinstance(log, Log) and search.within is not None
        first = search.first_position(after)
        begun = search.is_going(after) & ~(
            search.is_going(before) & (first == search.first_position(before))
        )
        places = np.flatnonzero(begun)
        ts = rows.ts[rows.at(first[places])]
        keys = take_rows(run.keys, touched[places])
        none = np.zeros(len(places), np.int64)
        new = replace(Changes.elements(keys, ts, none), exp=ts + (search.within + 1))
        return add_waiting(self.state_layout.buffer, log, new, span.end)


def _number(part: Part | None) -> int:
    return part.column(0)[0].as_py() if isinstance(part, pa.RecordBatch) else 0
