"""The built-in aggregates: a new one is a file beside this one, and a line here."""

from __future__ import annotations

from functools import lru_cache

from millstream.aggregates.aggregate import Aggregate
from millstream.aggregates.chosen import FIRST, LAST, MAX_BY, MIN_BY, NTH_VALUE
from millstream.aggregates.count import COUNT, COUNT_DISTINCT
from millstream.aggregates.deviations import STDDEV_POP, STDDEV_SAMP, VAR_POP, VAR_SAMP
from millstream.aggregates.extremes import BOOL_AND, BOOL_OR, MAX, MIN
from millstream.aggregates.lists import ARRAY_AGG, COLLECT_SET, STRING_AGG
from millstream.aggregates.quantiles import MEDIAN, QUANTILE
from millstream.aggregates.ranking import RANKINGS
from millstream.aggregates.sums import AVG, SUM
from millstream.errors import MillstreamError

BUILTINS: tuple[Aggregate, ...] = (
    COUNT,
    SUM,
    AVG,
    MIN,
    MAX,
    VAR_SAMP,
    VAR_POP,
    STDDEV_SAMP,
    STDDEV_POP,
    MEDIAN,
    QUANTILE,
    FIRST,
    LAST,
    NTH_VALUE,
    MIN_BY,
    MAX_BY,
    COUNT_DISTINCT,
    BOOL_AND,
    BOOL_OR,
    STRING_AGG,
    ARRAY_AGG,
    COLLECT_SET,
)


def builtin(name: str) -> Aggregate | None:
    """The built-in aggregate that people call so, in any case; None if there is none.

    >>> builtin("Mean")
    avg#a6d53612ff90f961
    """
    return _as_written(BUILTINS).get(name.lower())


def named(name: str) -> Aggregate:
    """The built-in aggregate of this name in a plan, such as `sum_distinct`."""
    found = _in_plans((*BUILTINS, *RANKINGS)).get(name)
    if found is None:
        raise MillstreamError(f'aggregate "{name}" does not exist')
    return found


@lru_cache(maxsize=1)
def _as_written(known: tuple[Aggregate, ...]) -> dict[str, Aggregate]:
    return {name: a for a in known for name in (a.name, *a.aliases)}


@lru_cache(maxsize=1)
def _in_plans(known: tuple[Aggregate, ...]) -> dict[str, Aggregate]:
    return {a.name: a for one in known for a in (one, one.once) if a is not None}
