"""Project: compute the columns of the output from those of the input."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import pyarrow as pa

from millstream.algebra.changes import Changes
from millstream.algebra.evaluate import evaluate
from millstream.algebra.expressions import Column, Expression, Literal, name_text
from millstream.algebra.facts import Arrival, Columns
from millstream.algebra.lifetime import Lifetime, passed_on
from millstream.algebra.node import Distribution, Node, Step, Wanted, home_of
from millstream.algebra.time import Span
from millstream.state.chunks import State

Outputs = tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, eq=False)
class Project(Node):
    """The select list: one column for every expression.

    Law: each change keeps its times and weight. No state. Copies of equal rows stay (bags).
    """

    follows_content: ClassVar[bool] = True

    stateless: ClassVar[bool] = True
    row_by_row: ClassVar[bool] = True
    accepts_previous: ClassVar[bool] = True
    one_to_one: ClassVar[bool] = True

    outputs: Outputs
    input: Node

    @property
    def is_stream(self) -> bool:  # type: ignore[override]
        return self.input.is_stream

    def lives(self, given: Lifetime) -> Lifetime:
        return passed_on(given)

    @property
    def arrival(self) -> Arrival:
        return Arrival.PASSED

    @property
    def has_arrival(self) -> bool:
        return self.input.has_arrival

    @property
    def row_limit(self) -> int | None:  # type: ignore[override]
        return self.input.row_limit

    @cached_property
    def value_limit(self) -> int | None:
        return 1 if all(isinstance(value, Literal) for _, value in self.outputs) else None

    def with_columns(self, wanted: Columns) -> Node:
        kept = tuple(output for output in self.outputs if output[0] in wanted)
        return self if kept == self.outputs else replace(self, outputs=kept)

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([(name, expression.type) for name, expression in self.outputs])

    @cached_property
    def renamed(self) -> dict[str, str]:
        """Input columns that are handed on as they are, with their new names."""
        return {e.name: name for name, e in reversed(self.outputs) if isinstance(e, Column)}

    @cached_property
    def key(self) -> tuple[str, ...] | None:
        return _rename(self.input.key, self.renamed)

    def distribution(self, given: Distribution, *others: Distribution) -> Distribution:
        return given if home_of(given, 1) is not None else _rename(given, self.renamed)

    def wish_below(self, wish: Distribution) -> Distribution:
        given = {name: e.name for name, e in self.outputs if isinstance(e, Column)}
        return _rename(wish, given)

    def wanted_below(self, wanted: Wanted) -> Wanted:
        given = {name: e.name for name, e in self.outputs if isinstance(e, Column)}
        return {given[name]: value for name, value in wanted.items() if name in given}

    @property
    def words(self) -> str:
        return ", ".join(
            str(e) if str(e) == name_text(name) else f"{e} as {name_text(name)}"
            for name, e in self.outputs
        )

    def step(self, state: State, changes: Changes, span: Span) -> Step:
        if not len(changes):
            return state, Changes.empty(self.schema)
        arrays = [evaluate(e, changes.rows, len(changes)) for _, e in self.outputs]
        return state, changes.with_rows(pa.RecordBatch.from_arrays(arrays, schema=self.schema))


def _rename(columns: tuple[str, ...] | None, names: dict[str, str]) -> tuple[str, ...] | None:
    if columns is None or not all(column in names for column in columns):
        return None
    return tuple(names[column] for column in columns)


def handed_on(schema: pa.Schema, names: Iterable[str] | None = None) -> Outputs:
    """Outputs of a projection that hands on columns as they are; all of them without names."""
    kept = schema.names if names is None else names
    return tuple((n, Column(n, schema.field(n).type)) for n in kept)
