"""CLASSIFIER in conditions: the name of a variable becomes its place in the order of names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pyarrow as pa

from millstream.algebra.evaluate import evaluate
from millstream.algebra.expressions import (
    Call,
    Case,
    Column,
    Expression,
    Literal,
    columns_of,
    rewrite,
)
from millstream.algebra.types import BOOLEAN, INTEGER, STRING
from millstream.patterns.postfix import NotPostfix

MATCH_NUMBER = "match_number()"
CLASSIFIED = re.compile(r"classifier\((?P<variable>.*)\)", re.DOTALL)
_NO_COLUMNS = pa.record_batch({})
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


def classifier(variable: str) -> str:
    """The canonical name of what CLASSIFIER says of some variables."""
    return f"classifier({variable})"


def variable_of(name: str) -> str | None:
    """The variables of such a name."""
    found = CLASSIFIED.fullmatch(name)
    return None if found is None else found["variable"]


def classified(condition: Expression) -> list[str]:
    """The variables whose classifiers a condition reads."""
    found = map(CLASSIFIED.fullmatch, sorted(columns_of(condition)))
    return [match["variable"] for match in found if match is not None]


def ranked(
    condition: Expression,
    variable: str,
    holds: Callable[[str], bool],
    names: Mapping[str, tuple[str, ...]],
    ranks: Mapping[str, int],
) -> Expression:
    """A condition of a variable, over the ranks of names in place of the names.

    A part that depends on one classifier alone is tabulated.
    """

    def itself(part: Expression) -> Expression | None:
        found = CLASSIFIED.fullmatch(part.name) if isinstance(part, Column) else None
        return Literal(variable, STRING) if found and holds(found["variable"]) else None

    def tabulated(part: Expression) -> Expression | None:
        read = columns_of(part)
        if not read and not isinstance(part, Literal) and part.type != STRING:
            return Literal(evaluate(part, _NO_COLUMNS, 1)[0].as_py(), part.type)
        if not any(CLASSIFIED.fullmatch(name) for name in read):
            return None
        if len(read) == 1 and part.type != STRING:
            return _table(part, next(iter(read)), names, ranks)
        if isinstance(part, Call) and part.function in _COMPARISONS:
            both = [Column(a.name, INTEGER) for a in part.arguments if _is_classifier(a)]  # type: ignore[attr-defined]
            if len(both) == 2:
                return Call(part.function, tuple(both), BOOLEAN)
        if _is_classifier(part):
            raise NotPostfix(part)
        return None

    return rewrite(rewrite(condition, itself), tabulated)


def _is_classifier(part: Expression) -> bool:
    return isinstance(part, Column) and CLASSIFIED.fullmatch(part.name) is not None


def _table(
    part: Expression, name: str, names: Mapping[str, tuple[str, ...]], ranks: Mapping[str, int]
) -> Expression:
    """What a part is for each name that a classifier can be, and for none."""
    found = CLASSIFIED.fullmatch(name)
    assert found is not None
    each = [*names[found["variable"]], None]
    rows = pa.record_batch({name: pa.array(each, STRING)})
    *values, none = evaluate(part, rows, len(each)).to_pylist()
    branches = tuple(
        (
            Call("=", (Column(name, INTEGER), Literal(int(ranks[one]), INTEGER)), BOOLEAN),
            Literal(value, part.type),
        )
        for one, value in zip(each, values)
        if one is not None
    )
    return Case(branches, Literal(none, part.type), part.type)
