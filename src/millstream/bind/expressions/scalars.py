"""Scalar expressions: from the syntax tree to typed ones over the columns of a scope."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from sqlglot import exp

from millstream.aggregates.aggregate import Aggregate
from millstream.aggregates.builtin import builtin
from millstream.algebra.evaluate import castable
from millstream.algebra.expressions import Call, Case, Expression, Literal
from millstream.algebra.functions import FUNCTIONS
from millstream.algebra.types import BOOLEAN, DOUBLE, INTERVAL, NULL, STRING, type_from_text
from millstream.bind.expressions.calls import Calls
from millstream.bind.expressions.chains import OfOwn, chained, is_chain
from millstream.bind.expressions.constants import coerce, literal
from millstream.bind.expressions.elsewhere import of_others, refused
from millstream.bind.expressions.messages import (
    a,
    local_time,
    misplaced,
    no_cast,
    no_clock,
    no_function,
    no_member,
    not_yet,
    of_select_list,
    wrong_if,
)
from millstream.bind.expressions.now_messages import current, is_now
from millstream.bind.expressions.over_messages import misplaced_over
from millstream.bind.expressions.own_messages import refuse_own
from millstream.bind.expressions.patterns import without_escape
from millstream.bind.expressions.quoted import (
    COMPARING,
    is_double_quoted,
    lone_word,
    no_column,
    reads_text,
    taken_as_string,
)
from millstream.bind.expressions.vocabulary import (
    ALIASES,
    CLOCKS,
    COMPARISONS,
    CONSTANTS,
    OPERATORS,
    PARTS,
    UNITS,
)
from millstream.bind.names.elements import OF_TUPLES
from millstream.bind.names.scope import Scope, is_known, with_names_around
from millstream.bind.names.window_functions import window_as_value, window_of_group
from millstream.blocks.versions import Known
from millstream.errors import MillstreamError, Notice, Place
from millstream.lang import interval_of, name_place_of, place_of


@dataclass
class Expressions:
    """Binds expressions of one query; `aggregate` takes aggregate calls where they may stand.

    `clause` is where the expressions stand, for messages. `outer` finds columns of the query around
    a subquery, `subquery` takes subqueries where they may stand, and `owns` calls of aggregates of
    one's own. `aggregates` and `routines` find aggregates, `notices` takes what the author should
    know, and `now` gives the current instant.
    """

    scope: Scope
    text: str
    clause: str = "WHERE"
    aggregate: Callable[[exp.Expr, Aggregate, list[exp.Expr]], Expression] | None = None
    over: Callable[[exp.Window], Expression] | None = None
    owns: OfOwn | None = None
    outer: Callable[[exp.Expr], Expression | None] | None = None
    subquery: Callable[[exp.Expr, Expressions], Expression] | None = None
    aggregates: Callable[[str], Aggregate | None] = builtin
    routines: Known = field(default_factory=Known)
    notices: list[Notice] = field(default_factory=list)
    aliases: Mapping[str, Expression] = field(default_factory=dict)
    """What names that are no columns stand for, by the names in lower case."""
    now: Callable[[], Expression] | None = None

    @property
    def calls(self) -> Calls:
        return Calls(self.text, self.notices)

    def bind(self, node: exp.Expr) -> Expression:
        """The typed expression; errors point at the part of the text they are about."""
        try:
            own: Expression | None = self.scope.reference(node)
            if own is None and self.outer is not None and isinstance(node, OF_TUPLES):
                own = self.outer(node)
            if own is None and self.owns is not None:
                own = self.owns.value(node)
            return self._bind(node) if own is None else own
        except MillstreamError as error:
            raise error.at(place_of(node, self.text)) from None

    def condition(self, node: exp.Expr, clause: str) -> Expression:
        """An expression that is true or false, for WHERE, HAVING and ON."""
        bound = self.bind(node)
        if bound.type == NULL:
            return Literal(None, BOOLEAN)
        if bound.type != BOOLEAN:
            raise MillstreamError(
                f"{clause} needs a condition, and this is {a(bound.type)}",
                place_of(node, self.text),
                hint="Compare it with something, for example with = or >.",
            )
        return bound

    def _bind(self, node: exp.Expr) -> Expression:
        match node:
            case exp.Paren():
                return self.bind(node.this)
            case exp.Column():
                return self._column(node)
            case exp.Literal():
                return literal(node.this, node.is_string)
            case exp.Neg(this=exp.Literal(is_string=False) as number):
                return literal(f"-{number.this}", False)
            case exp.Null():
                return Literal(None, NULL)
            case exp.Boolean():
                return Literal(bool(node.this), BOOLEAN)
            case exp.Interval():
                micros = interval_of(node).amount
                return Literal(dt.timedelta(microseconds=micros), INTERVAL)
            case exp.Neg():
                return self._call("neg", [node.this], node)
            case exp.Not():
                return self._call("not", [node.this], node)
            case exp.Is():
                return self._is(node)
            case exp.Between():
                return self._between(node)
            case exp.Subquery() | exp.Exists() | exp.Select() | exp.SetOperation():
                return self._subquery(node)
            case exp.Binary(expression=exp.All() | exp.Any()) if type(node) in COMPARISONS:
                return self._subquery(node)
            case exp.In() if node.args.get("query") is not None:
                return self._subquery(node)
            case exp.In():
                return self._in(node)
            case exp.ILike():
                return self._ilike([node.this, node.expression])
            case exp.Escape(this=exp.Like() | exp.ILike()):
                return self._bind(without_escape(node, self.text))
            case exp.Case():
                return self._case(node)
            case exp.Cast() | exp.TryCast():
                return self._cast(node)
            case exp.Extract():
                part = node.this.name.lower()
                return self._call(ALIASES.get(part, part), [node.expression], node)
            case exp.Anonymous():
                return self._named(node)
            case exp.Filter():
                return self._filtered(node)
            case exp.Window():
                return self._over(node)
            case exp.Binary() if is_chain(node):
                return chained(node, self.condition)
            case exp.NullSafeEQ():
                differ = self._call("distinct_from", [node.this, node.expression], node)
                return Call("not", (differ,), BOOLEAN)
            case exp.Binary() if type(node) in OPERATORS:
                return self._call(OPERATORS[type(node)], [node.this, node.expression], node)
            case exp.Star():
                raise MillstreamError("* cannot stand here", hint="Name a column.")
        raise not_yet(node, self.text)

    def compare(
        self, operator: str, left: Expression, right: Expression, *written: exp.Expr
    ) -> Call:
        """A comparison of two values as one type; the nodes are what was written on either side."""
        try:
            call = self.calls.apply(operator, [left, right], written)
        except MillstreamError as error:
            raise error.at(Place.covering(*(place_of(n, self.text) for n in written))) from None
        assert isinstance(call, Call)
        return call

    def _column(self, node: exp.Column) -> Expression:
        name, table = node.name, node.table or None
        if isinstance(node.this, exp.Star):
            raise MillstreamError("* cannot stand here", hint="Name a column.")
        if node.args.get("db"):
            raise self.scope.too_many_parts(node.name)
        if self._is_alias(node):
            return self.aliases[name.lower()]
        if self.outer is not None and (found := self._outside(node)) is not None:
            return found
        if is_now(node, self.scope):
            return current(self.now, self.clause)
        if is_double_quoted(node) and not table and self.scope.find(name) is None:
            raise no_column(node, self.scope).at(name_place_of(node, self.text))
        scope = with_names_around(self.scope, node)
        if table and scope.member(table) is None:
            if (window := window_of_group(node, self.text)) is not None:
                raise window
            raise no_member(node, scope).at(place_of(node.args["table"], self.text))
        try:
            return scope.resolve(name, table)
        except MillstreamError as error:
            known = of_select_list(node, self.clause)
            if name.lower() not in map(str.lower, scope.names):  # else there are several of it
                known = known or of_others(node, scope)
            error.hint = known or error.hint
            raise error.at(name_place_of(node, self.text)) from None

    def _is_alias(self, node: exp.Column) -> bool:
        """Whether a name stands for an item of the select list; columns come first."""
        known = not node.table and node.name.lower() in self.aliases
        return known and not is_known(self.scope, node)

    def _outside(self, node: exp.Column) -> Expression | None:
        """The column of the query around that a name means, unless it is one of this query."""
        assert self.outer is not None
        return None if is_known(self.scope, node) else self.outer(node)

    def operands(self, nodes: Sequence[exp.Expr], *beside: Expression) -> list[Expression]:
        """What is compared with each other, and with values that are bound already.

        A word in double quotes that names nothing is a string where text columns are compared.
        """
        known = {at: self.bind(node) for at, node in enumerate(nodes) if self._has_meaning(node)}
        if len(known) == len(nodes):
            return list(known.values())
        is_text = any(map(reads_text, (*beside, *known.values())))
        return [
            known[at] if at in known else self._word(node, is_text) for at, node in enumerate(nodes)
        ]

    def _has_meaning(self, node: exp.Expr) -> bool:
        """False for a lone name that is no column, here or in the query around."""
        word = lone_word(node)
        if word is None or is_known(self.scope, word) or self._is_alias(word):
            return True
        outside = self.outer is not None and self.outer(word) is not None
        return outside or is_now(word, self.scope)

    def _word(self, node: exp.Expr, is_text: bool) -> Expression:
        """A name that is no column, beside text columns or not."""
        word = lone_word(node)
        if word is None or not is_text:
            return self.bind(node)
        if not is_double_quoted(word):
            raise no_column(word, self.scope).at(name_place_of(word, self.text))
        self.notices.append(taken_as_string(word.name, self.scope))
        return Literal(word.name, STRING)

    def _ilike(self, written: list[exp.Expr]) -> Expression:
        lowered = [
            self.calls.apply("lower", [value], [node])
            for value, node in zip(self.operands(written), written)
        ]
        return self.calls.apply("like", lowered, written)

    def _is(self, node: exp.Is) -> Expression:
        value, right = self.bind(node.this), node.expression
        if isinstance(right, exp.Null):
            return Call("is_null", (value,), BOOLEAN)
        if isinstance(right, exp.Boolean):
            flag = Literal(bool(right.this), BOOLEAN)
            same = Call("=", (self.condition(node.this, "IS"), flag), BOOLEAN)
            return Call("coalesce", (same, Literal(False, BOOLEAN)), BOOLEAN)
        raise MillstreamError("IS takes NULL, TRUE or FALSE")

    def _between(self, node: exp.Between) -> Expression:
        written = [node.this, node.args["low"], node.args["high"]]
        value, low, high = self.operands(written)
        above = self.calls.apply(">=", [value, low], [written[0], written[1]])
        below = self.calls.apply("<=", [value, high], [written[0], written[2]])
        return Call("and", (above, below), BOOLEAN)

    def _subquery(self, node: exp.Expr) -> Expression:
        if self.subquery is None:
            raise MillstreamError(
                f"a subquery cannot stand in {self.clause}",
                hint="Compute it in a subquery in FROM or in a view.",
            )
        return self.subquery(node, self)

    def _in(self, node: exp.In) -> Expression:
        value, *listed = self.operands([node.this, *node.expressions])
        tests = [
            self.calls.apply("=", [value, other], [node.this, written])
            for other, written in zip(listed, node.expressions)
        ]
        return reduce(lambda some, test: Call("or", (some, test), BOOLEAN), tests)

    def _case(self, node: exp.Case) -> Expression:
        branches = node.args["ifs"]
        if node.this is None:
            conditions = [self.condition(branch.this, "WHEN") for branch in branches]
        else:
            conditions = self._equal_to(node.this, [branch.this for branch in branches])
        written = [branch.args["true"] for branch in branches]
        if node.args.get("default") is not None:
            written.append(node.args["default"])
        values = [self.bind(value) for value in written]
        kind = self.calls.common(values, written, "the values of CASE")
        if node.args.get("default") is None:
            values.append(Literal(None, NULL))
        values = [coerce(v, kind) for v in values]
        return Case(tuple(zip(conditions, values)), values[-1], kind)

    def _equal_to(self, node: exp.Expr, others: list[exp.Expr]) -> list[Expression]:
        """Whether a value is equal to each of the others."""
        value, *bound = self.operands([node, *others])
        conditions = []
        for other, written in zip(bound, others):
            try:
                conditions.append(self.calls.apply("=", [value, other], [node, written]))
            except MillstreamError as error:
                raise error.at(place_of(written, self.text)) from None
        return conditions

    def _cast(self, node: exp.Expr) -> Expression:
        to = node.args["to"]
        kind = type_from_text(to.name)
        if kind is None:
            raise MillstreamError(f'type "{to.name}" does not exist', place_of(to, self.text))
        value = self.bind(node.this)
        if not castable(value.type, kind):
            raise no_cast(value, kind, node.this, self.text)
        strict = not isinstance(node, exp.TryCast)
        if strict and isinstance(value, Literal) and value.value is not None:
            return self.calls.read(value, kind, node.this)
        return coerce(value, kind)

    def _named(self, node: exp.Anonymous) -> Expression:
        name = node.name.lower()
        if (versions := self.routines(name)) is not None:
            refuse_own(versions, self.clause, name_place_of(node, self.text))
        given = list(node.expressions)
        if (aggregate := self.aggregates(name)) is not None:
            return self._aggregate(node, aggregate)
        if name in CONSTANTS and not given:
            return Literal(CONSTANTS[name], DOUBLE)
        if name in CLOCKS:
            raise no_clock(name, node).at(name_place_of(node, self.text))
        if (error := refused(name, given, node, self.scope)) is not None:
            raise error.at(name_place_of(node, self.text))
        if any(isinstance(n, exp.Distinct) for n in given):
            raise MillstreamError(f'function "{name}" takes no DISTINCT', hint="Leave it out.")
        if name in ("if", "iff"):
            return self._if(given, node)
        if name in ("date_part", "datepart") and len(given) == 2 and given[0].is_string:
            unit = self.calls.unit(self.bind(given[0]), given[0], (*UNITS, *PARTS))
            return self._call(ALIASES.get(unit, unit), given[1:], node)
        if node.meta.get("at_time_zone") and name == "to_utc_timestamp":
            self.notices.append(local_time(given[0], given[1], self.text))
        if name in ("instr", "strpos") and len(given) == 2:
            name, given = "position", given[::-1]
        if name == "isnull" and len(given) == 2:
            name = "coalesce"
        return self._call(ALIASES.get(name, name), given, node)

    def _filtered(self, node: exp.Filter) -> Expression:
        """An aggregate with FILTER (WHERE …), which looks at the clause itself."""
        name = str(node.this.this).lower() if isinstance(node.this, exp.Anonymous) else "this"
        if self.aggregates(name) is None:
            raise MillstreamError(
                f'FILTER is for aggregates, and "{name}" is none',
                hint="Write CASE WHEN condition THEN value END.",
            )
        return self.bind(node.this)

    def _over(self, node: exp.Window) -> Expression:
        if self.over is None:
            raise misplaced_over(self.clause)
        return self.over(node)

    def _if(self, given: list[exp.Expr], node: exp.Expr) -> Expression:
        if len(given) != 3:
            raise wrong_if(len(given))
        condition, *values = self.condition(given[0], "if"), *map(self.bind, given[1:])
        kind = self.calls.common(values, given[1:], "the values of if")
        yes, no = (coerce(v, kind) for v in values)
        return Case(((condition, yes),), no, kind)

    def _aggregate(self, node: exp.Anonymous, called: Aggregate) -> Expression:
        if self.aggregate is not None:
            return self.aggregate(node, called, list(node.expressions))
        raise misplaced(called, self.clause).at(name_place_of(node, self.text))

    def _call(self, name: str, written: Sequence[exp.Expr], node: exp.Expr) -> Expression:
        if name not in FUNCTIONS:
            if (window := window_as_value(node, self.text)) is not None:
                raise window
            raise no_function(name, name_place_of(node, self.text), self.routines.aggregates)
        bound = self.operands(written) if name in COMPARING else [self.bind(n) for n in written]
        return self.calls.apply(name, bound, written)
