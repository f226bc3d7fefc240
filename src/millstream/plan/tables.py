"""Tables that never change, as relations: they need a stream that carries the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from millstream.algebra.node import Node, map_inputs, once, walk
from millstream.algebra.time import Domain
from millstream.algebra.types import INTEGER, STRING, TIMESTAMP
from millstream.catalog import STATEMENTS, Stream
from millstream.operators import Scan, StaticTable, TableScan

_COLUMNS = (("op", STRING), ("ts", INTEGER))
_FIRST = pa.RecordBatch.from_arrays(
    [pa.array([None], STRING), pa.array([0], INTEGER)], schema=pa.schema(list(_COLUMNS))
)
BEGINNING = Stream(
    "#beginning", _COLUMNS, "ts", source=STATEMENTS, base="", of="tables", rows=_FIRST
)
"""One element at instant 0: the time of a query that reads nothing but tables."""

SILENT = {
    domain: Stream(f"#{domain.value}", columns, order, source=STATEMENTS, base="", of="tables")
    for domain, columns, order in (
        (Domain.INTEGER, _COLUMNS, "ts"),
        (Domain.TIMESTAMP, (("op", STRING), ("ts", TIMESTAMP)), "ts"),
        (Domain.ARRIVAL, _COLUMNS, None),
    )
}
"""No elements: beside other streams, a table that never changes goes by their time."""


def with_time(
    plan: Node, domain: Domain, contents: Mapping[str, StaticTable] | None = None
) -> Node:
    """The plan with an input for every table that never changes, as a host needs it.

    Such a table is there from the first instant of its query on; in a query without streams, that
    is instant 0. `contents` are the rows that tables, by their digests, begin with instead of those
    they were bound with.
    """
    known = contents or {}
    streams = sorted({node.stream for node in walk(plan) if isinstance(node, Scan)})
    stream = SILENT[domain] if streams else BEGINNING
    clock = replace(stream.scan(), columns=())

    def changed(node: Node) -> Node:
        if isinstance(node, TableScan) and node.input is None:
            return replace(node, input=clock, since=node.since or tuple(streams))
        if isinstance(node, TableScan) and node.table.digest in known:
            return replace(node, table=known[node.table.digest])
        return map_inputs(node, settled)

    settled = once(changed)
    return settled(plan)


def streams_of_time(plan: Node) -> dict[str, Stream]:
    """The streams that a plan has from `with_time`."""
    known = {stream.name: stream for stream in (BEGINNING, *SILENT.values())}
    read = [node.stream for node in walk(plan) if isinstance(node, Scan)]
    return {name: known[name] for name in read if name in known}
