"""Subqueries in expressions: IN, EXISTS, ANY, ALL and scalar ones, as relations beside the plan.

Where a condition of WHERE or HAVING is nothing but IN or EXISTS, it filters the rows by itself.
Anywhere else a subquery becomes hidden columns. With n rows in the subquery, m of them with a
value, and x on the left, these are SQL's answers, the first line that fits:

    x > ANY            x > ALL            x IN               answer of NOT IN
    n = 0: false       n = 0: true        n = 0: false       true
    x > least: true    x <= most: false   some y = x: true   false
    x NULL: NULL       x NULL: NULL       x NULL: NULL       NULL
    m < n: NULL        m < n: NULL        m < n: NULL        NULL
    false              true               false              true
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from millstream.aggregates.call import AggregateCall
from millstream.aggregates.count import COUNT
from millstream.aggregates.extremes import MAX, MIN
from millstream.algebra.expressions import (
    TRUE,
    Call,
    Case,
    Column,
    Expression,
    Literal,
    columns_of,
    conjunction,
)
from millstream.algebra.node import Node
from millstream.algebra.types import BOOLEAN, INTEGER
from millstream.bind.expressions.messages import a, quantifier_of
from millstream.bind.expressions.scalars import Expressions
from millstream.bind.expressions.vocabulary import OPERATORS
from millstream.bind.names.trees import has_query, is_query
from millstream.bind.subqueries.correlation import (
    Around,
    Hole,
    Outer,
    completed,
    is_not_null,
)
from millstream.bind.subqueries.membership import Rows, membership, not_in, without_not
from millstream.bind.subqueries.relations import Answer, Hidden, Keep, Meet, SubqueryRelation, Test
from millstream.errors import MillstreamError
from millstream.lang import place_of, to_sql
from millstream.operators import AntiJoin, Distinct, Filter, GroupBy, Project, UnionAll

FALSE = Literal(False, BOOLEAN)
UNKNOWN = Literal(None, BOOLEAN)


class Queries(Protocol):
    """What binds the queries themselves."""

    @property
    def text(self) -> str: ...

    def outer_of(self, node: exp.Expr, around: Around) -> Outer | None:
        """What a subquery uses of the query around it; None if nothing."""

    def relation(self, node: exp.Expr, outer: Outer | None) -> Answer:
        """The plan of a subquery in an expression."""

    def rows(self, node: exp.Expr, around: Around) -> Rows:
        """The rows of a subquery whose number does not matter, tied by any conditions."""

    def presence(self, node: exp.Expr, around: Around) -> Rows:
        """The same without their values."""


@dataclass
class Subqueries:
    """The subqueries in the expressions of one query."""

    queries: Queries
    around: Around
    hidden: dict[str, Hidden] = field(default_factory=dict)
    known: dict[str, Expression] = field(default_factory=dict)

    def tests(self, nodes: list[exp.Expr], expressions: Expressions, clause: str) -> list[Test]:
        """What conditions with subqueries ask of the rows."""
        return [test for node in nodes for test in self._test(node, expressions, clause)]

    def used_by(self, *values: Expression) -> tuple[Hidden, ...]:
        """The hidden columns that expressions read."""
        names = frozenset().union(*map(columns_of, values))
        found = [hidden for name, hidden in self.hidden.items() if name in names]
        return tuple(dict.fromkeys(found))

    def value(self, node: exp.Expr, expressions: Expressions) -> Expression:
        """The value of a subquery in an expression, over hidden columns."""
        said = to_sql(node)
        if said not in self.known:
            self.known[said] = self._value(node, expressions)
        return self.known[said]

    def _test(self, node: exp.Expr, expressions: Expressions, clause: str) -> list[Test]:
        inner, negated = without_not(node)
        if isinstance(inner, exp.Exists):
            rows = self.queries.presence(inner.this, self.around)
            return [Keep(conjunction(list(rows.conditions)), rows.relation, negated)]
        member = membership(inner)
        if member is not None and not has_query(member[0]):
            operand, query, outside = member
            rows = self.queries.rows(query, self.around)
            pairs = self._pairs(operand, query, rows, expressions)
            if negated != outside:
                return not_in(pairs, rows)
            equal = [Call("=", pair, BOOLEAN) for pair in pairs]
            return [Keep(conjunction([*rows.conditions, *equal]), rows.relation)]
        condition = expressions.condition(node, clause)
        return [Meet(condition, self.used_by(condition))]

    def _pairs(
        self, operand: exp.Expr, query: exp.Expr, rows: Rows, expressions: Expressions
    ) -> list[tuple[Expression, Expression]]:
        """The values on the left, each with that of the subquery, as one type."""
        operand = operand.unnest() if isinstance(operand, exp.Paren) else operand
        written = operand.expressions if isinstance(operand, exp.Tuple) else [operand]
        self._check_width(query, len(rows.values), len(written))
        result = []
        for node, value in zip(written, rows.values):
            (mine,) = expressions.operands([node], value)
            call = expressions.compare("=", mine, value, node, query)
            result.append((call.arguments[0], call.arguments[1]))
        return result

    def _check_width(self, query: exp.Expr, given: int, wanted: int) -> None:
        if given == wanted:
            return
        columns = "1 column" if given == 1 else f"{given} columns"
        raise MillstreamError(
            f"the subquery gives {columns}, and here {wanted} {'is' if wanted == 1 else 'are'} "
            "needed",
            place_of(query, self.queries.text),
            hint="Select the column that is meant." if wanted == 1 else "Select as many columns.",
        )

    def _value(self, node: exp.Expr, expressions: Expressions) -> Expression:
        match node:
            case exp.Exists():
                return self._exists(node.this)
            case exp.Binary(expression=exp.All() | exp.Any()) if membership(node) is None:
                return self._compared(node, expressions)
        member = membership(node)
        if member is None:
            return self._scalar(node)
        operand, query, outside = member
        found = self._found(operand, query, expressions)
        return Call("not", (found,), BOOLEAN) if outside else found

    def _scalar(self, node: exp.Expr) -> Expression:
        outer = self.queries.outer_of(node, self.around)
        answer = self.queries.relation(node, outer)
        value = self._column(node, answer, outer)
        if not answer.single:
            raise MillstreamError(
                "the subquery can have several rows, and here one value is needed",
                place_of(node, self.queries.text),
                hint="Use an aggregate such as max(…), the window [Rows 1], or ORDER BY … LIMIT 1.",
            )
        name = self._name()
        outputs = (*_outputs(outer), (name, value))
        plan: Node = Project(outputs, answer.plan)
        sparse = None if answer.always else plan
        if answer.sparse is not None:
            sparse = Project(outputs, answer.sparse)
        if not answer.always:
            plan = _or_null(plan, outer, Column(name, value.type))
        self._hide(plan, outer, node, (name,), sparse)
        return Column(name, value.type)

    def _exists(self, node: exp.Expr) -> Expression:
        outer = self.queries.outer_of(node, self.around)
        answer = self.queries.relation(node, outer)
        name = self._name()
        if outer is None:
            counted = GroupBy((), _counts()[:1], Project((), answer.plan))
            some = Call(">", (Column("#rows", INTEGER), Literal(0, INTEGER)), BOOLEAN)
            plan: Node = Project(((name, some),), counted)
        else:
            there = Distinct(Project((*outer.outputs, (name, TRUE)), answer.plan))
            plan = completed(there, outer.hole, [FALSE])
        self._hide(plan, outer, node, (name,))
        return Column(name, BOOLEAN)

    def _compared(self, node: exp.Expr, expressions: Expressions) -> Expression:
        """A comparison with ANY or ALL, by the least and the most value of the subquery."""
        quantifier, operator = node.expression, OPERATORS[type(node)]
        query = self._query(quantifier)
        outer = self.queries.outer_of(query, self.around)
        answer = self.queries.relation(query, outer)
        some, nulls, least, most = self._summary(query, answer, outer)
        (value,) = expressions.operands([node.this], least)
        every = isinstance(quantifier, exp.All)
        if operator in ("=", "<>"):
            tests = [
                expressions.compare(operator, value, bound, node.this, query)
                for bound in (least, most)
            ]
            test: Expression = Call("and" if every else "or", tuple(tests), BOOLEAN)
        else:
            bound = most if (operator[0] == ">") == every else least
            test = expressions.compare(operator, value, bound, node.this, query)
        decided = Call("not", (test,), BOOLEAN) if every else test
        unknown = Call("or", (nulls, Call("is_null", (value,), BOOLEAN)), BOOLEAN)
        empty = Call("not", (some,), BOOLEAN)
        yes, no = (FALSE, TRUE) if every else (TRUE, FALSE)
        return Case(((empty, no), (decided, yes), (unknown, UNKNOWN)), no, BOOLEAN)

    def _found(self, operand: exp.Expr, query: exp.Expr, expressions: Expressions) -> Expression:
        if isinstance(operand, exp.Tuple):
            raise MillstreamError(
                "IN with several values must be a condition of its own in WHERE",
                place_of(operand, self.queries.text),
                hint="Put it beside the others with AND, or write EXISTS (SELECT …).",
            )
        outer = self.queries.outer_of(query, self.around)
        answer = self.queries.relation(query, outer)
        column = self._column(query, answer, outer)
        (value,) = expressions.operands([operand], column)
        call = expressions.compare("=", value, column, operand, query)
        mine, theirs = call.arguments
        some, nulls = self._presence(query, answer, outer)
        found = self._matches(query, answer, outer, mine, theirs)
        empty = Call("not", (some,), BOOLEAN)
        unknown = Call("or", (nulls, Call("is_null", (mine,), BOOLEAN)), BOOLEAN)
        return Case(((empty, FALSE), (found, TRUE), (unknown, UNKNOWN)), FALSE, BOOLEAN)

    def _matches(
        self,
        node: exp.Expr,
        answer: Answer,
        outer: Outer | None,
        mine: Expression,
        theirs: Expression,
    ) -> Column:
        """A hidden column that says whether the value on the left is in the subquery."""
        name, match = self._name(), f"#match{self.around.depth + 1}"
        outputs = (*_outputs(outer), (match, theirs), (name, TRUE))
        there = Distinct(Project(outputs, Filter(is_not_null(theirs), answer.plan)))
        columns = outer.hole.columns if outer is not None else ()
        hole = Hole((*columns, (match, mine.type)))
        links = (*(outer.links if outer is not None else ()), (match, mine))
        holes = (hole, *((outer.hole,) if outer is not None else ()))
        plan = completed(there, hole, [FALSE])
        relation = SubqueryRelation(Distinct(plan), links, holes, place_of(node, self.queries.text))
        self.hidden[name] = Hidden(relation, (name,))
        return Column(name, BOOLEAN)

    def _summary(
        self, node: exp.Expr, answer: Answer, outer: Outer | None
    ) -> tuple[Column, Column, Column, Column]:
        """Hidden columns: whether there are rows, whether NULLs, the least and the most value."""
        value = self._column(node, answer, outer)
        if MIN.result(value.type) is None:
            raise MillstreamError(
                f"ANY, SOME and ALL cannot compare with {a(value.type)}",
                place_of(node, self.queries.text),
                hint="Write EXISTS with a condition.",
            )
        calls = (
            *_counts(),
            *(AggregateCall(f"#{f.name}", f, ("#arg0",), value.type) for f in _ENDS),
        )
        ends = [Column(f"#{end.name}", value.type) for end in _ENDS]
        columns = self._per_domain(node, answer, outer, calls, value, ends)
        return columns[0], columns[1], columns[2], columns[3]

    def _presence(
        self, node: exp.Expr, answer: Answer, outer: Outer | None
    ) -> tuple[Column, Column]:
        """Hidden columns: whether the subquery has rows, and whether it has NULLs."""
        value = self._column(node, answer, outer)
        found = self._per_domain(node, answer, outer, _counts(), value, [])
        return found[0], found[1]

    def _per_domain(
        self,
        node: exp.Expr,
        answer: Answer,
        outer: Outer | None,
        calls: tuple[AggregateCall, ...],
        value: Column,
        more: list[Column],
    ) -> list[Column]:
        """What the subquery has, in one row for every row of its domain."""
        keys = () if outer is None else outer.names
        grouped = GroupBy(keys, calls, Project((*_outputs(outer), ("#arg0", value)), answer.plan))
        rows, full = Column("#rows", INTEGER), Column("#full", INTEGER)
        values: list[Expression] = [
            Call(">", (rows, Literal(0, INTEGER)), BOOLEAN),
            Call("<", (full, rows), BOOLEAN),
            *more,
        ]
        names = tuple(self._name(i) for i in range(len(values)))
        plan: Node = Project((*_outputs(outer), *zip(names, values)), grouped)
        if outer is not None:
            defaults = [FALSE, FALSE, *(Literal(None, column.type) for column in more)]
            plan = completed(plan, outer.hole, defaults)
        self._hide(plan, outer, node, names)
        return [Column(name, v.type) for name, v in zip(names, values)]

    def _column(self, node: exp.Expr, answer: Answer, outer: Outer | None) -> Column:
        """The one column of a subquery."""
        fields = list(answer.plan.schema)[len(outer.columns) if outer is not None else 0 :]
        self._check_width(node, len(fields), 1)
        return Column(fields[0].name, fields[0].type)

    def _query(self, quantifier: exp.Expr) -> exp.Expr:
        if not is_query(quantifier.this):
            word = quantifier_of(quantifier, self.queries.text)
            raise MillstreamError(
                f"{word} needs a subquery",
                place_of(quantifier, self.queries.text),
                hint=f"Write x > {word} (SELECT …), or x IN (1, 2).",
            )
        return quantifier.this

    def _name(self, more: int = 0) -> str:
        return f"#sub{len(self.hidden) + more}"

    def _hide(
        self,
        plan: Node,
        outer: Outer | None,
        node: exp.Expr,
        names: tuple[str, ...],
        sparse: Node | None = None,
    ) -> None:
        """Keep a relation whose columns become hidden ones; only changes of its values matter."""
        links, holes = ((), ()) if outer is None else (outer.links, (outer.hole,))
        place = place_of(node, self.queries.text)
        less = None if sparse is None else SubqueryRelation(Distinct(sparse), links, holes, place)
        hidden = Hidden(SubqueryRelation(Distinct(plan), links, holes, place), names, less)
        self.hidden |= dict.fromkeys(names, hidden)


_ENDS = (MIN, MAX)


def _counts() -> tuple[AggregateCall, AggregateCall]:
    return (
        AggregateCall("#rows", COUNT, (), INTEGER),
        AggregateCall("#full", COUNT, ("#arg0",), INTEGER),
    )


def _outputs(outer: Outer | None) -> list[tuple[str, Expression]]:
    return [] if outer is None else outer.outputs


def _or_null(plan: Node, outer: Outer | None, value: Column) -> Node:
    """A plan of at most one row, with NULL where it has none."""
    null = Literal(None, value.type)
    if outer is not None:
        return completed(plan, outer.hole, [null])
    if MAX.result(value.type) is not None:
        call = AggregateCall(value.name, MAX, ("#arg0",), value.type)
        return GroupBy((), (call,), Project((("#arg0", value),), plan))
    counted = GroupBy((), _counts()[:1], Project((), plan))
    one = Distinct(Project((("#one", Literal(1, INTEGER)),), counted))
    return UnionAll(plan, Project(((value.name, null),), AntiJoin(TRUE, one, plan)))
