"""Errors about functions whose arguments do not fit, and about syntax that is not supported."""

from __future__ import annotations

import re
from collections.abc import Sequence
from zoneinfo import available_timezones

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from millstream.aggregates.aggregate import Aggregate
from millstream.aggregates.builtin import BUILTINS, builtin
from millstream.algebra.expressions import Expression, Literal
from millstream.algebra.functions import FUNCTIONS
from millstream.algebra.types import (
    INTEGER,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    is_numeric,
    is_temporal,
    type_name,
)
from millstream.bind.expressions.elsewhere import source_of
from millstream.bind.expressions.vocabulary import ALIASES
from millstream.bind.names.scope import Scope
from millstream.bind.names.trees import aggregate_of, only_tested, stands_around
from millstream.errors import MillstreamError, Notice, Place, closest, misspelt
from millstream.lang import place_of, to_sql

LATER = (
    "top_k",
    "topk",
    "mode",
    "corr",
    "covar_pop",
    "covar_samp",
    "skewness",
    "kurtosis",
    "histogram",
)
"""Aggregates that people know from elsewhere."""


ALIKE = 0.81
"""How much of a name must be that of an aggregate: decay_average is meant for decay_avg."""
EPOCHS = ("seconds", "millis", "micros")


def a(kind: pa.DataType) -> str:
    """A type with its article, for messages."""
    return f"{'an' if kind == INTERVAL or pa.types.is_list(kind) else 'a'} {type_name(kind)}"


def misfit(name: str, arguments: list[Expression], place: Place | None) -> MillstreamError:
    """A function or operator with arguments it does not take."""
    kinds = [argument.type for argument in arguments]
    usage = FUNCTIONS[name].usage
    kind = (
        "function"
        if f"{name}(" in usage.replace("startswith", "starts_with").replace("endswith", "ends_with")
        else "operator"
    )
    shown = {"neg": "-", "like": "LIKE", "not": "NOT"}.get(name, name)
    given = " and ".join(a(k) for k in kinds)
    if FUNCTIONS[name].sign([NULL] * len(kinds)) is None:
        given = "1 argument" if len(kinds) == 1 else f"{len(kinds) or 'no'} arguments"
    takes = f'{kind} "{shown}" cannot take {given}'
    return MillstreamError(takes, place, hint=_advice(name, kinds, usage))


def _advice(name: str, kinds: list[pa.DataType], usage: str) -> str:
    if any(pa.types.is_list(kind) for kind in kinds):
        return "Arrays can be compared with = and <>, grouped by, counted and collected."
    if name == "not":
        return "Compare it with something, for example with = or >."
    if name == "+" and STRING in kinds:
        return "Write a || b to join strings, or CAST the string to a number."
    if name in ("+", "-") and any(map(is_temporal, kinds)):
        return "Add or take away a length of time: INTERVAL '5' MINUTE."
    if name in ("+", "-") and INTERVAL in kinds:
        return "Add it to a timestamp: ts + INTERVAL '1' DAY."
    if name == "*" and INTERVAL in kinds:
        return "Multiply the interval by a whole number."
    if name in ("+", "-", "*", "/", "%", "div", "neg") and STRING in kinds:
        return "CAST the string to a number, for example CAST(x AS double)."
    if (
        name
        in (
            "=",
            "<>",
            "<",
            "<=",
            ">",
            ">=",
            "distinct_from",
            "coalesce",
            "nullif",
            "greatest",
            "least",
        )
        and len(kinds) > 1
    ):
        if any(map(is_temporal, kinds)) and any(map(is_numeric, kinds)):
            return "Say what the number counts: write timestamp_seconds(…) or timestamp_millis(…)."
        if INTERVAL in kinds:
            return "Write a length of time as INTERVAL '5' MINUTE."
        return f"CAST one of them, for example to {type_name(kinds[0])}."
    return f"Write {usage}."


