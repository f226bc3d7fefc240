"""The summary of a run: rows read, late and bad of every stream, rows emitted by every query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from millstream.engine.clock import Header
from millstream.engine.messages import ERRORS, Message, Refused, TimeTold

MOST_REASONS = 3
"""Reasons of bad rows that people are shown, the most frequent first."""

MOST_KINDS = 200
"""Reasons that are counted apart; bad rows of more kinds than that are counted together."""

OTHERS = "other reasons"
ROW_SHOWN = 60
"""Characters of a bad row that are shown."""

_GENERAL = (
    (r'(?s)^(?:.*?: )?column "([^"]*)": ".*" (.*?)$', r'column "\1" \2'),
    (r'(?s)^(?:.*?: )?column "([^"]*)": .* (is not an? .*?)$', r'column "\1" \2'),
    (r"(?s)^(?:.*?: )?(the row is not (?:UTF-8|JSON)).*$", r"\1"),
    (r"(?s)^(?:.*?: )?the row has [0-9,]+ (cells|bytes)", r"the row has … \1"),
)
"""What of a reason is about the one row is left out, and so is the partition it was read from."""


@dataclass(frozen=True)
class Reason:
    """How many rows were bad for one reason, and the first of them: its number and its text."""

    rows: int
    seq: int
    row: str


@dataclass(frozen=True)
class StreamSummary:
    """The rows of a stream that were read; late and bad ones are among them."""

    rows: int = 0
    late: int = 0
    bad: int = 0
    reasons: Mapping[str, Reason] = field(default_factory=dict)
    """Why rows were bad, by column and kind: not by the value."""

    def after(self, headers: Iterable[Header], errors: Iterable[pa.RecordBatch]) -> StreamSummary:
        """The summary with what one batch has read."""
        told = list(headers)
        reasons = dict(self.reasons)
        for batch in errors:
            _count(reasons, batch)
        return StreamSummary(
            self.rows + sum(h.rows + h.unreadable for h in told),
            self.late + sum(h.late for h in told),
            self.bad + sum(h.bad for h in told),
            reasons,
        )

    @property
    def most_frequent(self) -> list[tuple[str, Reason]]:
        """The reasons for which most rows were bad."""
        ranked = sorted(self.reasons.items(), key=lambda kind: (-kind[1].rows, kind[1].seq))
        return ranked[:MOST_REASONS]

    def lines(self, name: str) -> list[str]:
        """The summary of the stream of this name as people read it."""
        refused = [f"{n:,} {word}" for n, word in ((self.late, "late"), (self.bad, "bad")) if n]
        lines = [", ".join([f'stream "{name}": {rows_said(self.rows)} read', *refused])]
        for kind, reason in self.most_frequent:
            row = " ".join(reason.row.split())
            row = row if len(row) <= ROW_SHOWN else row[:ROW_SHOWN] + "…"
            lines.append(f"  {reason.rows:,} bad: {kind} (first: row {reason.seq:,}, {row})")
        left = self.bad - sum(reason.rows for _, reason in self.most_frequent)
        return [*lines, f"  {left:,} bad for other reasons"] if left > 0 else lines


@dataclass(frozen=True)
class QuerySummary:
    """The rows that a query has emitted, and those that its stored result holds at the end."""

    emitted: int = 0
    held: int | None = None

    def line(self, name: str) -> str:
        """The summary of the query of this name as people read it."""
        if self.held is None:
            return f'query "{name}": {rows_said(self.emitted)} emitted'
        changes = f", {self.emitted:,} changes emitted" if self.emitted else ""
        return f'query "{name}": {rows_said(self.held)} at the end{changes}'


@dataclass(frozen=True)
class Summary:
    """What a run has read and emitted so far; what an earlier run on a checkpoint did is not in it.

    Law: it does not depend on how the input was cut into batches.
    """

    streams: Mapping[str, StreamSummary] = field(default_factory=dict)
    queries: Mapping[str, QuerySummary] = field(default_factory=dict)

    def beginning(self, declared: Iterable[str], queries: Iterable[str]) -> Summary:
        """The summary with all streams and queries, also those of which nothing is known yet."""
        streams = {name: StreamSummary() for name in declared} | dict(self.streams)
        known = {name: QuerySummary() for name in queries} | dict(self.queries)
        return Summary(streams, known)

    def with_messages(self, declared: Iterable[str], messages: Iterable[Message]) -> Summary:
        """The summary with the rows that a batch has read of the streams that are declared."""
        headers: dict[str, list[Header]] = {}
        errors: dict[str, list[pa.RecordBatch]] = {}
        for message in messages:
            match message:
                case TimeTold(header=header):
                    headers.setdefault(header.source, []).append(header)
                case Refused(stream=name, kind=kind, rows=rows) if kind == ERRORS:
                    errors.setdefault(name, []).append(rows)
        streams = dict(self.streams)
        for name in declared:
            known = streams.get(name, StreamSummary())
            streams[name] = known.after(headers.get(name, ()), errors.get(name, ()))
        return replace(self, streams=streams)

    def emitted(self, query: str, rows: int) -> Summary:
        """The summary after a query has emitted rows, or none."""
        known = self.queries.get(query, QuerySummary())
        more = replace(known, emitted=known.emitted + rows)
        return replace(self, queries={**self.queries, query: more})

    def holding(self, query: str, rows: int) -> Summary:
        """The summary when a stored result was seen to hold so many rows."""
        known = self.queries.get(query, QuerySummary())
        return replace(self, queries={**self.queries, query: replace(known, held=rows)})

    def lines(self) -> list[str]:
        """The summary as people read it."""
        return [
            *(line for name, stream in self.streams.items() for line in stream.lines(name)),
            *(query.line(name) for name, query in self.queries.items()),
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def kinds_of(reasons: pa.Array) -> pa.Array:
    """Reasons without what they say of one row alone: its value, its length, its partition.

    >>> kinds_of(pa.array(['column "price": "cheap" is not a double'])).to_pylist()
    ['column "price" is not a double']
    """
    for pattern, kind in _GENERAL:
        reasons = pc.replace_substring_regex(reasons, pattern, kind)
    return reasons


def _count(reasons: dict[str, Reason], errors: pa.RecordBatch) -> None:
    kinds = kinds_of(errors.column("reason"))
    for counted in pc.value_counts(kinds).to_pylist():
        kind, rows = counted["values"], counted["counts"]
        first = pc.index(kinds, pa.scalar(kind, kinds.type)).as_py()
        seq, row = errors.column("seq")[first].as_py(), errors.column("row")[first].as_py()
        kind = kind if kind in reasons or len(reasons) < MOST_KINDS else OTHERS
        known = reasons.get(kind, Reason(0, seq, row))
        first_one = known if known.seq <= seq else Reason(0, seq, row)
        reasons[kind] = replace(first_one, rows=known.rows + rows)


def rows_said(count: int) -> str:
    """So many rows, in words."""
    return f"{count:,} row{'' if count == 1 else 's'}"
