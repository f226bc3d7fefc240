"""The Python interface: connect, declare, query, run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.algebra.changes import no_rows
from millstream.algebra.time import Domain
from millstream.algebra.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    STRING,
    TIMESTAMP,
    type_name,
)
from millstream.bind.relations.windows import length_in
from millstream.bind.tables.declared import static_table
from millstream.catalog import CURRENT_TIME, Fields, Stream, Table
from millstream.engine.checkpoint import fingerprints
from millstream.engine.holdings import Held
from millstream.engine.log import ResultLog, last_batch, read_log
from millstream.engine.outputs import COMPLETE, Query
from millstream.engine.receivers import Callbacks, Receiver
from millstream.errors import MillstreamError, Notice
from millstream.lang import interval_from_text
from millstream.session import Session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def connect(
    spark: SparkSession | None = None,
    master: str | None = None,
    checkpoint: str | None = None,
    settings: Mapping[str, Any] | None = None,
    base: str = ".",
) -> Database:
    """Open a database of streams on Spark.

    Parameters
    ----------
    spark : SparkSession, optional
        A session to use; by default one is made when it is first needed.
    master : str, optional
        The master of a session to be made, `local[*]` by default.
    checkpoint : str, optional
        A folder that keeps the state of the run, so that another run can go on from it.
    settings : mapping, optional
        Settings such as `{"batch_rows": 100_000}`.
    base : str
        The folder that SOURCE paths are relative to.
    """
    return Database(spark, master, checkpoint, settings or {}, base)


class Database:
    """Streams, tables, views and queries, and the one job that runs them."""

    def __init__(
        self,
        spark: SparkSession | None,
        master: str | None,
        checkpoint: str | None,
        settings: Mapping[str, Any],
        base: str,
    ) -> None:
        self._spark, self._master = spark, master
        self._checkpoint = checkpoint
        self.session = Session(base=base, held=self._held)
        for name, value in settings.items():
            self.session.pin(name, str(value))
        self._foreign: dict[str, DataFrame] = {}
        self._callbacks = Callbacks()
        self._subscribed: set[str] = set()
        self._host: Any = None

    @property
    def spark(self) -> SparkSession:
        """The Spark session, made when it is first asked for."""
        if self._spark is None:
            from millstream.spark.session import make_session

            self._spark = make_session(self._master)
        return self._spark

    def execute(self, script: str) -> list[QueryHandle]:
        """Carry out statements; gives a handle for every query they register."""
        self._refresh()
        handles = [QueryHandle(self, query) for query in self.session.execute(script)]
        self._changed()
        return handles

    def query(self, text: str, name: str | None = None) -> QueryHandle:
        """Register one query; `notices` of the handle tells the defaults it was given."""
        self._refresh()
        handle = QueryHandle(self, self.session.query(text, name))
        self._changed()
        return handle

    def drop(self, name: str) -> None:
        """Drop a query, view, stream or table."""
        entry = self.session.catalog.entries.get(name.lower())
        from millstream.catalog import kind_of

        self.session.execute(f'DROP {kind_of(entry) if entry else "query"} "{name}"')
        self._changed()

    def stream(
        self,
        name: str,
        frame: DataFrame,
        order_by: str | None = None,
        slack: int | str = 0,
        ahead: int | str | None = None,
        idle: int | str | None = None,
    ) -> None:
        """Declare a stream that comes from a Spark streaming DataFrame.

        `order_by` is a timestamp or integer column, or "current_time". `slack`, `ahead` and `idle`
        are lengths of time such as "5 seconds"; for a stream ordered by an integer, `slack` and
        `ahead` are numbers. A number stands for microseconds where a time is meant.
        """
        columns = self._columns(name, frame, "stream")
        if order_by not in (None, CURRENT_TIME):
            self._check_order(columns, str(order_by), name)
        bare = Stream(name, columns, order_by, foreign=True)
        self.session.add_stream(_timed(bare, slack, ahead, idle))
        self._foreign[name] = frame

    def table(
        self,
        name: str,
        frame: DataFrame,
        key: Sequence[str] = (),
        non_retroactive: bool = False,
        slack: int | str = 0,
        idle: int | str | None = None,
    ) -> None:
        """Declare a table whose changes come from a Spark streaming DataFrame.

        The DataFrame has the columns `op` (insert, update or delete) and `ts` (a timestamp or an
        integer) beside those of the table. `key` names the columns that identify a row.
        """
        columns = self._columns(name, frame, "table")
        for wanted in ("op", "ts", *key):
            if wanted not in dict(columns):
                raise MillstreamError(
                    f'column "{wanted}" does not exist in the DataFrame for "{name}"'
                )
        self._check_order(columns, "ts", name)
        bare = Stream(name, columns, "ts", foreign=True, op="op", keyed=bool(key))
        data = tuple(column for column in columns if column[0] not in ("op", "ts"))
        content = static_table(name, no_rows(pa.schema(list(data))))
        changes = _timed(bare, slack, None, idle)
        self.session.catalog.add(Table(name, data, tuple(key), content, non_retroactive, changes))
        self._foreign[name] = frame

    def _columns(self, name: str, frame: DataFrame, kind: str) -> Fields:
        """The columns of a DataFrame, if it can be used now."""
        if self._host is not None:
            raise MillstreamError(
                "a DataFrame cannot be added while the job runs",
                hint=f"Stop it, add the {kind}, and start it again.",
            )
        if not frame.isStreaming:
            raise MillstreamError(
                f'the DataFrame for {kind} "{name}" is not a streaming one',
                hint="Make it with spark.readStream.",
            )
        return tuple((f.name, _arrow_type(f, name)) for f in frame.schema.fields)

    def _check_order(self, columns: Fields, order_by: str, name: str) -> None:
        if order_by not in dict(columns):
            raise MillstreamError(
                f'column "{order_by}" does not exist in the DataFrame for "{name}"'
            )
        kind = dict(columns)[order_by]
        if kind not in (TIMESTAMP, INTEGER):
            raise MillstreamError(
                f'a stream cannot be ordered by "{order_by}", a {type_name(kind)}',
                hint="Order by a timestamp or an integer.",
            )

    def run(self) -> None:
        """Run to the end of bounded input."""
        host = self._make_host(follow=False)
        try:
            host.run()
        finally:
            self._host = None
            self.session.end()

    def start(self, follow: bool = True) -> None:
        """Begin to run in the background; sources are followed as they grow."""
        self._make_host(follow).start()

    def stop(self) -> None:
        """Finish the running batch and stop."""
        self.session.end()
        if self._host is not None:
            host, self._host = self._host, None
            host.stop()

    @property
    def is_running(self) -> bool:
        return self._host is not None and self._host.is_active

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *problem: object) -> None:
        self.stop()
        if self._last is not None:
            self._last.close()

    _last: Any = None

    def _job(self) -> Any:
        stored = {q.name for q in self.session.queries.values() if q.form == COMPLETE}
        return self.session.job(frozenset(stored & self._subscribed))

    def _make_host(self, follow: bool) -> Any:
        from millstream.spark.host import SparkHost

        if self._host is not None:
            raise MillstreamError("the job runs already", hint="Stop it first.")
        self.session.begin(self._checkpoint, follow)
        self._host = SparkHost(
            self.spark,
            self._job(),
            self._receivers,
            self._checkpoint,
            follow,
            foreign=self._foreign,
            tell=lambda notice: self.notices.append(notice),
        )
        self._last = self._host
        return self._host

    @property
    def notices(self) -> list[Notice]:
        """What the last start said about its checkpoint."""
        return self.__dict__.setdefault("_notices", [])

    def _receivers(self, commit: Any) -> list[Receiver]:
        return [self._callbacks, self._log]

    @property
    def _log(self) -> ResultLog:
        return self.__dict__.setdefault("_result_log", ResultLog(self._log_folder))

    @property
    def _log_folder(self) -> Path:
        if self._checkpoint:
            return Path(self._checkpoint).absolute() / "results"
        import tempfile

        if "_results" not in self.__dict__:
            self.__dict__["_results"] = Path(tempfile.mkdtemp(prefix="millstream-results-"))
        return self.__dict__["_results"]

    def _refresh(self) -> None:
        """Let new queries begin with what tables hold by now."""
        if self._host is not None:
            self.session.refresh(self._host.clock.beats)

    def _held(self) -> Held | None:
        """What operators hold in the job that runs, or held when it ended."""
        return None if self._last is None else self._last.held()

    def _changed(self) -> None:
        """Tell a running job about queries that came or went."""
        if self._host is None:
            return
        before = fingerprints(self._host.job)
        self._host.change(self._job())
        now = fingerprints(self._host.job)
        for name in (name for name, mark in before.items() if now.get(name) != mark):
            self._log.forget(name)
            self._log.forget(f"{name}.changes")


class QueryHandle:
    """A registered query: its notices, and the ways to its answer."""

    def __init__(self, database: Database, query: Query) -> None:
        self._database, self._query = database, query

    def __repr__(self) -> str:
        return f"<query {self.name} ({self._query.form}): {self._query.text}>"

    @property
    def name(self) -> str:
        return self._query.name

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The defaults that were used, and what else its author should know."""
        return self._query.notices

    @property
    def schema(self) -> pa.Schema:
        return self._query.result_schema

    def explain(self, stage: str = "optimized") -> str:
        """The plan at a stage; "cost" goes by what the job has measured, if it runs or has run."""
        return self._database.session.explain(self._query, stage)

    def picture(self, stage: str = "optimized") -> str:
        """The plan as a picture, SVG text; the colours of its edges are their update patterns."""
        return self._database.session.picture([self._query], stage)

    def subscribe(self, callback: Callable[[pa.RecordBatch], None]) -> None:
        """Call the function with every batch of new rows, as they come.

        A stored result gives its changes, with `op` and `ts`.
        """
        self._database._subscribed.add(self.name)
        self._database._callbacks.add(self._told, callback)
        self._database._changed()

    def table(self) -> pa.Table:
        """The current content: what a stored result holds now, or all rows of a stream so far."""
        known = self._database.session.queries.get(self.name)
        if known is None or known.text != self._query.text:
            raise MillstreamError(
                f'query "{self.name}" has been dropped', hint="Register it again with db.query."
            )
        if self._query.form == COMPLETE:
            host = self._database._last
            if host is None:
                return pa.Table.from_batches([], schema=self._query.plan.schema)
            return pa.Table.from_batches([host.content(self.name)])
        return read_log(self._database._log_folder, self.name, self._query.result_schema)

    def dataframe(self) -> DataFrame:
        """The result as a Spark streaming DataFrame; of a stored result its changes."""
        from millstream.spark.result_source import ResultSource, spark_schema

        self._database._subscribed.add(self.name)
        self._database._changed()
        session = self._database.spark
        session.dataSource.register(ResultSource)
        reader = session.readStream.format("millstream").option("query", self._told)
        reader = reader.option("folder", str(self._database._log_folder))
        return reader.option("schema", spark_schema(self._query.result_schema)).load()

    @property
    def batch(self) -> int:
        """The number of the last finished batch whose rows can be read."""
        return last_batch(self._database._log_folder)

    @property
    def _told(self) -> str:
        return f"{self.name}.changes" if self._query.form == COMPLETE else self.name


