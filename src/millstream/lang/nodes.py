"""The nodes our language adds to sqlglot's syntax tree."""

from __future__ import annotations

from sqlglot import exp

from millstream.lang.interval import Interval

STREAM_OPERATORS = ("istream", "dstream", "rstream")
FORMS = ("streamed", "complete")


class StreamWindow(exp.Expression):
    """A window in brackets after a stream, in `table.args["stream_window"]`.

    `kind` is "now", "range", "rows", "unbounded", "tumble", "hop" or "session". A slide by time is
    an Interval, a slide by tuples an int. The length of slots and the gap between sessions are in
    `range`; how often a Hop has a slot is in `slide`, as an Interval.
    """

    arg_types = {  # noqa: RUF012
        "kind": True,
        "range": False,
        "rows": False,
        "partition_by": False,
        "slide": False,
        "offset": False,
    }

    @property
    def kind(self) -> str:
        return self.args["kind"]

    @property
    def range(self) -> Interval | None:
        return self.args.get("range")

    @property
    def rows(self) -> int | None:
        return self.args.get("rows")

    @property
    def partition_by(self) -> list[exp.Column]:
        return self.args.get("partition_by") or []

    @property
    def slide(self) -> Interval | int | None:
        return self.args.get("slide")

    @property
    def offset(self) -> Interval | None:
        return self.args.get("offset")


class OverFrame(exp.Expression):
    """The frame of OVER, in `window.args["spec"]`: which rows before the current one a call sees.

    `kind` is "rows" or "range"; `length` is how many rows come before the current one, or an
    Interval, or None without a bound. `slide` is an int or an Interval; `active` is ACTIVE
    EXPIRATION.
    """

    arg_types = {"kind": True, "length": False, "slide": False, "active": False}  # noqa: RUF012

    @property
    def kind(self) -> str:
        return self.args["kind"]

    @property
    def length(self) -> Interval | int | None:
        return self.args.get("length")

    @property
    def slide(self) -> Interval | int | None:
        return self.args.get("slide")

    @property
    def active(self) -> bool:
        return bool(self.args.get("active"))


class ToStream(exp.Expression, exp.Query):
    """`Istream(query)`, `Dstream(query)` or `Rstream(query)` around a whole query."""

    arg_types = {"this": True, "operator": True}  # noqa: RUF012

    @property
    def operator(self) -> str:
        return self.args["operator"]

    @property
    def selects(self) -> list[exp.Expr]:
        return self.this.selects


class TypeName(exp.Expression):
    """The canonical text of a type, such as `decimal(10,2)`, under CAST; read it with `.name`."""

    arg_types = {"this": True}  # noqa: RUF012
