"""The conditions of a pattern, split by what they look at, and the rows of a step as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.algebra.evaluate import evaluate, holds
from millstream.algebra.expressions import (
    TRUE,
    Call,
    Case,
    Column,
    Expression,
    Literal,
    conjunction,
    conjuncts,
    rewrite,
    walk,
)
from millstream.algebra.types import BOOLEAN
from millstream.columns.keys import as_floats, as_words, validity
from millstream.patterns.postfix import Code, is_ranked
from millstream.patterns.references import Cell, cell_of, shifted_name

MOST = 62
"""So many variables a pattern may have: their local conditions are bits of one word."""

Place = tuple[str, bool, int]
"""The tuple that a cell is counted from: its variable, whether from the last, and how far."""


def cells_of(expression: Expression) -> list[Cell]:
    """The cells that an expression reads."""
    named = (cell_of(e.name) for e in walk(expression) if isinstance(e, Column))
    return [cell for cell in named if cell is not None]


@dataclass(frozen=True)
class Tests:
    """The conditions of a pattern.

    `local[v]` is what variable v asks of the tuple under test and its neighbours, over columns of
    the rows (`price@-1` is that of the tuple before); it is evaluated for all rows at once. The
    rest of condition c is `code`, whose loads name a register, the tuple at `places[register]`, and
    one of the `derived` columns, which are made of each row alone.
    """

    local: tuple[Expression, ...]
    derived: tuple[Expression, ...]
    places: tuple[Place, ...]
    code: Code
    cross: tuple[Expression, ...]

    @staticmethod
    def of(
        tests: Sequence[tuple[str, Expression]],
        more: Sequence[Expression] = (),
        places: Sequence[Place] = (),
        tallies: Mapping[str, int] | None = None,
    ) -> Tests:
        """Conditions that a variable's tuple is tested with, then `more` that have no local part.

        Registers are the given places first, then those that are met.
        """
        split = _Split(list(places), dict(tallies or {}))
        local, cross = [], []
        for variable, condition in tests:
            here, rest = split.parts(variable, condition)
            local.append(here)
            cross.append(rest)
        cross += [split.hoisted(condition) for condition in more]
        code = Code.of(cross, split.loads, split.tallies)
        return Tests(tuple(local), tuple(split.derived), tuple(split.places), code, tuple(cross))

    @property
    def row_columns(self) -> frozenset[str]:
        """The columns of rows that conditions read, with their shifts."""
        expressions = (*self.local, *self.derived)
        return frozenset(e.name for x in expressions for e in walk(x) if isinstance(e, Column))


@dataclass
class _Split:
    places: list[Place]
    tallies: dict[str, int]
    derived: list[Expression] = field(default_factory=list)
    loads: dict[str, tuple[int, int]] = field(default_factory=dict)

    def parts(self, variable: str, condition: Expression) -> tuple[Expression, Expression]:
        here, rest = list[Expression](), list[Expression]()
        for part in conjuncts(condition):
            mine = all(c.variable == variable and c.is_current for c in cells_of(part))
            (here if mine and not self._has_tally(part) else rest).append(part)
        local = rewrite(conjunction(here), of_row)
        return local, self.hoisted(conjunction(rest)) if rest else TRUE

    def hoisted(self, condition: Expression) -> Expression:
        """The condition with each part that looks at one tuple as a column of rows."""
        return rewrite(condition, self._hoist)

    def _hoist(self, part: Expression) -> Expression | None:
        places = {cell.place for cell in cells_of(part)}
        if len(places) != 1 or self._has_tally(part):
            return None
        made, place = rewrite(part, of_row), next(iter(places))
        absent = _of_no_tuple(made)
        loaded = self._load(place, made)
        if absent.value is None:
            return loaded
        none = Call("is_null", (self._load(place, TRUE),), BOOLEAN)
        return Case(((none, absent),), loaded, part.type)

    def _load(self, place: Place, value: Expression) -> Column:
        """The value that is computed of the tuple at a place; NULL if there is none."""
        if value not in self.derived:
            self.derived.append(value)
        if place not in self.places:
            self.places.append(place)
        register, column = self.places.index(place), self.derived.index(value)
        name = f"#load {register} {column}"
        self.loads[name] = register, column
        return Column(name, value.type)

    def _has_tally(self, part: Expression) -> bool:
        return any(isinstance(e, Column) and e.name in self.tallies for e in walk(part))


def _of_no_tuple(value: Expression) -> Literal:
    """What a value is where all columns are NULL."""
    columns = [e for e in walk(value) if isinstance(e, Column)]
    nulls = {c.name: pa.nulls(1, c.type) for c in columns}
    return Literal(evaluate(value, pa.record_batch(nulls), 1)[0].as_py(), value.type)


def of_row(part: Expression) -> Expression | None:
    """A cell as a column of its row."""
    cell = cell_of(part.name) if isinstance(part, Column) else None
    return None if cell is None else Column(shifted_name(cell.column, cell.shift), part.type)


@dataclass(frozen=True, eq=False)
class Scene:
    """Rows as a search sees them: what local conditions say of each, a bit for each variable, and
    the derived columns, as words, with what is known of them."""

    mask: np.ndarray
    values: np.ndarray
    known: np.ndarray

    @staticmethod
    def of(tests: Tests, rows: pa.RecordBatch, length: int) -> Scene:
        mask = np.zeros(length, np.int64)
        for variable, condition in enumerate(tests.local):
            bit = 1 << variable
            mask |= bit if condition == TRUE else holds(condition, rows, length) * np.int64(bit)
        columns = [evaluate(value, rows, length) for value in tests.derived]
        values = np.zeros((len(columns), length), np.int64)
        known = np.ones((len(columns), length), np.bool_)
        ranks = _ranks([c for c in columns if is_ranked(c.type)])
        for i, column in enumerate(columns):
            values[i], known[i] = words_of(column)
            if is_ranked(column.type):
                values[i] = next(ranks)
        return Scene(mask, values, known)


def words_of(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """A column as words, doubles by their bits, and which of them are known."""
    floating = pa.types.is_floating(column.type)
    words = as_floats(column).view(np.int64) if floating else as_words(column)
    valid = validity(column)
    return words, np.ones(len(column), np.bool_) if valid is None else valid


def _ranks(columns: Sequence[pa.Array]) -> Iterator[np.ndarray]:
    """Texts, or decimals, as their ranks among all of the columns of their type."""
    out: list[np.ndarray] = [np.zeros(0, np.int64)] * len(columns)
    for kind in dict.fromkeys(column.type for column in columns):
        mine = [i for i, column in enumerate(columns) if column.type == kind]
        every = pa.concat_arrays([columns[i] for i in mine]).dictionary_encode()
        rank = np.empty(len(every.dictionary) + 1, np.int64)
        rank[pc.sort_indices(every.dictionary).to_numpy()] = np.arange(len(every.dictionary))
        ranks = rank[every.indices.fill_null(len(every.dictionary)).to_numpy()]
        for at, part in zip(mine, np.split(ranks, len(mine))):
            out[at] = part
    return iter(out)


def with_shifts(
    rows: pa.RecordBatch, starts: np.ndarray, wanted: Iterable[tuple[str, int]]
) -> pa.RecordBatch:
    """Rows that lie partition by partition, with columns as they are some tuples on.

    `starts` are where partitions begin, and the end of the last. There is NULL beyond a partition.
    """
    columns, names = list(rows.columns), list(rows.schema.names)
    beyond: dict[int, pa.Array] = {}
    for name, shift in wanted:
        if shift not in beyond:
            beyond[shift] = pa.array(_beyond(starts, shift))
        column = _moved(rows.column(name), shift)
        columns.append(pc.if_else(beyond[shift], pa.scalar(None, column.type), column))
        names.append(shifted_name(name, shift))
    return pa.RecordBatch.from_arrays(columns, names=names)


def _moved(column: pa.Array, shift: int) -> pa.Array:
    """A column as it is some rows on, with NULL where there are none."""
    count = len(column)
    nulls = pa.nulls(min(abs(shift), count), column.type)
    if shift < 0:
        return pa.concat_arrays([nulls, column.slice(0, count - len(nulls))])
    return pa.concat_arrays([column.slice(len(nulls)), nulls])


def _beyond(starts: np.ndarray, shift: int) -> np.ndarray:
    """The rows from which so many rows on is not in their partition."""
    low, high = starts[:-1], starts[1:]
    sizes = np.minimum(abs(shift), high - low)
    edge = low if shift < 0 else high - sizes
    found = np.zeros(starts[-1], np.bool_)
    found[np.arange(sizes.sum()) + np.repeat(edge - (np.cumsum(sizes) - sizes), sizes)] = True
    return found
