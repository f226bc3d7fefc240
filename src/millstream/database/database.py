"""A database: scripts in, a job out; one state at a time, whichever threads call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TypeVar

from millstream.algebra.node import Node
from millstream.catalog import Catalog, Stream, Table
from millstream.connect.opening import open_stream
from millstream.connect.source import Source
from millstream.database.checking import Checked, check_script
from millstream.database.contents import Contents
from millstream.database.describing import described
from millstream.database.draft import Draft
from millstream.database.dropping import drop_named
from millstream.database.events import Events, Failure, RunEnded, RunStarted
from millstream.database.explaining import Explainer, found_query
from millstream.database.jobs import empty_streams, job_of, sources_of, streams_of
from millstream.database.log import log_event
from millstream.database.metrics import Meter, Metrics
from millstream.database.registry import KnownNames, Life
from millstream.database.routines import HandedOver, put_anew
from millstream.database.run import Delivery, Host, Run
from millstream.engine.checkpoint import Checkpoint
from millstream.engine.holdings import Held
from millstream.engine.job import Job
from millstream.engine.live_tables import LiveTables, feed
from millstream.engine.outputs import COMPLETE, Query
from millstream.engine.summary import Summary
from millstream.errors import MillstreamError, Notice
from millstream.files import open_folder
from millstream.lang import deep_stack
from millstream.settings import Settings

AnyHost = TypeVar("AnyHost", bound=Host)
Done = TypeVar("Done")


class Database:
    """The names, queries and settings that statements have made, and the run of their job.

    `base` is the folder that SOURCE paths are relative to; `tell` gets the text that SHOW, DESCRIBE
    and EXPLAIN print; `held` gives what operators hold, if a job runs or has run. With `follow`,
    streams may be declared over folders in which there is nothing yet; `checkpoint` is that of the
    run to come: columns that were inferred when it began are not inferred again.

    Law: a script is carried out as a whole or not at all, and scripts of several threads one after
    the other: `contents` is at any time what some of them have left, in some order. Calls that
    change anything wait for each other; those that only read never wait.
    """

    def __init__(
        self,
        base: str = ".",
        tell: Callable[[str], None] = print,
        held: Callable[[], Held | None] = lambda: None,
        contents: Contents | None = None,
        follow: bool = False,
        checkpoint: str | None = None,
    ) -> None:
        self.base, self.tell, self.held = base, tell, held
        self._follow, self._checkpoint = follow, checkpoint
        self.events = Events()
        self.contents = contents or Contents()
        self._lock = threading.Lock()
        self._wanted: frozenset[str] = frozenset()
        self._live: LiveTables | None = None
        self._scratch: TemporaryDirectory | None = None
        self._run: Run | None = None
        self.checkpoint: Checkpoint | None = None
        """That of the run that is made or under way, which has locked it."""
        self._life = Life.REGISTERED
        self._summary = Summary()
        self.delivery = Delivery()
        self._meter = Meter(self.events)
        self.events.subscribe(log_event)

    def copy(self) -> Database:
        """Another database with the same contents, for statements that this one is not to have."""
        contents = self.contents.copy()
        return Database(self.base, self.tell, self.held, contents, self._follow, self._checkpoint)

    @property
    def catalog(self) -> Catalog:
        return self.contents.catalog

    @property
    def queries(self) -> dict[str, Query]:
        """The registered queries by name, in the order of their scripts."""
        return {query.name: query for query in self.contents.queries}

    @property
    def settings(self) -> Settings:
        return self.contents.settings

    @property
    def summary(self) -> Summary:
        """What the run has read and emitted so far, or the last one if none is under way."""
        run = self._run
        return self._summary if run is None else run.host.summary

    def metrics(self, query: Query | None = None) -> Metrics:
        """Batches, seconds and lag of the run so far, or of the last one; of one query, or all."""
        meter = self._meter
        return meter.metrics() if query is None else meter.of_query(query, self.summary)

    @property
    def streams(self) -> dict[str, Stream]:
        """The declared streams, and the modifications of tables that change."""
        return streams_of(self.contents)

    def execute(self, text: str, tell: Callable[[str], None] | None = None) -> list[Query]:
        """Carry out a script, all of it or nothing; gives the queries it registered.

        Text that its statements print goes to `tell`, also if a later one fails.
        """
        return self._carry_out(lambda draft: draft.execute(text), tell)

    def check(self, text: str, sources: bool = True) -> Checked:
        """Every mistake of a script and every notice, as if it were carried out here; nothing is.

        Without `sources`, files and databases are not opened, and need not be there.
        """
        return check_script(text, self.contents.copy(), self.base, sources)

    def query(self, text: str, name: str | None = None) -> Query:
        """Register one query and give it back; a text of none or several changes nothing."""
        if name is not None:
            quoted = name.replace('"', '""')
            text = f'CREATE VIEW "{quoted}" AS {text}'

        def only_one(draft: Draft) -> Query:
            registered = draft.execute(text)
            if len(registered) != 1:
                raise MillstreamError(
                    f"one query is expected here, and the text has {len(registered) or 'none'}",
                    hint="Give scripts to execute.",
                )
            return registered[0]

        return self._carry_out(only_one)

    def drop(self, name: str) -> None:
        """Drop a query, view, stream or table by its name alone."""
        self._carry_out(lambda draft: draft.events.extend(drop_named(name, draft.contents)))

    def add_stream(self, stream: Stream) -> None:
        """Declare a stream. Its source is opened here, so that a fault in it is raised here."""
        self._carry_out(lambda draft: draft.add_stream(stream))

    def add_table(self, table: Table) -> None:
        """Declare a table."""
        self._carry_out(lambda draft: draft.add_table(table))

    def add_python(self, given: HandedOver) -> None:
        """Let a name mean a class in Python, whatever it has meant."""
        self._carry_out(lambda draft: draft.events.extend(put_anew(given, draft.replacing)))

    def pin(self, name: str, value: str) -> None:
        """A setting from outside the script, which the script does not change."""

        def pinned(draft: Draft) -> None:
            contents = draft.contents
            contents.pinned -= {name.lower()}
            draft.set(name, value)
            contents.pinned |= {name.lower()}

        self._carry_out(pinned)

    def recall(self, checkpoint: str) -> None:
        """Give bare queries the names by which a checkpoint knows them. To be called before they
        are registered."""
        commit = Checkpoint.at(checkpoint).last()
        with self._lock:
            contents = self.contents.copy()
            contents.queries.known = KnownNames.on(commit)
            self.contents = contents

    def want_changes(self, name: str) -> None:
        """Somebody wants to see the changes of a stored result, from the next batch on."""
        self.delivery.check()
        with self._lock:
            query, before = self.contents.queries.find(name), self._wanted
            self._wanted |= {name}
            if self._run is None or query is None or query.form != COMPLETE or name in before:
                return
            try:
                self._run.change(self._job(self.contents))
            except BaseException:
                self._wanted = before
                raise

    def life_of(self, query: Query) -> Life:
        """Where a query is in its life."""
        return self._life if self.as_now(query) is not None else Life.DROPPED

    def as_now(self, query: Query) -> Query | None:
        """A query as it is registered now; None if it was dropped.

        It has another plan when what it reads was replaced, and another text when it was replaced
        by one that computes the same.
        """
        there = self.contents.queries.find(query.name)
        stays = there is not None and (there.text == query.text or there.plan == query.plan)
        return there if stays else None

    def find_query(self, name: str) -> Query:
        return found_query(name, self.contents)

    def describe(self, name: str) -> str:
        """The columns of a stream, table or view, and what is known of its time."""
        return described(self.catalog.find(name))

    def explain(self, query: Query, stage: str = "optimized") -> str:
        """The plan of a query at a stage, with the defaults that were used."""
        return self._explainer.explain(query, stage)

    def legend(self, queries: Iterable[Query], stage: str = "optimized") -> str:
        """What the words mean that occur in the plans of queries at a stage."""
        return self._explainer.legend(queries, stage)

    def picture(self, queries: Iterable[Query], stage: str = "optimized", form: str = "svg") -> str:
        """The plans of queries at a stage as one SVG; machines also as "graphviz"."""
        return self._explainer.picture(queries, stage, form)

    def plan_of(self, query: Query, stage: str) -> Node:
        """The plan of a query as it is written, optimized, or carried out."""
        return self._explainer.plan_of(query, stage)

    def open(self, stream: Stream, follow: bool) -> Source:
        return open_stream(stream, follow)

    def sources(self, follow: bool) -> dict[str, Source]:
        """The sources of all streams that have one."""
        return sources_of(self.contents, follow)

    @property
    def empty_streams(self) -> list[Notice]:
        """What to say of declared streams that nothing brings rows to."""
        return empty_streams(self.contents)

    def job(self, changes: frozenset[str] | None = None) -> Job:
        """What is registered, as one job. `changes` names the stored results whose changes are to
        be seen; by default those for which that was asked."""
        return self._job(self.contents, changes)

    def start_run(
        self,
        make: Callable[[Job], AnyHost],
        checkpoint: str | None,
        follow: bool,
        changes: frozenset[str] = frozenset(),
    ) -> AnyHost:
        """Make a host for the job; from now on, what statements change is changed in it as well.

        Nothing can be registered between the making of the job and the first change, so no query
        is left out. `changes` names stored results whose changes are wanted from the start.
        """
        with self._lock:
            if self._run is not None:
                raise MillstreamError("the job runs already", hint="Stop it first.")
            self.checkpoint = None if checkpoint is None else Checkpoint.locked(checkpoint)
            self._summary = Summary()
            try:
                self._begin(checkpoint, follow)
                self._wanted |= changes
                host = make(self._job(self.contents))
            except BaseException:
                self._end()
                raise
            self._run, self.held = Run(host), host.held
        self.events.deliver()
        return host

    def begin(self, checkpoint: str | None, follow: bool) -> None:
        """Make ready for a run whose host is told no changes of queries, before the job is made."""
        with self._lock:
            self._begin(checkpoint, follow)
        self.events.deliver()

    def refresh(self, beats: Mapping[str, int]) -> None:
        """Statements that follow are about tables as they are at these heartbeats."""
        with self._lock:
            if self._live is not None:
                contents = self.contents.copy()
                self._live.refresh(contents.tables, beats)
                self.contents = contents

    def end(self, failure: BaseException | None = None) -> None:
        """End the run: databases are not read any more, and no host is sent changes of queries."""
        with self._lock:
            self._end()
            if failure is not None:
                self._life = Life.FAILED
                self.events.publish(Failure("the run", failure))
        self.events.deliver()

    @property
    def _explainer(self) -> Explainer:
        contents = self.contents
        return Explainer(contents.settings, self.held(), tuple(contents.queries))

    def _job(self, contents: Contents, changes: frozenset[str] | None = None) -> Job:
        if changes is None:
            stored = {query.name for query in contents.queries if query.form == COMPLETE}
            changes = frozenset(self._wanted & stored)
        return job_of(contents, changes, {} if self._live is None else self._live.contents)

    def _carry_out(
        self, work: Callable[[Draft], Done], tell: Callable[[str], None] | None = None
    ) -> Done:
        """Let work be done on a draft, and accept it if nothing was wrong."""
        texts: list[str] = []
        try:
            with self._draft(texts) as draft:
                return work(draft)
        finally:
            for text in texts:
                (tell or self.tell)(text)
            self.events.deliver()

    @contextmanager
    def _draft(self, texts: list[str]) -> Iterator[Draft]:
        self.delivery.check()
        with self._lock, deep_stack():
            contents = self.contents.copy()
            if self._run is not None and self._live is not None:
                self._live.refresh(contents.tables, self._run.host.clock.beats)
            running = {} if self._run is None else self._run.read
            draft = Draft(
                contents,
                self.base,
                self._live,
                self.held,
                texts,
                running,
                follow=self._follow,
                remembered=self._remembered,
            )
            yield draft
            self._accept(draft)

    def _remembered(self, name: str) -> str | None:
        """The declaration that the checkpoint began with, of a stream with inferred columns."""
        if self._checkpoint is None:
            return None
        commit = Checkpoint.at(self._checkpoint).last()
        return None if commit is None else commit.inferred.get(name.lower())

    def _accept(self, draft: Draft) -> None:
        """Let the draft be what there is: first for the job that runs, then for all to see."""
        run, contents = self._run, draft.contents
        is_changed = False
        try:
            draft.watch()
            if run is not None and draft.changes_job:
                run.change(self._job(contents))
                is_changed = True
            for stream, rows in contents.tables.outbox:
                feed(stream, rows)
        except BaseException:
            draft.unwatch()
            if run is not None and is_changed:
                run.change(self._job(self.contents))
            raise
        contents.tables.outbox.clear()
        if self._live is not None:
            self._live.keep(contents.catalog.entries)
        self.contents = contents
        self.events.publish(*draft.events)

    def _begin(self, checkpoint: str | None, follow: bool) -> None:
        """Changes of tables go to the checkpoint from now on, and databases are read again."""
        if checkpoint is None:
            self._scratch = self._scratch or TemporaryDirectory(prefix="millstream-tables-")
            folder = open_folder(self._scratch.name)
        else:
            folder = open_folder(checkpoint).folder("tables")
        contents = self.contents.copy()
        self._live = LiveTables(folder, follow)
        self._live.begin(contents.tables)
        self.contents, self._life = contents, Life.RUNNING
        self.events.publish(RunStarted(follow))

    def _end(self) -> None:
        if self._live is not None:
            self._live.end()
        self._summary = self.summary
        if self.checkpoint is not None:
            self.checkpoint.release()
            self.checkpoint = None
        if self._life is Life.RUNNING:
            self._life = Life.REGISTERED
            self.events.publish(RunEnded(self._summary))
        self._run = None
