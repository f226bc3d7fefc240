"""Answers: the rows that every query emits, in the form in which people read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.algebra.changes import Changes, no_rows, take_rows
from millstream.algebra.node import Node
from millstream.algebra.time import Domain
from millstream.algebra.types import TIMESTAMP
from millstream.columns.order import canonical_order
from millstream.errors import Notice
from millstream.operators import Stored, Tagged
from millstream.settings import Settings
from millstream.sharing.shared import Shared

STREAM, STREAMED, COMPLETE = "stream", "streamed", "complete"


@dataclass(frozen=True)
class Query:
    """A registered query: its plan, the form of its answer, and the notices its author got."""

    name: str
    plan: Node
    form: str
    domain: Domain
    text: str = ""
    notices: tuple[Notice, ...] = ()
    views: tuple[Node, ...] = ()
    """The parts of the plan that are views of their own: they are computed anyway."""
    joined: str = ""
    """When it joined a job that was running already; empty for those of the beginning."""
    bare: bool = False
    """Whether its name is one of ours: on a checkpoint it is known by what it computes."""
    reads: tuple[str, ...] = ()
    """The names it reads, in lower case."""
    shared: Shared | None = None
    """How it is computed from other queries, where that is cheaper than by itself."""

    @property
    def changes_root(self) -> Node:
        """The plan of the changes, which are emitted as they happen."""
        return self.plan if self.form == STREAM else Tagged(self.plan.key, self.plan)

    @property
    def content_root(self) -> Stored | None:
        """The plan of the content that can be read at any time, for a stored result."""
        return Stored(self.plan) if self.form == COMPLETE else None

    @property
    def roots(self) -> tuple[Node, ...]:
        """All roots it may have."""
        stored = self.content_root
        return (self.changes_root,) if stored is None else (self.changes_root, stored)

    def carried_out(self, root: Node, settings: Settings) -> tuple[Node, tuple[Node, ...]]:
        """A root as it is to be carried out, and the parts of it that are views."""
        if self.shared is None or settings.sharing == "off":
            return root, self.views
        return self.shared.under(root), tuple(dict.fromkeys((*self.views, *self.shared.views)))

    @property
    def result_schema(self) -> pa.Schema:
        """The columns of the answer: `ts` and the select list, after `op` if it is tagged."""
        fields = list(self.changes_root.schema)
        stamp = pa.field("ts", stamp_type(self.domain))
        return pa.schema(
            [stamp, *fields] if self.form == STREAM else [fields[0], stamp, *fields[1:]]
        )


def stamp_type(domain: Domain) -> pa.DataType:
    return TIMESTAMP if domain is Domain.TIMESTAMP else pa.int64()


def present(query: Query, changes: Changes) -> pa.RecordBatch:
    """The changes as result rows, in the order in which they leave the system."""
    if not len(changes):
        return no_rows(query.result_schema)
    order = canonical_order([changes.ts, changes.arrival], changes.rows)
    stamps = pa.array(changes.ts[order]).cast(stamp_type(query.domain))
    columns = list(take_rows(changes.rows, order).columns)
    place = 0 if query.form == STREAM else 1
    columns.insert(place, stamps)
    return pa.RecordBatch.from_arrays(columns, schema=query.result_schema)


def in_order(rows: pa.RecordBatch) -> pa.RecordBatch:
    """A relation's rows in the order of their values."""
    return take_rows(rows, canonical_order([], rows)) if rows.num_columns else rows


Callback = Callable[[pa.RecordBatch], None]


def late_schema(columns: pa.Schema, domain: Domain) -> pa.Schema:
    return pa.schema([pa.field("ts", stamp_type(domain)), *columns])


def late_rows(rows: pa.RecordBatch, ts: np.ndarray, domain: Domain) -> pa.RecordBatch:
    """Late rows in the form of a stream's result."""
    stamps = pa.array(ts).cast(stamp_type(domain))
    return pa.RecordBatch.from_arrays(
        [stamps, *rows.columns], schema=late_schema(rows.schema, domain)
    )


def unique_names(names: list[str]) -> list[str]:
    """The same names, but no two alike: the second `ts` becomes `ts_2`.

    >>> unique_names(["ts", "item", "ts"])
    ['ts', 'item', 'ts_2']
    """
    out: list[str] = []
    for name in names:
        new, number = name, 1
        while new in out:
            number += 1
            new = f"{name}_{number}"
        out.append(new)
    return out