def no_cast(value: Expression, kind: pa.DataType, node: exp.Expr, text: str) -> MillstreamError:
    """A CAST that there is not. A number may be a time in several units."""
    hint = "Write INTERVAL '5' MINUTE." if kind == INTERVAL else None
    if kind == INTERVAL and value.type == INTEGER:
        hint = f"Say what it counts: write {written(node, text)} * INTERVAL '1' SECOND."
    if kind == TIMESTAMP and is_numeric(value.type):
        calls = [f"timestamp_{unit}({written(node, text)})" for unit in EPOCHS]
        whole = f"Say what it counts: write {calls[0]}, {calls[1]} or {calls[2]}."
        hint = whole if value.type == INTEGER else f"Write {calls[0]}, if it counts seconds."
    return MillstreamError(f"CAST cannot make {a(kind)} of {a(value.type)}", hint=hint)


def local_time(time: exp.Expr, zone: exp.Expr, text: str) -> Notice:
    """What AT TIME ZONE takes a time for: half of those who write it mean the opposite."""
    what, where = written(time, text), written(zone, text)
    return Notice(
        f"{what} AT TIME ZONE {where} takes {what} for a local time there, and gives UTC",
        f"Write from_utc_timestamp({what}, {where}) for the local time of a time in UTC.",
    )


def written(node: exp.Expr, text: str) -> str:
    """The text of an expression, if it is short and on one line."""
    place = place_of(node, text)
    found = "" if place is None else place.text[place.start : place.end]
    return found if 0 < len(found) <= 40 and "\n" not in found else "x"


def no_function(name: str, place: Place | None, routines: Sequence[str]) -> MillstreamError:
    """A name before parentheses that means nothing, beside those of aggregates in blocks."""
    if name in LATER:
        return MillstreamError(
            f'aggregate "{name}" is not supported yet',
            place,
            hint=f"Use one of {', '.join(a.name for a in BUILTINS)}.",
        )
    if name in ("all", "any", "some"):
        word = name.upper()
        return MillstreamError(
            f"{word} needs a subquery", place, hint=f"Write x > {word} (SELECT …), or IN (1, 2)."
        )
    aggregates = [called for a in BUILTINS for called in (a.name, *a.aliases)]
    near = misspelt(name, [*FUNCTIONS, *ALIASES, *aggregates, *routines])
    near = near or closest(name, list(routines), ALIKE)
    hint = f'Did you mean "{near}"?' if near else "Look it up in docs/language/functions.md."
    return MillstreamError(f'function "{name}" does not exist', place, hint=hint)


def misplaced(called: Aggregate, clause: str) -> MillstreamError:
    """An aggregate where single rows are looked at."""
    return misplaced_call(called.name, clause)


def misplaced_call(name: str, clause: str) -> MillstreamError:
    """The same for an aggregate of any kind."""
    if clause.startswith("aggregate"):
        hint = "Compute the inner one first, in a subquery in FROM or in a view."
    elif clause == "WHERE":
        hint = "WHERE tests single rows; test groups in HAVING."
    elif clause in ("VALUES", "SET"):
        hint = f"Write a subquery: (SELECT {name}(…) FROM table)."
    else:
        hint = "Move it to the select list or to HAVING."
    return MillstreamError(f'aggregate "{name}" cannot stand in {clause}', hint=hint)


def no_clock(name: str, node: exp.Expr) -> MillstreamError:
    """The time of day, which would make an answer depend on when it is computed."""
    recent = f"FROM {source_of(node)} [Range 5 Minutes]"
    return MillstreamError(
        f'function "{name}" is not supported yet',
        hint=f"For what is recent write Now alone, in WHERE, HAVING or ON, or a window, {recent}; "
        "for the time of arrival, order the stream by current_time.",
    )


