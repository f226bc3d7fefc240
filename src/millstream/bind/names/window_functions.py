"""Windows as other systems write them, as functions: a message that shows them in brackets."""

from __future__ import annotations

from sqlglot import exp

from millstream.errors import MillstreamError
from millstream.lang import Interval, interval_from_text, interval_of, place_of

SLOTS = ("tumble", "hop", "session", "window", "session_window", "date_bin", "time_bucket")
BOUNDS = {"start": "window_start", "end": "window_end", "rowtime": "window_end"}
"""What tumble_start(…) and the like are called here, by the ends of their names."""

STREAM = "s"


def window_in_from(call: exp.Expr, text: str) -> MillstreamError | None:
    """`TUMBLE(TABLE s, …)` in FROM, also inside `TABLE(…)`; None for another function."""
    inner = call
    if _name(call) == "table" and call.expressions and isinstance(call.expressions[0], exp.Func):
        inner = call.expressions[0]
    if _name(inner) not in ("tumble", "hop", "session", "cumulate"):
        return None
    first = inner.expressions[0] if inner.expressions else exp.column(STREAM)
    table = first.find(exp.Table)
    stream = table.name if table is not None else first.name
    partition = [column.sql() for column in first.meta.get("partition_by", ())]
    window = _in_brackets(_name(inner), inner.expressions[1:], partition)
    if _name(inner) == "cumulate":
        hint = f"Write a hop, FROM {stream} {window}, or GROUP BY date_trunc('hour', …) for counts "
        return _error(inner, text, f"{hint}that grow until the hour ends.")
    return _error(
        inner,
        text,
        f"Write FROM {stream} {window}; its columns window_start and window_end say which window "
        "a row is in.",
    )


def window_as_value(node: exp.Expr, text: str) -> MillstreamError | None:
    """`TUMBLE(ts, …)` and `tumble_start(ts, …)` in a select list or GROUP BY; None for another."""
    name = _name(node)
    kind, _, end = name.rpartition("_") if name.rpartition("_")[2] in BOUNDS else (name, "", "")
    if kind not in SLOTS or (end and kind in ("date_bin", "time_bucket")):
        return None
    select = node.find_ancestor(exp.Select)
    window = _in_brackets(kind, _lengths_last(node.expressions), _grouped_by(select))
    from_ = f"FROM {_stream_of(select)} {window}"
    if end:
        return _error(node, text, f"Write {from_}, and {BOUNDS[end]} in its place.")
    if node.find_ancestor(exp.Group):
        keys = ", ".join([*_grouped_by(select), "window_start", "window_end"])
        return _error(node, text, f"Write {from_}, and GROUP BY {keys}.")
    return _error(node, text, f"Write {from_}, and window_start or window_end in its place.")


def window_of_group(node: exp.Column, text: str) -> MillstreamError | None:
    """`window.start` of a query that has `GROUP BY window(ts, …)`; None for another column."""
    select = node.find_ancestor(exp.Select)
    if node.table.lower() != "window" or node.name.lower() not in BOUNDS or select is None:
        return None
    group = select.args.get("group")
    calls = [] if group is None else [e for e in group.expressions if _name(e) == "window"]
    return window_as_value(calls[0], text) if calls else None


def _error(node: exp.Expr, text: str, hint: str) -> MillstreamError:
    called = f'function "{_name(node)}" does not exist'
    message = f"{called}: a window stands in brackets after its stream"
    return MillstreamError(message, place_of(node, text), hint=hint)


def _in_brackets(kind: str, given: list[exp.Expr], partition: list[str]) -> str:
    """The window, from the lengths in the order of the function's arguments."""
    lengths = [text for node in given if (text := _length(node)) is not None]
    first, second, third = (*lengths, None, None, None)[:3]
    first = first or "5 Minutes"
    if kind in ("session", "session_window"):
        by = f"Partition By {', '.join(partition)} " if partition else ""
        return f"[{by}Session {first}]"
    if kind in ("hop", "cumulate"):  # how often comes before how long
        first, second = second or first, first
    if kind == "tumble":
        second, third = None, second
    offset = f" Offset {third}" if third else ""
    if second is None or second == first:
        return f"[Tumble {first}{offset}]"
    return f"[Hop {first} Every {second}{offset}]"


def _length(node: exp.Expr) -> str | None:
    """A length of time as it stands in brackets; None for something else."""
    try:
        length = _interval(node)
    except MillstreamError:
        return None
    return None if length is None else str(length).title()


def _interval(node: exp.Expr) -> Interval | None:
    if isinstance(node, exp.Interval):
        return interval_of(node)
    if isinstance(node, exp.Literal):
        return interval_from_text(node.name)
    return None


def _lengths_last(given: list[exp.Expr]) -> list[exp.Expr]:
    """The arguments that can be lengths: date_bin and time_bucket have the column behind them."""
    return [node for node in given if not isinstance(node, exp.Column)]


def _grouped_by(select: exp.Expr | None) -> list[str]:
    """The other columns of GROUP BY: elsewhere, sessions are those of every group."""
    group = select.args.get("group") if select is not None else None
    if group is None:
        return []
    return [column.sql() for column in group.expressions if isinstance(column, exp.Column)]


def _stream_of(select: exp.Expr | None) -> str:
    clause = select.args.get("from_") if select is not None else None
    source = clause.this if clause is not None else None
    return source.name if isinstance(source, exp.Table) and source.name else STREAM


def _name(node: exp.Expr) -> str:
    return node.name.lower() if isinstance(node, exp.Anonymous) else ""
