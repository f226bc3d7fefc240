"""All connectors, and the one that answers to a SOURCE."""

from __future__ import annotations

from millstream.connect.connector import Connector
from millstream.connect.files import FILES
from millstream.connect.generate import GENERATE
from millstream.connect.options import OF_STREAMS
from millstream.connect.postgres import POSTGRES
from millstream.connect.statements import STATEMENTS
from millstream.errors import MillstreamError, closest

CONNECTORS: tuple[Connector, ...] = (FILES, GENERATE, POSTGRES, STATEMENTS)

_TOPIC, _STORE = "topics are read through Spark", "a SOURCE is on this machine or in PostgreSQL"
ELSEWHERE = {
    **dict.fromkeys(("kafka", "pulsar", "kinesis", "amqp", "mqtt"), _TOPIC),
    **dict.fromkeys(("s3", "s3a", "s3n", "gs", "hdfs", "abfs", "abfss", "wasb", "adl"), _STORE),
    **dict.fromkeys(("http", "https", "ftp", "mysql", "jdbc"), _STORE),
}
"""What SOURCE cannot read today, by the word before the colon."""

TABLE_THROUGH_SPARK = "a streaming DataFrame of changes: db.table(name, frame)"


def through_spark(name: str, order_by: str | None) -> str:
    """How a stream is declared that Spark reads."""
    order = f', order_by="{order_by}"' if order_by else ""
    return f'a streaming DataFrame: db.stream("{name}", frame{order})'


def connector_of(url: str, spark: str = TABLE_THROUGH_SPARK) -> Connector:
    """The connector that answers to a SOURCE; files, unless it begins with the word of another.

    `spark` is how Spark could bring the rows, for messages.
    """
    scheme, colon, _ = url.partition(":")
    by_scheme = {word: connector for connector in CONNECTORS for word in connector.schemes}
    if colon and scheme.lower() in by_scheme:
        return by_scheme[scheme.lower()]
    if scheme.lower() in ELSEWHERE and "//" in url:
        raise MillstreamError(
            f'source "{url}" cannot be read: {ELSEWHERE[scheme.lower()]}',
            hint=f"In Python give {spark}.",
        )
    if colon and scheme.isalpha() and len(scheme) > 1:
        meant = closest(scheme, [word for word in by_scheme if word != "statements"])
        written = [connector.written for connector in CONNECTORS if connector.written]
        raise MillstreamError(
            f'source "{url}" is of an unknown kind',
            hint=f"Did you mean {meant}:?" if meant else f"Use {', or '.join(written)}.",
        )
    return FILES


def option_names() -> frozenset[str]:
    """The names of all options that may stand in WITH of a source."""
    return frozenset(
        name
        for connector in CONNECTORS
        for options in connector.options
        if options.word == OF_STREAMS.word
        for name in options.names
    )
