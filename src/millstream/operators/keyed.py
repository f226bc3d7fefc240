"""Keys: which columns of a condition between two inputs must be equal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.algebra.expressions import TRUE, Call, Column, Expression, conjuncts
from millstream.columns.keys import hashes_of, validity


def equal_columns(
    condition: Expression, left: pa.Schema, right: pa.Schema
) -> tuple[tuple[str, str], ...]:
    """The pairs of a left and a right column, of one type, whose equality a condition asks for.

    Equality that holds between NULLs as well counts, too.
    """
    found: dict[tuple[str, str], None] = {}
    for part in conjuncts(condition):
        match part:
            case Call(function="=", arguments=(Column() as a, Column() as b)):
                pass
            case Call(
                function="not",
                arguments=(
                    Call(function="distinct_from", arguments=(Column() as a, Column() as b)),
                ),
            ):
                pass
            case _:
                continue
        if a.name in right.names and b.name in left.names:
            a, b = b, a
        if a.name in left.names and b.name in right.names and a.type == b.type:
            found[a.name, b.name] = None
    return tuple(found)


@dataclass(frozen=True)
class Keys:
    """What a condition between two inputs says about keys.

    `strict` says of every pair whether NULL in it matches nothing; `enough` says that the hash of
    the keys decides the whole condition.
    """

    pairs: tuple[tuple[str, str], ...]
    strict: tuple[bool, ...]
    enough: bool

    @staticmethod
    def of(condition: Expression, left: pa.Schema, right: pa.Schema) -> Keys:
        pairs = equal_columns(condition, left, right)
        asked = {_equality(part) for part in conjuncts(condition)}
        strict = tuple(bool({(a, b), (b, a)} & asked) for a, b in pairs)
        kinds = [left.field(a).type for a, _ in pairs]
        enough = condition == TRUE or (len(asked) == 1 and strict == (True,) and _is_word(kinds[0]))
        return Keys(pairs, strict, enough)

    def findable(self, rows: pa.RecordBatch, length: int, side: int) -> np.ndarray:
        """The rows in which no key is NULL that must not be; side 0 is the left, 1 the right."""
        valid = [
            known
            for pair, strict in zip(self.pairs, self.strict)
            if strict and (known := validity(rows.column(pair[side]))) is not None
        ]
        return np.flatnonzero(np.logical_and.reduce(valid)) if valid else np.arange(length)

    def hashes(self, rows: pa.RecordBatch, length: int, side: int) -> np.ndarray:
        """A number for every row that rows with equal keys share; one for all without keys."""
        return hashes_of([rows.column(pair[side]) for pair in self.pairs], length)


def _equality(part: Expression) -> tuple[str, str] | None:
    match part:
        case Call(function="=", arguments=(Column() as a, Column() as b)):
            return a.name, b.name
    return None


def _is_word(kind: pa.DataType) -> bool:
    """True for types whose hash is another number for every value."""
    return pa.types.is_integer(kind) or pa.types.is_timestamp(kind)
