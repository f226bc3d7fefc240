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


class RelationOf(exp.Expression):
    """`R(S)` or `R(S, sync)` in FROM, in `table.args["relation_of"]` of the name S: the relation
    that a stream modifies, with the column TS.

    `sync` is the name of the stream at whose time points the relation changes.
    """

    arg_types = {"sync": False}  # noqa: RUF012

    @property
    def sync(self) -> exp.Table | None:
        return self.args.get("sync")


class TypeName(exp.Expression):
    """The canonical text of a type, such as `decimal(10,2)`, under CAST; read it with `.name`."""

    arg_types = {"this": True}  # noqa: RUF012


class SequencePattern(exp.Expression):
    """A pattern over the tuples of a stream, in `table.args["sequence"]`:
    `PARTITION BY k SEQUENCE BY t AS (X, *Y, Z) WITHIN 10 MINUTES WITH TIMEOUTS`."""

    arg_types = {  # noqa: RUF012
        "partition_by": False,
        "sequence_by": False,
        "elements": True,
        "within": False,
        "timeouts": False,
    }

    @property
    def partition_by(self) -> list[exp.Expr]:
        return self.args.get("partition_by") or []

    @property
    def sequence_by(self) -> list[exp.Expr]:
        return self.args.get("sequence_by") or []

    @property
    def elements(self) -> list[SequenceElement]:
        return self.args["elements"]

    @property
    def within(self) -> Interval | None:
        return self.args.get("within")

    @property
    def timeouts(self) -> bool:
        return bool(self.args.get("timeouts"))


class SequenceElement(exp.Expression):
    """`X`, one tuple, or `*Y`, one or more, as many as there are."""

    arg_types = {"this": True, "star": False}  # noqa: RUF012

    @property
    def star(self) -> bool:
        return bool(self.args.get("star"))


class StarOf(exp.Expression):
    """`*Y` or `*Y.price` as an argument: all tuples of a star, once it has ended."""

    arg_types = {"this": True, "column": False}  # noqa: RUF012


class Previous(exp.Expression):
    """`X.previous`, the tuple before one in its partition, under the `exp.Dot` of a column.

    In `this` is the name of an element, a call of FIRST or LAST, or another one of these.
    """

    arg_types = {"this": True}  # noqa: RUF012


class MatchPattern(exp.Expression):
    """`MATCH_RECOGNIZE (…)` after an entry of FROM, in `args["recognize"]`.

    `rows` is "one", "all", "all omit empty" or "all with unmatched"; `skip` is "past last", "next",
    "first" or "last", the last two with a variable in `skip_to`. `inner_alias` is the name of its
    input, which stands before it; the alias of the entry stands behind it. `order_by` holds
    `exp.Ordered`, `measures` and `defines` hold `exp.Alias`.
    """

    arg_types = {  # noqa: RUF012
        "inner_alias": False,
        "partition_by": False,
        "order_by": False,
        "measures": False,
        "rows": True,
        "skip": True,
        "skip_to": False,
        "pattern": True,
        "within": False,
        "subsets": False,
        "defines": False,
    }

    @property
    def partition_by(self) -> list[exp.Expr]:
        return self.args.get("partition_by") or []

    @property
    def inner_alias(self) -> exp.Identifier | None:
        return self.args.get("inner_alias")

    @property
    def order_by(self) -> list[exp.Expr]:
        return self.args.get("order_by") or []

    @property
    def measures(self) -> list[exp.Alias]:
        return self.args.get("measures") or []

    @property
    def rows(self) -> str:
        return self.args["rows"]

    @property
    def skip(self) -> str:
        return self.args["skip"]

    @property
    def skip_to(self) -> exp.Identifier | None:
        return self.args.get("skip_to")

    @property
    def pattern(self) -> exp.Expr:
        return self.args["pattern"]

    @property
    def within(self) -> Interval | None:
        return self.args.get("within")

    @property
    def subsets(self) -> list[SubsetOf]:
        return self.args.get("subsets") or []

    @property
    def defines(self) -> list[exp.Alias]:
        return self.args.get("defines") or []


class SubsetOf(exp.Expression):
    """`SUBSET U = (A, B)`: one name for the tuples of several variables."""

    arg_types = {"this": True, "expressions": True}  # noqa: RUF012


class Tense(exp.Expression):
    """`RUNNING f(…)` or `FINAL f(…)` in MEASURES and DEFINE."""

    arg_types = {"this": True, "final": True}  # noqa: RUF012

    @property
    def final(self) -> bool:
        return bool(self.args["final"])


class PatternVariable(exp.Expression):
    """A variable in PATTERN: one tuple that meets its condition."""

    arg_types = {"this": True}  # noqa: RUF012


class PatternSequence(exp.Expression):
    """One part after the other; of no parts, the empty pattern `()`."""

    arg_types = {"expressions": False}  # noqa: RUF012


class PatternChoice(exp.Expression):
    """`A | B`: the first is preferred."""

    arg_types = {"expressions": True}  # noqa: RUF012


class PatternRepeat(exp.Expression):
    """`A*`, `A+`, `A?`, `A{2,5}`, each as often as possible, or with `?` behind, as seldom."""

    arg_types = {"this": True, "low": True, "high": False, "reluctant": False}  # noqa: RUF012


class PatternPermute(exp.Expression):
    """`PERMUTE(A, B)`: the parts in any order; orders are preferred as they are written."""

    arg_types = {"expressions": True}  # noqa: RUF012


class PatternExclude(exp.Expression):
    """`{- A -}`: tuples that ALL ROWS PER MATCH leaves out."""

    arg_types = {"this": True}  # noqa: RUF012


class PatternAnchor(exp.Expression):
    """`^` or `$`: the start or the end of the partition."""

    arg_types = {"start": True}  # noqa: RUF012

    @property
    def start(self) -> bool:
        return bool(self.args["start"])
