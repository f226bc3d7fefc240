"""What names hold: the rows of stored results and tables, now or at an instant that was."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from millstream.algebra.changes import those
from millstream.algebra.evaluate import cast
from millstream.algebra.node import NOTHING, Wanted
from millstream.algebra.time import Domain, spell_instant
from millstream.algebra.types import INTEGER, TIMESTAMP
from millstream.catalog import Entry, Stream, Table, TaggedStream, View
from millstream.database.contents import Contents
from millstream.engine.outputs import COMPLETE, STREAM, Query
from millstream.engine.snapshot import Snapshot
from millstream.errors import MillstreamError
from millstream.settings import OFF

Instant = int | str | dt.datetime
"""An instant as people give it: a number, or a date and time."""


@dataclass(frozen=True)
class Held:
    """What a name holds at `at`; None is the last instant whose answers are final."""

    name: str
    schema: pa.Schema
    key: tuple[str, ...] | None
    domain: Domain
    at: int | None

    @property
    def beat(self) -> int | None:
        """The last instant whose answers are final; None for what never changes."""
        return None

    def rows(self, wanted: Wanted = NOTHING) -> pa.RecordBatch:
        """The rows; those that are not wanted may be left out."""
        raise NotImplementedError


@dataclass(frozen=True)
class HeldResult(Held):
    """A stored result."""

    snapshot: Snapshot

    @property
    def beat(self) -> int:
        return self.snapshot.instant(self.name)

    def rows(self, wanted: Wanted = NOTHING) -> pa.RecordBatch:
        return self.snapshot.content(self.name, wanted, self.at)


@dataclass(frozen=True)
class HeldTable(Held):
    """A table that never changes, or that statements change."""

    contents: Contents
    table: Table
    snapshot: Snapshot | None

    @property
    def beat(self) -> int | None:
        if self.table.is_static or self.snapshot is None:
            return None
        return self.snapshot.last.clock.beats.get(self.table.name)

    def rows(self, wanted: Wanted = NOTHING) -> pa.RecordBatch:
        at = self.beat if self.at is None else self.at
        if self.table.is_static or at is None:
            return those(self.table.content.rows, wanted)
        return those(self.contents.tables.as_of(self.table, at), wanted)


def held_under(
    name: str, contents: Contents, snapshot: Snapshot | None, at: Instant | None
) -> Held:
    """What a name holds; an error says why nothing of it can be read."""
    there = contents.catalog.entries.get(name.lower())
    if isinstance(there, Table):
        return _held_table(there, contents, snapshot, at)
    if isinstance(there, TaggedStream) and there.keys is not None:
        raise MillstreamError(
            f'stream "{there.name}" keeps its rows for the queries that read it, and is no result',
            hint=f"Register one: CREATE VIEW latest AS SELECT COMPLETE * FROM R({there.name}).",
        )
    query = contents.queries.find(name)
    if query is None or isinstance(there, Stream):
        raise (
            contents.catalog.missing("view or table", name)
            if there is None
            else no_content(f'stream "{there.name}"')
        )
    what = _what(query, there)
    if query.form == STREAM:
        raise no_content(what)
    if query.form != COMPLETE:
        raise MillstreamError(
            f"{what} is STREAMED: its changes are emitted, and its content is not kept",
            hint="Write SELECT COMPLETE in it, or SELECT * FROM it in a view of its own.",
        )
    if snapshot is None or not snapshot.holds(query):
        raise MillstreamError(
            f"{what} has no content yet",
            detail="A result has its content from the end of its first batch on.",
            hint="Run the job first: db.run(), db.start() or millstream run --checkpoint.",
        )
    domain, schema, key = query.domain, query.plan.schema, query.plan.key
    held = HeldResult(query.name, schema, key, domain, None, snapshot)
    if at is None:
        return held
    instant = instant_of(at, domain, what)
    check_past(held, instant, what)
    return replace(held, at=instant)


def _held_table(
    table: Table, contents: Contents, snapshot: Snapshot | None, at: Instant | None
) -> HeldTable:
    what = f'table "{table.name}"'
    if table.changes is not None and not contents.tables.has_book(table):
        raise MillstreamError(
            f"{what} is changed by its SOURCE, and only results keep its rows",
            hint=f"Register a result: CREATE VIEW now AS SELECT COMPLETE * FROM {table.name}.",
        )
    domain = Domain.INTEGER if table.changes is None else table.changes.domain
    schema, key = pa.schema(list(table.columns)), table.key or None
    held = HeldTable(table.name, schema, key, domain, None, contents, table, snapshot)
    if at is None or table.changes is None:
        return held
    return replace(held, at=instant_of(at, domain, what))


def no_content(what: str) -> MillstreamError:
    """What to say of a stream: rows come and go by."""
    return MillstreamError(
        f"{what} has no content: its rows come and go by",
        hint="Read a view of it, for example CREATE VIEW latest AS SELECT COMPLETE … "
        "FROM it [Rows 100].",
    )


def _what(query: Query, there: Entry | None) -> str:
    made_as = there.made_as if isinstance(there, View) else "query"
    return f'{made_as} "{query.name}"'


def instant_of(given: Instant, domain: Domain, what: str) -> int:
    """An instant in the units of a domain.

    >>> instant_of("2024-05-01 10:00:20", Domain.TIMESTAMP, "")
    1714557620000000
    """
    if domain is not Domain.TIMESTAMP:
        if isinstance(given, int) and not isinstance(given, bool):
            return given
        raise MillstreamError(
            f"AS OF {_spelled(given)} is no number, and {what} counts {domain.words}",
            hint="Write a number, for example AS OF 100.",
        )
    found = None
    if isinstance(given, str):
        found = cast(pa.array([given]), TIMESTAMP)[0]
    elif isinstance(given, dt.datetime):
        moment = given if given.tzinfo is None else given.astimezone(dt.UTC).replace(tzinfo=None)
        found = pa.scalar(moment, TIMESTAMP)
    if found is None or not found.is_valid:
        raise MillstreamError(
            f"AS OF {_spelled(given)} is no timestamp, and {what} counts {domain.words}",
            hint="Write for example AS OF '2024-05-01 10:00:00'.",
        )
    return int(found.cast(INTEGER).as_py())


def _spelled(given: Instant) -> str:
    return f"'{given}'" if isinstance(given, str) else str(given)


def check_past(held: HeldResult, instant: int, what: str) -> None:
    """An error if the content at an instant cannot be told."""
    now = held.beat
    if instant > now:
        raise MillstreamError(
            f"AS OF {spell_instant(instant, held.domain)} lies ahead: {what} stands at "
            f"{spell_instant(now, held.domain)}",
            hint="Leave AS OF out to read what is there now.",
        )
    kept = held.snapshot.kept_since(held.name)
    if instant < kept:
        raise MillstreamError(
            f"AS OF {spell_instant(instant, held.domain)} lies before what is kept of {what}: that "
            f"begins at {spell_instant(kept, held.domain)}",
            detail=_horizon(held),
            hint=f"SET history = {_example(held.domain)} keeps more, from then on.",
        )


def _example(domain: Domain) -> str:
    return "'1 hour'" if domain is Domain.TIMESTAMP else "1000"


def _horizon(held: HeldResult) -> str:
    """How far back results are kept."""
    settings = held.snapshot.job.settings
    if settings.kept(held.domain):
        return f"history = {settings.history}."
    if settings.history == OFF:
        return "history = off: only the last instant is kept."
    return f"history = {settings.history}, and this result counts {held.domain.words}."


def at_one_instant(leaves: Mapping[str, Held]) -> dict[str, Held]:
    """The same, all at one instant where they count the same time: the least that each has come
    to."""
    out = dict(leaves)
    for domain in Domain:
        free = {d: h for d, h in out.items() if h.domain is domain and h.at is None}
        beats = {beat for h in free.values() if (beat := h.beat) is not None}
        if len(beats) < 2:
            continue
        instant = min(beats)
        for digest, held in free.items():
            if isinstance(held, HeldResult):
                _check_meets(held, instant)
            out[digest] = replace(held, at=instant)
    return out


def _check_meets(held: HeldResult, instant: int) -> None:
    if instant < held.snapshot.kept_since(held.name):
        raise MillstreamError(
            f'result "{held.name}" stands at {spell_instant(held.beat, held.domain)}, and another '
            f"that is read with it at {spell_instant(instant, held.domain)}",
            detail="Their streams never meet in a query, so each has a time of its own.",
            hint="Read them one by one, register the query, or SET history to keep what was.",
        )
