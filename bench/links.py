"""The five queries of the comparison of strategies, and the connections they run over."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.connect import open_source
from millstream.database import Database
from millstream.engine.job import Job

LINKS, SOURCES = 4, 750
FEED = f"generate:connections?sources={SOURCES}&events="
Settings = Mapping[str, str]

COLUMNS = {
    "ts": pa.int64(), "protocol": pa.string(), "source": pa.int64(), "destination": pa.int64(),
}  # fmt: skip
STREAM = (
    "CREATE STREAM {name} (ts bigint, protocol string, source bigint, destination bigint) "
    "ORDER BY ts SOURCE '{source}';"
)

PAIRS = (
    "SELECT {form} a.source, a.destination AS here, b.destination AS there "
    "FROM link0 [Range {window}] a, link1 [Range {window}] b "
    "WHERE a.source = b.source AND a.protocol = '{protocol}' AND b.protocol = '{protocol}';"
)
SOURCES = "SELECT {form} DISTINCT source FROM link0 [Range {window}];"
ROUTES = "SELECT {form} DISTINCT source, destination FROM link0 [Range {window}];"
LESS = (
    "SELECT {form} source FROM link0 [Range {window}] "
    "EXCEPT ALL SELECT source FROM link1 [Range {window}];"
)
BOTH = (
    "SELECT {form} a.source FROM (SELECT DISTINCT source FROM link0 [Range {window}]) a, "
    "(SELECT DISTINCT source FROM link1 [Range {window}]) b WHERE a.source = b.source;"
)
ALONE = "SELECT {form} source FROM link0 [Range {window}] a WHERE {not_there};"
NOT_THERE = "NOT EXISTS (SELECT * FROM link1 [Range {window}] b WHERE a.source = b.source)"
NEGATION_BELOW = (
    "SELECT {form} a.source, a.destination AS here, c.destination AS there FROM "
    "(SELECT source, destination FROM link0 [Range {window}] a WHERE protocol = 'ftp' AND "
    + NOT_THERE
    + ") a, link2 [Range {window}] c WHERE a.source = c.source AND c.protocol = 'ftp';"
)
NEGATION_ABOVE = (
    "SELECT {form} a.source, a.destination AS here, c.destination AS there "
    "FROM link0 [Range {window}] a, link2 [Range {window}] c WHERE a.source = c.source "
    "AND a.protocol = 'ftp' AND c.protocol = 'ftp' AND " + NOT_THERE + ";"
)

QUERIES = {
    "1 ftp": PAIRS.replace("{protocol}", "ftp"),
    "1 telnet": PAIRS.replace("{protocol}", "telnet"),
    "2 source": SOURCES,
    "2 source, destination": ROUTES,
    "3": LESS,
    "3 NOT EXISTS": ALONE.replace("{not_there}", NOT_THERE),
    "4": BOTH,
    "5 negation below": NEGATION_BELOW,
    "5 negation above": NEGATION_ABOVE,
}
"""Query 1 joins two links, 2 takes duplicates out of one, 3 takes one from another, 4 joins two
without duplicates, 5 joins a link with what is left of another, in two orders. 3 takes away copy
for copy, and tells all ends by negative rows; with NOT EXISTS there are two ways to tell them."""


def job_of(text: str, settings: Settings, units: int) -> Job:
    """A query over the links it names, each with a connection in so many units of time."""
    database = Database(tell=lambda notice: None)
    for name, value in {**settings, "rules": "fixed"}.items():
        database.pin(name, value)
    for link in (f"link{number}" for number in range(LINKS)):
        if link in text:
            database.execute(STREAM.format(name=link, source=f"{FEED}{LINKS * units}"))
    database.execute(text)
    return database.job()


def connections(link: str, count: int) -> Changes:
    """The first connections of a link, as a stream's elements."""
    schema = pa.schema(list(COLUMNS.items()))
    source = open_source(f"{FEED}{LINKS * count}", link, schema, {}, ".", False)
    slices, _, _ = source.plan(source.start(), count)
    parts = [source.read(slice_, schema.names).rows for slice_ in slices]
    rows = pa.Table.from_batches(parts).combine_chunks().to_batches()[0]
    return Changes.elements(rows, rows.column("ts").to_numpy(), np.arange(count) + 1)
