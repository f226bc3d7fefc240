"""Scan: a stream as it comes from its source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import pyarrow as pa

from millstream.algebra.expressions import Expression, conjunction, name_text
from millstream.algebra.facts import Columns
from millstream.algebra.lifetime import Lifetime, elements
from millstream.algebra.node import Node
from millstream.algebra.time import Domain


@dataclass(frozen=True, eq=False)
class Scan(Node):
    """The rows of a stream, in the columns that are needed.

    `declared` is a short name of the whole declaration, so that state is never carried over to a
    stream that has since been declared differently. `tests` are conditions that are tested above
    as well: of elements that fail one, a source may give nothing but their time.
    """

    is_stream: ClassVar[bool] = True
    stateless: ClassVar[bool] = True

    stream: str
    columns: tuple[tuple[str, pa.DataType], ...]
    domain: Domain
    declared: str
    tests: tuple[Expression, ...] = ()

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema(list(self.columns))

    @property
    def key(self) -> None:
        return None

    def lives(self) -> Lifetime:
        return elements()

    @property
    def has_arrival(self) -> bool:
        return True

    @property
    def time_domain(self) -> Domain:  # type: ignore[override]
        return self.domain

    def with_columns(self, wanted: Columns) -> Node:
        kept = tuple(column for column in self.columns if column[0] in wanted)
        return self if kept == self.columns else replace(self, columns=kept)

    @property
    def words(self) -> str:
        names = ", ".join(name_text(n) for n, _ in self.columns)
        where = f" where {conjunction(list(self.tests))}" if self.tests else ""
        return f"{name_text(self.stream)} ({names}){where}"
