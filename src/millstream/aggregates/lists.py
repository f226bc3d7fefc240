"""All values of the group: string_agg, array_agg, collect_set."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from millstream.aggregates.aggregate import Aggregate, Arity, Parameter, Sorting
from millstream.aggregates.collected import Collected, joined, listed
from millstream.aggregates.distinct import once
from millstream.algebra.types import STRING


def _text(argument: pa.DataType | None) -> pa.DataType | None:
    return None if argument is None or pa.types.is_list(argument) else STRING


def _list(argument: pa.DataType | None) -> pa.DataType | None:
    return None if argument is None else pa.list_(argument)


def _separator(value: object, kind: pa.DataType) -> str | None:
    return value if isinstance(value, str) else None


_STRING_AGG = Aggregate(
    "string_agg",
    "string_agg(x, ', ')",
    "all values as one text; without a separator `,`",
    _text,
    Collected(joined),
    aliases=("listagg", "group_concat"),
    arity=Arity(1, 2, "what stands between", "string_agg(name, ', ')"),
    parameter=Parameter(
        str,
        _separator,
        "the separator of string_agg must be a constant string",
        "Write string_agg(name, ', ').",
        default=",",
    ),
    argument=STRING,
    sorting=Sorting.TIME_IF_ANY,
)
STRING_AGG = replace(_STRING_AGG, once=once(_STRING_AGG, Collected(joined, once=True)))

_ARRAY_AGG = Aggregate(
    "array_agg",
    "array_agg(x)",
    "all values as an array, NULL too",
    _list,
    Collected(listed, nulls=True),
    aliases=("collect_list", "list"),
    sorting=Sorting.TIME_IF_ANY,
    counts_nulls=True,
)
ARRAY_AGG = replace(_ARRAY_AGG, once=once(_ARRAY_AGG, Collected(listed, nulls=True, once=True)))

COLLECT_SET = Aggregate(
    "collect_set",
    "collect_set(x)",
    "the different values as an array, ascending",
    _list,
    Collected(listed, once=True),
    ignores_copies=True,
)