def _timed(
    bare: Stream, slack: int | str, ahead: int | str | None, idle: int | str | None
) -> Stream:
    """A stream with its lengths of time."""
    return replace(
        bare,
        slack=_length(slack, bare.domain, bare.name) or 0,
        ahead=_length(ahead, bare.domain, bare.name),
        idle=_length(idle, Domain.TIMESTAMP, bare.name),
    )


def _length(value: int | str | None, domain: Domain, name: str) -> int | None:
    if value is None or isinstance(value, int):
        return value
    return length_in(interval_from_text(value), domain, name, None)


def _arrow_type(field: Any, stream: str) -> pa.DataType:
    name = field.dataType.simpleString()
    if name.startswith("decimal"):
        return pa.decimal128(field.dataType.precision, field.dataType.scale)
    if name.startswith("interval"):
        return INTERVAL
    kinds = {
        **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), INTEGER),
        **dict.fromkeys(("float", "double"), DOUBLE),
        **dict.fromkeys(("timestamp", "timestamp_ntz"), TIMESTAMP),
        "string": STRING,
        "boolean": BOOLEAN,
        "date": DATE,
    }
    if name not in kinds:
        raise MillstreamError(
            f'column "{field.name}" of stream "{stream}" has the type {name}',
            hint="Select or cast it to a type Millstream has.",
        )
    return kinds[name]
