"""Functions of other systems that are not here: what to write instead, with the author's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyarrow.types import is_integer
from sqlglot import exp

from millstream.algebra.window_columns import WINDOW_COLUMNS
from millstream.bind.expressions.vocabulary import UNITS
from millstream.bind.names.scope import Scope
from millstream.errors import MillstreamError
from millstream.lang import to_sql
from millstream.lang.grammar.elsewhere import UNFOLD, without_stream

Hint = str | Callable[[list[str]], str]
_SECONDS = {"second": 1, "minute": 60, "hour": 3600}
_NESTED = "Select the values as columns of their own."
_FIELD = "Declare the field as a column of the stream."
_FORMAT = "Write CAST({0} AS string), or date_trunc('day', {0})."
_CHANCE = "Take it from the source: an answer is the same in every run."


def _shifted(arguments: list[str]) -> str:
    """DATEADD(minute, 5, at) as at + INTERVAL '5' MINUTE."""
    unit, count, time = (*arguments, "minute", "5", "ts")[:3] if len(arguments) >= 3 else _SHIFT
    unit = unit.strip("'\"").upper().removesuffix("S")
    if count.lstrip("-").isdigit():
        sign = "-" if count.startswith("-") else "+"
        return f"Write {time} {sign} INTERVAL '{count.lstrip('-')}' {unit}."
    return f"Write {time} + {count} * INTERVAL '1' {unit}."


_SHIFT = ("minute", "5", "ts")


def _between(unit: str, later: str, earlier: str) -> str:
    """The difference of two times in a unit."""
    unit = unit.strip("'\"").lower().removesuffix("s")
    if unit == "day":
        return f"Write datediff({later}, {earlier})."
    difference = f"epoch({later}) - epoch({earlier})"
    if unit in ("minute", "hour"):
        return f"Write ({difference}) / {_SECONDS[unit]}."
    return f"Write {difference}, which gives seconds."


def _decoded(arguments: list[str]) -> str:
    if len(arguments) < 3:
        return "Write CASE x WHEN value THEN result … ELSE other END."
    value, *rest = arguments
    pairs = [f"WHEN {rest[i]} THEN {rest[i + 1]}" for i in range(0, len(rest) - 1, 2)]
    other = f" ELSE {rest[-1]}" if len(rest) % 2 else ""
    return f"Write CASE {value} {' '.join(pairs)}{other} END."


HINTS: dict[str, Hint] = {
    "add_months": "Write {0} + INTERVAL '30' DAY: a month is no fixed length of time.",
    "any_value": "Write max({0}), or first({0}).",
    "approx_percentile": "Write quantile({0}, {1}).",
    "approx_quantiles": "Write quantile({0}, 0.5).",
    "array": "Write array_agg for the values of a group.",
    "convert": "Write CAST({1} AS {0}).",
    "count_if": "Write count(*) FILTER (WHERE {0}).",
    "countif": "Write count(*) FILTER (WHERE {0}).",
    "date_format": _FORMAT,
    "date_sub": "Write date_add({0}, -{1}).",
    "dateadd": _shifted,
    "datename": _FORMAT,
    "decode": _decoded,
    "earliest_by_offset": "Write first({0}).",
    "explode": UNFOLD,
    "flatten": UNFOLD,
    "format_date": _FORMAT,
    "format_timestamp": _FORMAT,
    "gen_random_uuid": _CHANCE,
    "get_json_object": _FIELD,
    "isnumeric": "Write TRY_CAST({0} AS double) IS NOT NULL.",
    "json_extract": _FIELD,
    "json_extract_scalar": _FIELD,
    "json_value": _FIELD,
    "latest_by_offset": "Write last({0}).",
    "map": _NESTED,
    "named_struct": _NESTED,
    "newid": _CHANCE,
    "nullifzero": "Write nullif({0}, 0).",
    "nvl2": "Write CASE WHEN {0} IS NULL THEN {2} ELSE {1} END.",
    "object_construct": _NESTED,
    "percentile_approx": "Write quantile({0}, {1}).",
    "percentile_disc": "Write quantile(x, {0}).",
    "posexplode": UNFOLD,
    "rand": _CHANCE,
    "random": _CHANCE,
    "regexp_extract": "Write regexp_replace({0}, pattern, '\\1').",
    "regexp_substr": "Write regexp_replace({0}, pattern, '\\1').",
    "row": _NESTED,
    "safe_divide": "Write {0} / nullif({1}, 0).",
    "space": "Write repeat(' ', {0}).",
    "split": "Write split_part({0}, {1}, 1) for the first part.",
    "str_to_date": "Write CAST({0} AS date).",
    "strftime": _FORMAT,
    "struct": _NESTED,
    "substring_index": "Write split_part({0}, {1}, 1).",
    "sumif": "Write sum({0}) FILTER (WHERE {1}).",
    "timestamp_add": "Write {0} + {1}.",
    "timestamp_sub": "Write {0} - {1}.",
    "timestampadd": _shifted,
    "to_char": _FORMAT,
    "to_json": _NESTED,
    "to_number": "Write CAST({0} AS double).",
    "to_unixtime": "Write epoch({0}).",
    "to_varchar": "Write CAST({0} AS string).",
    "try_to_number": "Write TRY_CAST({0} AS double).",
    "unix_timestamp": "Write epoch({0}).",
    "unnest": UNFOLD,
    "uuid": _CHANCE,
    "zeroifnull": "Write coalesce({0}, 0).",
}
COLUMNS = {
    "rownum": "Write ORDER BY … LIMIT for the first rows.",
    "sysdate": "Use a window such as [Range 5 Minutes] for what is recent.",
    "systimestamp": "Use a window such as [Range 5 Minutes] for what is recent.",
    "getdate": "Use a window such as [Range 5 Minutes] for what is recent.",
}
"""Columns that other systems have in every table."""
_NUMBERING = ("row_number", "rank", "dense_rank", "ntile", "percent_rank", "cume_dist")
_NEIGHBOURS = ("lag", "lead")


def of_others(node: exp.Column, scope: Scope) -> str | None:
    """What to write for a column that other systems have, or for a word that was taken for one."""
    name, order = node.name.lower(), scope.ordered_by
    if name in ("rowtime", "_rowtime"):
        return f"Write {order[0]}." if order else "Write the column that the stream is ordered by."
    if name in WINDOW_COLUMNS:
        short, long = ("100", "200") if order and is_integer(order[1]) else _LENGTHS
        return (
            f"Give it a window that has this column: FROM {source_of(node)} [Tumble {short}], "
            f"[Hop {long} Every {short}] or [Session {short}]."
        )
    if name == "stream" and isinstance(node.parent, exp.Alias):
        select = node.find_ancestor(exp.Select)
        rest = [to_sql(item) for item in select.expressions[1:]] if select is not None else []
        return without_stream(", ".join([node.parent.alias, *rest]))
    return COLUMNS.get(name)


_LENGTHS = ("5 Minutes", "10 Minutes")


def refused(
    name: str, given: Sequence[exp.Expr], node: exp.Expr, scope: Scope
) -> MillstreamError | None:
    """What to say about a call that other systems know, or know in another form."""
    said = [to_sql(argument) for argument in given]
    if name in ("datediff", "date_diff", "timestampdiff", "timestamp_diff") and len(said) == 3:
        first, second, third = said
        is_first = _is_unit(given[0])
        hint = _between(first, third, second) if is_first else _between(third, first, second)
        message = "cannot take 3 arguments" if name.startswith("date") else "does not exist"
        return MillstreamError(f'function "{name}" {message}', hint=hint)
    if name in ("timestamp_trunc", "date_trunc") and len(said) == 2 and _is_unit(given[1]):
        unit = said[1].lower()
        return MillstreamError(
            f'function "{name}" takes the unit first, as a string',
            hint=f"Write date_trunc('{unit}', {said[0]}).",
        )
    if name == "datepart" and len(said) == 2 and _is_unit(given[0]):
        return MillstreamError(
            'function "datepart" takes the unit as a string',
            hint=f"Write EXTRACT({said[0].upper()} FROM {said[1]}).",
        )
    missing = MillstreamError(f'function "{name}" does not exist')
    if name in HINTS:
        known = HINTS[name]
        missing.hint = known(said) if callable(known) else known.format(*said, *"abc"[len(said) :])
    elif name in _NEIGHBOURS:
        value = said[0] if said else "x"
        missing.hint = f"The value of the row before is lag({value}) OVER (PARTITION BY …)."
    elif name in _NUMBERING:
        called = name if name in _NUMBERING[:3] else "row_number"
        missing.hint = f"Write {called}() OVER (PARTITION BY …)."
    else:
        return None
    return missing


def source_of(node: exp.Expr) -> str:
    """The name after FROM of the query that a node is in."""
    select = node.find_ancestor(exp.Select)
    clause = select.args.get("from_") if select is not None else None
    return clause.this.name or "s" if clause is not None else "s"


def _is_unit(node: exp.Expr) -> bool:
    """Whether a bare word names a unit of time."""
    lone = isinstance(node, exp.Column) and not node.table
    return lone and node.name.lower().removesuffix("s") in UNITS
