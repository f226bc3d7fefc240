"""Queries that are read once: bound over what views and tables hold at an instant, and answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields

import pyarrow as pa

from millstream.algebra.changes import no_rows
from millstream.algebra.expressions import Expression, Literal
from millstream.algebra.node import Node, Wanted, walk
from millstream.algebra.time import Domain
from millstream.algebra.types import STRING
from millstream.bind import bind_query
from millstream.catalog import Catalog, Entry, View
from millstream.database.contents import Contents
from millstream.database.held import Held, Instant, at_one_instant, held_under, no_content
from millstream.database.instant_read import looked_at
from millstream.engine.answering import answered
from millstream.engine.snapshot import Moved, Snapshot
from millstream.errors import MillstreamError
from millstream.lang import QueryStatement, parse_script, place_of
from millstream.operators import Scan, StaticTable, TableScan

TRIES = 5
"""So often a read begins anew when the job has gone on by some batches meanwhile."""

SOURCE = "#read"
"""The stream below all that is read: nothing comes from it."""


def read(
    text: str,
    contents: Contents,
    snapshot: Callable[[], Snapshot | None],
    as_of: Instant | None = None,
) -> pa.Table:
    """The answer of a query over what views and tables hold now, or held at an instant."""
    for last in (False,) * TRIES + (True,):
        try:
            return Reading(contents, snapshot(), as_of).answer(text)
        except Moved as moved:
            if last:
                raise moved.__cause__ or moved from None
    raise AssertionError("the last try answers or raises")


@dataclass
class Reading:
    """One query over what there is; `as_of` is for the names that have no AS OF of their own."""

    contents: Contents
    snapshot: Snapshot | None
    as_of: Instant | None = None
    leaves: dict[str, Held] = field(default_factory=dict)
    """What was found under the names in FROM, by the digests of their leaves."""

    def answer(self, text: str) -> pa.Table:
        statement = _only_query(text)
        bound = bind_query(statement.query, Readable.of(self), text)
        _check_form(bound.plan, bound.form, statement, text)
        used = {n.table.digest for n in walk(bound.plan) if isinstance(n, TableScan)}
        held = at_one_instant({digest: self.leaves[digest] for digest in used})

        def rows(leaf: TableScan, wanted: Wanted) -> pa.RecordBatch:
            return held[leaf.table.digest].rows(wanted).select(leaf.schema.names)

        plan = looked_at(bound.plan, held.values())
        return pa.Table.from_batches([answered(plan, rows, self.contents.settings)])

    def clock(self, plan: Node) -> Domain | None:
        """What the time of a plan counts: that of the first result it reads."""
        used = (n.table.digest for n in walk(plan) if isinstance(n, TableScan))
        held = [self.leaves[digest] for digest in used if digest in self.leaves]
        return next((h.domain for h in held if h.at is not None or h.beat is not None), None)

    def past(self, name: str, given: Expression) -> Entry:
        """What a name held at the instant that its AS OF says."""
        if not isinstance(given, Literal) or given.value is None:
            raise MillstreamError(
                "AS OF needs a constant", hint="Write for example AS OF '2024-05-01 10:00:00'."
            )
        return self.found(name, given.value)

    def found(self, name: str, at: Instant | None = None) -> Entry:
        """What a name holds, as a relation whose rows are read when they are asked for."""
        at = self.as_of if at is None else at
        digest = f"{name.lower()} at {at!r}"
        if digest not in self.leaves:
            self.leaves[digest] = held_under(name, self.contents, self.snapshot, at)
        held = self.leaves[digest]
        scan = Scan(SOURCE, (("op", STRING),), Domain.INTEGER, digest)
        table = StaticTable(held.name, digest, no_rows(held.schema))
        return View(held.name, TableScan(table, held.key or (), scan), name)


@dataclass
class Readable(Catalog):
    """A catalog in which names mean what they hold; those of WITH mean their queries."""

    named: Mapping[str, Entry] = field(default_factory=dict)
    """What names mean to queries that are kept up to date."""
    reading: Reading | None = None

    @staticmethod
    def of(reading: Reading) -> Readable:
        catalog = reading.contents.catalog
        own = {f.name: getattr(catalog, f.name) for f in fields(Catalog)}
        copy = {**own, "entries": dict(catalog.entries)}
        copy |= {"past": reading.past, "clock": reading.clock}
        return Readable(**copy, named=catalog.entries, reading=reading)

    def find(self, name: str) -> Entry:
        entry = self.entries.get(name.lower())
        if entry is not None and entry is not self.named.get(name.lower()):
            return entry
        assert self.reading is not None
        return self.reading.found(name)


def _only_query(text: str) -> QueryStatement:
    statements = parse_script(text)
    if len(statements) == 1 and isinstance(statements[0], QueryStatement):
        return statements[0]
    count = len(statements) or "none"
    said = "is no query" if len(statements) == 1 else f"has {count} statements"
    raise MillstreamError(
        f"one query is read at a time, and the text {said}",
        statements[0].place if statements else None,
        hint="Write for example SELECT * FROM and the name of a view.",
    )


def _check_form(plan: Node, form: str | None, statement: QueryStatement, text: str) -> None:
    """A query that is read gives rows that are there: no changes, and no stream."""
    place = place_of(statement.query, text)
    if form == "streamed":
        raise MillstreamError(
            "a query that is read once has no changes to be STREAMED",
            place,
            hint="Leave out STREAMED, or register the query and subscribe to it.",
        )
    if plan.is_stream:
        raise MillstreamError(
            "a query that is read once gives rows that are there, and this one gives a stream",
            place,
            hint="Leave out Istream, Dstream or Rstream, or register the query.",
        )
    read = [n for n in walk(plan) if isinstance(n, Scan) and n.stream != SOURCE]
    for scan in read:
        raise no_content(f'stream "{scan.stream}"').at(place)
