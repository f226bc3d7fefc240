"""`millstream run`: from a script file to results on the terminal or in a folder."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.cli.going_on import check_asked, say_left_open, where_results_were
from millstream.cli.logs import logging_to
from millstream.cli.printing import Printer
from millstream.cli.scripts import load
from millstream.cli.telling import tell_notices, tell_summary
from millstream.cli.terminal import UNREAD, Progress, say
from millstream.database import Database
from millstream.database.events import BatchFinished, Noticed, RunEnded
from millstream.engine.admit import ERRORS
from millstream.engine.checkpoint import Checkpoint, Commit
from millstream.engine.job import Job
from millstream.engine.outputs import COMPLETE, late_schema
from millstream.engine.receivers import Folder, Receiver
from millstream.engine.take_up import check_fits
from millstream.engine.waiting import Watch
from millstream.errors import MillstreamError, closest
from millstream.files import LocalFolder, open_folder

if TYPE_CHECKING:
    from millstream.local.host import LocalHost
    from millstream.spark.host import SparkHost

FORMATS = ("csv", "jsonl", "parquet", "table")
HOSTS = ("spark", "local")


@dataclass(frozen=True)
class Options:
    """What `millstream run` was asked for."""

    script: Path | None
    out: Path | None = None
    format: str | None = None
    changes: bool = False
    follow: bool = False
    checkpoint: str | None = None
    master: str | None = None
    settings: tuple[str, ...] = ()
    host: str = "spark"
    statements: tuple[str, ...] = ()
    """More statements, after those of the script."""
    queries: tuple[str, ...] = ()
    """The queries whose results are printed; all if it is empty."""
    log: Path | None = None
    verbose: bool = False
    restart: tuple[str, ...] = ()
    close: bool = False
    python: bool = True
    """Whether the script may name classes in Python."""

    @property
    def result_format(self) -> str:
        """The format of results: tables for people, lines for programs and files."""
        if self.format is not None:
            return self.format
        return "table" if self.out is None and sys.stdout.isatty() else "csv"


def run_script(options: Options) -> int:
    """Load the script, run its job, and leave the results where they were asked for.

    Gives the exit code of the command.
    """
    with logging_to(options.log, options.verbose):
        return _run_script(options)


def _run_script(options: Options) -> int:
    _check_format(options)
    one_of("host", options.host, HOSTS)
    if options.out is not None and options.queries:
        raise MillstreamError(
            "--query chooses what is printed, and --out writes all results to files",
            hint="Leave out one of them.",
        )
    _check_folder("out", options.out)
    if options.checkpoint is not None:
        _check_checkpoint(options.checkpoint)
    check_asked(options.restart, options.checkpoint, options.close, options.follow)
    told: list[str] = []
    try:
        database = load(
            options.script,
            options.settings,
            told.append,
            options.statements,
            options.checkpoint,
            options.follow,
            options.python,
        )
    finally:
        for text in told:
            print(text)
    if not database.streams:
        if not told:
            say("the script declares no stream: there is nothing to run")
        return 0
    for name in options.queries:
        database.find_query(name)
    for notice in database.empty_streams:
        say(notice.render())
    tell_notices(database.queries.values())
    events, form = database.events, options.result_format
    events.subscribe(lambda event: tell_summary(event.summary, options.out, form), RunEnded)
    failure: BaseException | None = None
    try:
        run = _run_locally if options.host == "local" else _run_on_spark
        return run(database, options)
    except BaseException as error:
        failure = error
        raise
    finally:
        database.end(failure)


def _shown(database: Database, options: Options) -> frozenset[str]:
    """The stored results whose changes are to be seen. Without a folder, a run that goes on for
    ever shows them as they come."""
    if not options.changes and (options.out is not None or not options.follow):
        return frozenset()
    return frozenset(q.name for q in database.queries.values() if q.form == COMPLETE)


def _run_locally(database: Database, options: Options) -> int:
    from millstream.local.host import LocalHost

    events = database.events
    with Progress() as progress:
        events.subscribe(lambda event: progress.batch(event.report), BatchFinished)

        def make(job: Job) -> LocalHost:
            sources = database.sources(options.follow)  # as the run has placed them
            if database.checkpoint is None:
                receivers = receivers_for(job, options, None)
                host = LocalHost(job, sources, receivers, options.follow, options.close)
            else:
                host = LocalHost.on(
                    database.checkpoint,
                    job,
                    sources,
                    lambda commit: receivers_for(job, options, commit),
                    options.follow,
                    options.close,
                    options.restart,
                    lambda notice: events.publish(Noticed(notice)),
                )
            host.progress = lambda report: events.tell(BatchFinished(report))
            host.watch = Watch(lambda notice: events.tell(Noticed(notice)))
            return host

        shown = _shown(database, options)
        host = database.start_run(make, options.checkpoint, options.follow, shown)
        unread = _unread(host)
        with _stopping() as stop:
            host.run(lambda: stop.is_set() or unread())
        say_left_open(host.job, host.clock, events)
        return UNREAD if unread() else 0


def _run_on_spark(database: Database, options: Options) -> int:
    from millstream.spark.host import SparkHost
    from millstream.spark.session import make_session

    database.sources(options.follow)  # a fault in a source is raised before Spark starts
    if options.checkpoint is not None:  # and so is a script that does not fit its checkpoint
        check_fits(Checkpoint.at(options.checkpoint), database.job(), "spark", options.restart)
    checkpoint, events = str(options.checkpoint) if options.checkpoint else None, database.events
    with Progress() as progress:
        progress.note("starting Spark")
        noise = options.log if options.verbose else None
        spark = make_session(options.master, options.verbose, noise)
        events.subscribe(lambda event: progress.batch(event.report), BatchFinished)

        def make(job: Job) -> SparkHost:
            return SparkHost(
                spark,
                job,
                lambda commit: receivers_for(job, options, commit),
                database.checkpoint,
                options.follow,
                progress=lambda report: events.tell(BatchFinished(report)),
                tell=lambda notice: events.publish(Noticed(notice)),
                waits=lambda notice: events.tell(Noticed(notice)),
                restart=options.restart,
                closes=options.close,
            )

        shown = _shown(database, options)
        host = database.start_run(make, checkpoint, options.follow, shown)
        unread = _unread(host)
        try:
            with _stopping() as stop:  # after Spark, which takes Ctrl-C for itself when it starts
                host.run(lambda: stop.is_set() or unread())
            say_left_open(host.job, host.clock, events)
        finally:
            host.close()
        return UNREAD if unread() else 0


def _unread(host: LocalHost | SparkHost) -> Callable[[], bool]:
    """Whether results are printed that nobody reads any more."""
    printers = [one for one in host.driver.receivers if isinstance(one, Printer)]
    return lambda: any(one.gone for one in printers)


def receivers_for(job: Job, options: Options, commit: Commit | None) -> list[Receiver]:
    if options.out is None:
        return [Printer(_printed(job, options), options.result_format)]
    schemas: dict[str, pa.Schema] = {}
    for name in job.changelog_roots:
        query = job.query(name)
        if query.form != COMPLETE or name in job.changes:
            result = f"{name}.changes" if query.form == COMPLETE else name
            schemas[result] = query.result_schema
    for name, stream in job.streams.items():
        if stream.of is not None:
            continue
        schemas[f"{name}.late"] = late_schema(stream.schema, stream.domain)
        schemas[f"{name}.errors"] = ERRORS
    where = where_results_were(job, commit)
    folder = Folder(options.out, options.result_format, schemas, **where)
    for path in folder.kept:
        say(f'an earlier result is kept as "{path}"')
    return [folder]


def _printed(job: Job, options: Options) -> dict[str, pa.Schema]:
    """The results that are printed: streams, changes, and stored results if the run has an end."""
    wanted = {name.lower() for name in options.queries}
    found: dict[str, pa.Schema] = {}
    for query in job.queries:
        if wanted and query.name.lower() not in wanted:
            continue
        if query.name in job.changelog_roots:
            result = f"{query.name}.changes" if query.form == COMPLETE else query.name
            found[result] = query.result_schema
        if query.name in job.materialized_roots and not options.follow:
            found[query.name] = job.materialized_roots[query.name].schema
    return found


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """Ctrl-C and TERM ask for an end after the batch; a second Ctrl-C ends at once."""
    stop = threading.Event()

    def asked(number: int, frame: Any) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        say("stopping after this batch")

    before = {number: signal.signal(number, asked) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _check_format(options: Options) -> None:
    """Formats that do not go with the place where results go are refused."""
    if options.format is None:
        return
    one_of("format", options.format, FORMATS)
    if options.out is not None and options.format == "table":
        raise MillstreamError(
            "--format table is for standard output, and --out writes files",
            hint="Leave out --out, or write --format csv.",
        )
    if options.out is None and options.format == "parquet":
        raise MillstreamError(
            "--format parquet needs a folder: its files cannot be printed",
            hint="Add --out DIR, or write --format csv.",
        )


def _check_folder(option: str, folder: Path | None) -> None:
    """Make the folder of an option, so that a fault in it is raised before the run."""
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise MillstreamError(
            f'--{option} needs a folder, and "{folder}" is a file', hint="Name another folder."
        ) from None
    except (OSError, ValueError) as error:
        reason = str(getattr(error, "strerror", None) or error).lower()
        raise MillstreamError(
            f'--{option} cannot use the folder "{folder}": {reason}', hint="Name another folder."
        ) from None


def _check_checkpoint(url: str) -> None:
    """See that the folder of the checkpoint can be reached."""
    folder = open_folder(url)
    if isinstance(folder, LocalFolder):
        _check_folder("checkpoint", folder.path)
    else:
        folder.list()


def one_of(what: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        near = closest(value, allowed)
        raise MillstreamError(
            f'--{what} cannot be "{value}"',
            hint=f'Did you mean "{near}"?' if near else f"Write one of {', '.join(allowed)}.",
        )
