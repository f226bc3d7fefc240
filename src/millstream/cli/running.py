"""`millstream run`: from a script file to results on the terminal or in a folder."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from millstream.cli.terminal import Progress, Terminal, say
from millstream.database import Database
from millstream.database.events import BatchFinished, Noticed
from millstream.engine.admit import ERRORS
from millstream.engine.checkpoint import Commit, fingerprints
from millstream.engine.job import Job
from millstream.engine.outputs import COMPLETE, late_schema
from millstream.engine.receivers import Folder, Receiver
from millstream.errors import MillstreamError, closest
from millstream.files import LocalFolder, open_folder

FORMATS = ("csv", "jsonl", "parquet")
HOSTS = ("spark", "local")
LARGEST_SCRIPT = 4_000_000


@dataclass(frozen=True)
class Options:
    """What `millstream run` was asked for."""

    script: Path
    out: Path | None = None
    format: str = "csv"
    changes: bool = False
    follow: bool = False
    checkpoint: str | None = None
    master: str | None = None
    settings: tuple[str, ...] = ()
    host: str = "spark"


def run_script(options: Options) -> None:
    """Load the script, run its job, and leave the results where they were asked for."""
    one_of("format", options.format, FORMATS)
    one_of("host", options.host, HOSTS)
    _check_folder("out", options.out)
    if options.checkpoint is not None:
        _check_checkpoint(options.checkpoint)
    database = load(options.script, options.settings, print, options.follow, options.checkpoint)
    if not database.streams:
        say("the script declares no stream: there is nothing to run")
        return
    for stream in database.streams.values():
        if stream.source is None:
            say(f'stream "{stream.name}" has no SOURCE and stays empty')
    for query in database.queries.values():
        for notice in query.notices:
            say(notice.render())
    failure: BaseException | None = None
    try:
        if options.host == "local":
            _run_locally(database, options)
        else:
            _run_on_spark(database, options)
    except BaseException as error:
        failure = error
        raise
    finally:
        database.end(failure)


def _shown(database: Database, options: Options) -> frozenset[str]:
    """The stored results whose changes are to be seen."""
    if options.out is not None and not options.changes:
        return frozenset()
    return frozenset(q.name for q in database.queries.values() if q.form == COMPLETE)


def load(
    path: Path,
    settings: tuple[str, ...],
    tell: Callable[[str], None],
    follow: bool = False,
    checkpoint: str | None = None,
) -> Database:
    """A database that has carried out the script; its notices are told as they come."""
    try:
        if (size := path.stat().st_size) > LARGEST_SCRIPT:
            raise MillstreamError(
                f'script "{path}" has {size:,} bytes; the limit is {LARGEST_SCRIPT:,}',
                hint="Cut it into several scripts.",
            )
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MillstreamError(f'script "{path}" does not exist', hint=_nearby(path)) from None
    except IsADirectoryError:
        raise MillstreamError(
            f'"{path}" is a folder, not a script', hint="Name a file in it."
        ) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise MillstreamError(
            f'script "{path}" is not text in UTF-8: see line {line}', hint="Save it as UTF-8."
        ) from None
    except (OSError, ValueError) as error:
        reason = str(getattr(error, "strerror", None) or error).lower()
        raise MillstreamError(f'script "{path}" cannot be read: {reason}') from None
    base = str(path.absolute().parent)
    database = Database(base, tell, follow=follow, checkpoint=checkpoint)
    database.events.subscribe(lambda event: say(event.notice.render()), Noticed)
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise MillstreamError(
                f'--set takes key=value, and this is "{setting}"',
                hint="Write for example --set batch_rows=1000.",
            )
        database.pin(name.strip(), value.strip())
    database.execute(text)
    return database


def _run_locally(database: Database, options: Options) -> None:
    from millstream.local.host import LocalHost

    if options.checkpoint is not None:
        raise MillstreamError("the local host keeps no checkpoint", hint="Use --host spark.")

    def make(job: Job) -> LocalHost:
        receivers = receivers_for(job, options, None)
        return LocalHost(job, database.sources(options.follow), receivers, options.follow)

    host = database.start_run(make, None, options.follow, _shown(database, options))
    with _stopping() as stop:
        host.run(stop.is_set)


def _run_on_spark(database: Database, options: Options) -> None:
    from millstream.spark.host import SparkHost
    from millstream.spark.session import make_session

    database.sources(options.follow)  # a fault in a source is raised before Spark starts
    checkpoint, events = str(options.checkpoint) if options.checkpoint else None, database.events
    with Progress() as progress:
        progress.note("starting Spark")
        spark = make_session(options.master)
        events.subscribe(lambda event: progress.batch(event.report), BatchFinished)

        def make(job: Job) -> SparkHost:
            return SparkHost(
                spark,
                job,
                lambda commit: receivers_for(job, options, commit),
                checkpoint,
                options.follow,
                progress=lambda report: events.tell(BatchFinished(report)),
                tell=lambda notice: events.publish(Noticed(notice)),
            )

        shown = _shown(database, options)
        host = database.start_run(make, checkpoint, options.follow, shown)
        try:
            with _stopping() as stop:  # after Spark, which takes Ctrl-C for itself when it starts
                host.run(stop.is_set)
        finally:
            host.close()


def receivers_for(job: Job, options: Options, commit: Commit | None) -> list[Receiver]:
    if options.out is None:
        return [Terminal(job)]
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
    sizes = _sizes(job, commit)
    return [Folder(options.out, options.format, schemas, sizes)]


def _sizes(job: Job, commit: Commit | None) -> dict[str, int]:
    """How far the results of the checkpoint had come; those of changed queries begin anew."""
    if commit is None:
        return {}
    now = fingerprints(job)
    changed = {name for name in now if commit.queries.get(name) != now[name]}
    return {k: v for k, v in commit.sizes.items() if k.removesuffix(".changes") not in changed}


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


def _nearby(path: Path) -> str | None:
    """The script that was probably meant."""
    if not path.parent.is_dir():
        return f"The folder {path.parent} does not exist either."
    near = closest(path.name, sorted(p.name for p in path.parent.iterdir()))
    return f"Did you mean {path.with_name(near)}?" if near else None


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