def of_select_list(node: exp.Column, clause: str) -> str | None:
    """A hint for a name of the select list where it cannot be used."""
    select = node.find_ancestor(exp.Select)
    if select is None or node.table or select.args.get("from_") is None:
        return None
    named = [item for item in select.expressions if isinstance(item, exp.Alias)]
    found = [item.this for item in named if item.alias.lower() == node.name.lower()]
    if not found:
        return None
    if len(found) > 1:
        return f'Give one of the columns "{node.name}" of the select list another name.'
    said = to_sql(found[0])
    if clause == "WHERE" and any(aggregate_of(part, builtin) for part in found[0].walk()):
        return f"Test {said} in HAVING: WHERE tests single rows."
    return f"Write {said}: names of the select list cannot stand in {clause}."


def no_member(node: exp.Column, scope: Scope) -> MillstreamError:
    """A name before a point that is not in FROM, or not any more."""
    if word := only_tested(node):
        return MillstreamError(
            f'"{node.table}" gives no columns: it stands in a {word} JOIN',
            hint=f"Write JOIN instead of {word} JOIN, or leave the column out.",
        )
    if stands_around(node):
        return MillstreamError(
            f'a subquery in FROM cannot use "{node.table}", which stands beside or around it',
            hint="Select the column here, and compare it in ON or WHERE outside.",
        )
    return scope.no_member(node.table, node.name)


def quantifier_of(node: exp.Expr, text: str) -> str:
    """ALL, ANY or SOME, as it was written."""
    place = place_of(node, text)
    written = text[place.start : place.start + 4].upper() if place is not None else ""
    return "SOME" if written == "SOME" else node.key.upper()


def _of_group(node: exp.WithinGroup) -> str:
    """A hint that has the values which WITHIN GROUP puts in order as an argument."""
    order = node.args["expression"]
    keys = [key.this if isinstance(key, exp.Ordered) else key for key in order.expressions]
    called = node.this
    given = [to_sql(n) for n in called.expressions] if isinstance(called, exp.Anonymous) else []
    name = str(called.this).lower() if isinstance(called, exp.Anonymous) else ""
    if name.startswith(("percentile", "quantile")):
        return f"Write quantile({', '.join([to_sql(keys[0]), *given])})."
    return "Leave it out: values come in the order of time."


def not_yet(node: exp.Expr, text: str) -> MillstreamError:
    """What the grammar has and the system does not, with a way out."""
    match node:
        case exp.All() | exp.Any():
            word = quantifier_of(node, text)
            return MillstreamError(
                f"{word} stands on the right of a comparison, before a subquery",
                hint=f"Write x > {word} (SELECT …).",
            )
        case exp.WithinGroup():
            return MillstreamError("WITHIN GROUP is not supported", hint=_of_group(node))
        case exp.Dot(this=exp.Anonymous() as call):
            return MillstreamError(
                f"{call.name}(…) has no columns",
                hint="In a sequence write Y.previous.c, FIRST(Y).c and LAST(Y).c.",
            )
        case exp.Tuple():
            return MillstreamError(
                "a list in parentheses cannot stand here", hint="Write its values one by one."
            )
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).upper()
    return MillstreamError(f"{words} is not supported in an expression")


def check_zone(zone: Literal, place: Place | None) -> None:
    """That a constant is the name of a time zone, or a distance from UTC such as +02:00."""
    if zone.value is None:
        return
    try:
        pc.local_timestamp(pa.array([0]).cast(pa.timestamp("us", zone.value)))
    except pa.ArrowInvalid:
        near = closest(zone.value, sorted(available_timezones()))
        raise MillstreamError(
            f"time zone {zone} does not exist",
            place,
            hint=f"Did you mean '{near}'?" if near else "Write for example 'Europe/Berlin'.",
        ) from None


def wrong_if(count: int) -> MillstreamError:
    """`if` with another number of arguments."""
    here = "is 1" if count == 1 else f"are {count or 'none'}"
    return MillstreamError(
        f'function "if" takes 3 arguments, and here {here}',
        hint="Write if(condition, value, other).",
    )
