"""Checking a script: every mistake in it, and every notice, without carrying it out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from millstream.algebra.changes import no_rows
from millstream.bind import is_whole
from millstream.bind.names.script_order import defined_name, names_used, script_order
from millstream.catalog import Stream
from millstream.connect.table import TableFiles
from millstream.database.contents import Contents
from millstream.database.draft import Declaration, Draft
from millstream.database.events import Noticed
from millstream.engine.job import Job
from millstream.engine.outputs import Query
from millstream.errors import MillstreamError, Notice, Place
from millstream.lang import (
    CreateStream,
    CreateTable,
    Definition,
    InsertQuery,
    Statement,
    Unread,
    deep_stack,
    parse_each,
)
from millstream.lang.statements import Named


@dataclass(frozen=True)
class Finding:
    """A mistake or a notice, and where in the script it belongs."""

    about: MillstreamError | Notice
    place: Place | None

    @property
    def is_error(self) -> bool:
        return isinstance(self.about, MillstreamError)


@dataclass(frozen=True)
class Checked:
    """What was found in a script, in the order of its text; `queries` are those that are right, and
    `skipped` counts statements that use what is wrong, and were not looked at."""

    findings: tuple[Finding, ...]
    queries: tuple[Query, ...] = ()
    skipped: int = 0

    @property
    def errors(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.is_error]


class UnopenedDraft(Draft):
    """A draft that takes sources as they are declared: they need not be there."""

    def look_into(self, stream: Stream, follow: bool) -> None: ...

    def completed(self, statement: Declaration) -> tuple[Declaration, str | None]:
        if is_whole(statement):
            return statement, None
        raise MillstreamError(
            f'the columns of "{statement.name}" are inferred from its source, which is not opened',
            hint=f"Declare them, {statement.name} (column type, …), or check with sources.",
        )

    @property
    def files(self) -> TableFiles:
        return EmptyFiles(self.base)


class EmptyFiles(TableFiles):
    """Files of tables that are taken to be empty."""

    def load(
        self, url: str, name: str, schema: pa.Schema, options: Mapping[str, str]
    ) -> pa.RecordBatch:
        return no_rows(schema)


def check_script(text: str, contents: Contents, base: str, sources: bool = True) -> Checked:
    """Look at every statement of a script: read, bind and plan it.

    Statements that use a name whose definition is wrong are skipped: their mistakes would be those
    of the definition. With `sources`, sources and tables are opened; a declaration that is wrong in
    nothing else counts as right for the statements that use it.
    """
    with deep_stack():
        try:
            statements = parse_each(text)
        except MillstreamError as error:
            return Checked((Finding(error, error.place),))
        return _Check(text, contents, base, sources).of(statements)


@dataclass
class _Check:
    text: str
    contents: Contents
    base: str
    sources: bool
    findings: list[Finding] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)
    wrong: set[str] = field(default_factory=set)
    """Names, in lower case, whose definitions are wrong."""
    skipped: int = 0

    def of(self, statements: tuple[Statement | Unread, ...]) -> Checked:
        for one in statements:
            if isinstance(one, Unread):
                self._found(one.error, None)
                self.wrong |= {one.name.lower()} if one.name else set()
        whole = tuple(one for one in statements if isinstance(one, Statement))
        try:
            order = script_order(whole, self.contents.catalog.knows)
        except MillstreamError as error:
            self._found(error, None)
            order, self.skipped = [], len(whole)
        for at in order:
            self._look_at(whole[at])
        found = sorted(self.findings, key=lambda f: -1 if f.place is None else f.place.start)
        return Checked(tuple(found), tuple(self.queries), self.skipped)

    def _look_at(self, statement: Statement) -> None:
        if self.wrong & {name.lower() for name in _names_in(statement)}:
            self.skipped += 1
            self._is_wrong(statement)
            return
        try:
            query = self._carried_out(statement, Draft if self.sources else UnopenedDraft)
        except MillstreamError as error:
            self._found(error, statement.place)
            self._recover(statement)
            return
        if query is not None:
            self._plan(query, statement)

    def _recover(self, statement: Statement) -> None:
        """Take a declaration as right if nothing but its source is wrong."""
        try:
            if not isinstance(statement, CreateStream | CreateTable) or not self.sources:
                raise MillstreamError("it is wrong by itself")
            self._carried_out(statement, UnopenedDraft)
        except MillstreamError:
            self._is_wrong(statement)

    def _carried_out(self, statement: Statement, kind: type[Draft]) -> Query | None:
        """Carry out a statement on contents of its own, which are kept if nothing is wrong."""
        draft = kind(self.contents.copy(), self.base)
        query = draft.carry_out(statement, self.text)
        self.contents = draft.contents
        told = (event.notice for event in draft.events if isinstance(event, Noticed))
        self.findings += [Finding(notice, statement.place) for notice in told]
        return query

    def _plan(self, query: Query, statement: Statement) -> None:
        self.queries = [*(q for q in self.queries if q.name != query.name), query]
        for notice in query.notices:
            if all(finding.about != notice for finding in self.findings):
                self.findings.append(Finding(notice, statement.place))
        try:
            _ = Job({}, (query,), self.contents.settings).graph
        except MillstreamError as error:
            self._found(error, statement.place)

    def _found(self, error: MillstreamError, place: Place | None) -> None:
        self.findings.append(Finding(error.at(place), error.place))

    def _is_wrong(self, statement: Statement) -> None:
        if isinstance(statement, Definition):
            self.wrong.add(defined_name(statement))


def _names_in(statement: Statement) -> Iterator[str]:
    yield from names_used(statement)
    fills = isinstance(statement, InsertQuery)
    if isinstance(statement, Definition) and getattr(statement, "query", None) is None:
        yield defined_name(statement)
    elif isinstance(statement, Named) and (fills or getattr(statement, "query", None) is None):
        yield statement.name
