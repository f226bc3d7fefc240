"""Queries inside blocks: SELECT, VALUES and set operations, and subqueries in expressions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from sqlglot import exp

from millstream.algebra.expressions import Column, Expression
from millstream.algebra.types import NULL, STRING, common_type, type_name
from millstream.bind.blocks.body import Body
from millstream.bind.blocks.scalars import Scalars
from millstream.bind.blocks.selects import bind_count, bind_select
from millstream.bind.blocks.shapes import gives_one_row, retyped
from millstream.bind.blocks.sources import From
from millstream.bind.expressions.messages import quantifier_of
from millstream.bind.expressions.scalars import Expressions
from millstream.bind.expressions.vocabulary import OPERATORS
from millstream.bind.names.scope import Scope
from millstream.blocks.leaves import Among, Exists, Quantified, Scalar
from millstream.blocks.queries import Combined, Query
from millstream.errors import MillstreamError
from millstream.lang import ToStream, place_of


@dataclass
class Queries:
    """Binds the queries of one statement; labels of sources are unique in it."""

    body: Body
    labels: Iterator[int] = field(default_factory=count)

    @property
    def text(self) -> str:
        return self.body.shared.text

    def scalars(
        self,
        scope: Scope,
        fields: dict[str, Expression],
        clause: str,
        outer: Scalars | None = None,
    ) -> Scalars:
        """What binds expressions over a scope; `outer` is that of the query around."""
        return Scalars(
            scope,
            self.text,
            clause,
            outer=None if outer is None else outer.find,
            subquery=self._subquery,
            notices=self.body.shared.notices,
            body=self.body,
            fields=fields,
        )

    def query(
        self,
        node: exp.Expr,
        outer: Scalars | None = None,
        around: dict[str, exp.Expr] | None = None,
    ) -> Query:
        """A whole query; `outer` is the query around it, `around` what WITH has named there."""
        node = node.unnest() if isinstance(node, exp.Subquery) else node
        ctes = dict(around or {})
        for cte in (node.args.get("with_") or exp.With(expressions=[])).expressions:
            ctes[cte.alias.lower()] = cte.this
        match node:
            case exp.Select():
                return self._select(node, outer, ctes)
            case exp.SetOperation():
                return self._combined(node, outer, ctes)
            case ToStream():
                raise MillstreamError(
                    "a stream cannot be made in a block",
                    place_of(node, self.text),
                    hint="Leave the operator out: blocks read tables.",
                )
        raise MillstreamError("this query cannot stand in a block", place_of(node, self.text))

    def _select(self, node: exp.Select, outer: Scalars | None, ctes: dict[str, exp.Expr]) -> Query:
        for word in ("form", "to_stream"):
            if said := node.args.get(word):
                raise MillstreamError(
                    f"{said.upper()} cannot stand in a block",
                    place_of(node, self.text),
                    hint="Leave it out: blocks read tables.",
                )

        def make(scope: Scope, fields: dict[str, Expression]) -> Scalars:
            return self.scalars(scope, fields, "WHERE", outer)

        entries = From(
            self.body,
            make,
            lambda: next(self.labels),
            lambda inner: self.query(inner, outer, _without(ctes, inner)),
            ctes,
        )
        entries.take(node)
        return bind_select(node, entries)

    def _combined(
        self, node: exp.SetOperation, outer: Scalars | None, ctes: dict[str, exp.Expr]
    ) -> Query:
        left, right = (self.query(side, outer, ctes) for side in (node.this, node.expression))
        word = type(node).__name__.lower()
        if len(left.columns) != len(right.columns):
            raise MillstreamError(
                f"{word.upper()} needs as many columns on both sides: "
                f"{len(left.columns)} and {len(right.columns)}",
                place_of(node, self.text),
            )
        kinds = []
        for (name, one), (_, other) in zip(left.columns, right.columns):
            kind = common_type(one, other)
            if kind is None:
                raise MillstreamError(
                    f'column "{name}" of {word.upper()} is {type_name(one)} on one side and '
                    f"{type_name(other)} on the other",
                    place_of(node, self.text),
                    hint="CAST one of them.",
                )
            kinds.append(STRING if kind == NULL else kind)
        left, right = (retyped(side, tuple(kinds), self.labels) for side in (left, right))
        keeps = not node.args.get("distinct")
        names = [name.lower() for name, _ in left.columns]
        order = tuple(self._position(part, names) for part in _parts(node.args.get("order")))
        limit = bind_count(node.args.get("limit"), "LIMIT", self._constants())
        offset = bind_count(node.args.get("offset"), "OFFSET", self._constants())
        return Combined(word, keeps, left, right, order, limit, offset)

    def _constants(self) -> Scalars:
        return self.scalars(Scope(()), {}, "LIMIT")

    def _position(self, node: exp.Expr, names: list[str]) -> tuple[int, bool, bool]:
        this = node.this if isinstance(node, exp.Ordered) else node
        at = -1
        if isinstance(this, exp.Literal) and not this.is_string and this.this.isdigit():
            at = int(this.this) - 1
        elif isinstance(this, exp.Column) and this.name.lower() in names:
            at = names.index(this.name.lower())
        if not 0 <= at < len(names):
            raise MillstreamError(
                "ORDER BY of a set operation names a column of its result",
                place_of(this, self.text),
                hint=f"Write one of {', '.join(names)}, or a position.",
            )
        return at, bool(node.args.get("desc")), bool(node.args.get("nulls_first"))

    def _subquery(self, node: exp.Expr, scalars: Expressions) -> Expression:
        """A subquery in an expression."""
        assert isinstance(scalars, Scalars)
        match node:
            case exp.Exists():
                return Exists(self.query(node.this, scalars))
            case exp.In():
                query = self._one_column(node.args["query"], scalars)
                value, query = self._alike("=", node.this, query, scalars, node)
                return Among(value, query)
            case exp.Binary(expression=exp.All() | exp.Any() as inner):
                query = self._one_column(inner.this, scalars)
                operator = OPERATORS[type(node)]
                value, query = self._alike(operator, node.this, query, scalars, node)
                every = quantifier_of(inner, self.text) == "ALL"
                return Quantified(operator, every, value, query)
        query = self._one_column(node, scalars)
        kind = query.columns[0][1]
        if not gives_one_row(query):
            place = place_of(node, self.text)
            line = f" in line {place.line}" if place is not None else ""
            self.body.shared.tell(
                f"the subquery{line} may give several rows: the first of them is taken, in the "
                "order of insertion",
                "Write an aggregate, or LIMIT 1.",
            )
        return Scalar(query, kind)

    def _one_column(self, node: exp.Expr, scalars: Scalars) -> Query:
        query = self.query(node, scalars)
        if len(query.columns) != 1:
            raise MillstreamError(
                f"the subquery has {len(query.columns)} columns where one must stand",
                place_of(node, self.text),
                hint="Select one of them.",
            )
        kind = query.columns[0][1]
        return retyped(query, (STRING,), self.labels) if kind == NULL else query

    def _alike(
        self, operator: str, node: exp.Expr, query: Query, scalars: Scalars, whole: exp.Expr
    ) -> tuple[Expression, Query]:
        """A value and the column of a query as one type."""
        beside = Column("#value", query.columns[0][1])
        (value,) = scalars.operands([node], beside)
        call = scalars.compare(operator, value, beside, node, whole)
        kind = call.arguments[1].type
        return call.arguments[0], retyped(query, (kind,), self.labels)


def _without(ctes: dict[str, exp.Expr], node: exp.Expr) -> dict[str, exp.Expr]:
    """The names of WITH that a query may use: those before it."""
    before: dict[str, exp.Expr] = {}
    for name, query in ctes.items():
        if query is node:
            break
        before[name] = query
    return before


def _parts(order: exp.Expr | None) -> list[exp.Expr]:
    return [] if order is None else order.expressions
