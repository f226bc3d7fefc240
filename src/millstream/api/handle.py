"""Handles of registered queries: their notices, plans, and the ways to their answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa

from millstream.database.metrics import Metrics
from millstream.database.registry import Life
from millstream.engine.log import last_batch, read_log
from millstream.engine.outputs import COMPLETE, Query
from millstream.errors import MillstreamError, Notice

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from millstream.api.connection import Connection


class QueryHandle:
    """A registered query: its notices, and the ways to its answer."""

    def __init__(self, connection: Connection, query: Query) -> None:
        self._connection, self._given = connection, query

    @property
    def _query(self) -> Query:
        """The query as it is now: what it reads may have been replaced."""
        return self._connection.database.as_now(self._given) or self._given

    def __repr__(self) -> str:
        return f"<query {self.name} ({self._query.form}): {self._query.text}>"

    @property
    def name(self) -> str:
        return self._query.name

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The defaults that were used, and what else its author should know: also how it began in
        a job that was running, or on its checkpoint."""
        mine = f'query "{self.name}" '
        began = (n for n in self._connection.notices if n.message.startswith(mine))
        return (*self._query.notices, *began)

    @property
    def schema(self) -> pa.Schema:
        return self._query.result_schema

    @property
    def life(self) -> str:
        """Where the query is in its life: "registered", "running", "failed" or "dropped"."""
        return str(self._connection.database.life_of(self._query))

    def explain(self, stage: str = "optimized") -> str:
        """The plan at a stage; "cost" goes by what the job has measured, if it runs or has run;
        "machine" gives the patterns that the query looks for."""
        return self._connection.database.explain(self._query, stage)

    def picture(self, stage: str = "optimized", form: str = "svg") -> str:
        """The plan as a picture, SVG text; the colours of its edges are their update patterns.

        The stage "machine" draws the patterns that the query looks for, also as "graphviz".
        """
        return self._connection.database.picture([self._query], stage, form)

    def subscribe(
        self,
        callback: Callable[[pa.RecordBatch], None],
        on_error: Callable[[BaseException], None] | None = None,
    ) -> None:
        """Call the function with every batch of new rows, as they come.

        A stored result gives its changes, with `op` and `ts`. A function that raises gets no more
        rows: the exception goes to `on_error`, to the log and to `errors`, and the job goes on.
        """
        self._connection.check_open()
        self._connection.callbacks.add(self.name, callback, on_error)
        self._connection.database.want_changes(self.name)

    @property
    def errors(self) -> tuple[BaseException, ...]:
        """What functions that were subscribed have raised; each gets no more rows since then."""
        return self._connection.callbacks.errors.get(self.name, ())

    def metrics(self) -> Metrics:
        """What the query has read and emitted in the run, how long batches took, and its lag."""
        return self._connection.database.metrics(self._query)

    def table(self) -> pa.Table:
        """The current content: what a stored result holds now, or all rows of a stream so far."""
        if self._connection.database.life_of(self._query) is Life.DROPPED:
            raise MillstreamError(
                f'query "{self.name}" has been dropped', hint="Register it again with db.query."
            )
        if self._query.form == COMPLETE:
            content = self._connection.content(self.name)
            if content is None:
                return pa.Table.from_batches([], schema=self._query.plan.schema)
            return pa.Table.from_batches([content])
        return read_log(self._connection.log.folder, self.name, self._query.result_schema)

    def dataframe(self) -> DataFrame:
        """The result as a Spark streaming DataFrame; of a stored result its changes."""
        from millstream.spark.result_source import ResultSource, spark_schema
        from millstream.spark.session import register

        self._connection.database.want_changes(self.name)
        session = self._connection.spark
        register(session, ResultSource)
        reader = session.readStream.format("millstream").option("query", self._emitted)
        reader = reader.option("folder", self._connection.log.folder.url)
        return reader.option("schema", spark_schema(self._query.result_schema)).load()

    @property
    def batch(self) -> int:
        """The number of the last finished batch whose rows can be read."""
        return last_batch(self._connection.log.folder)

    @property
    def _emitted(self) -> str:
        """The result under which rows come as they happen."""
        return f"{self.name}.changes" if self._query.form == COMPLETE else self.name
