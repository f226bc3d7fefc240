"""One SELECT: its clauses bound, then put on top of each other as a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from sqlglot import exp

from millstream.aggregates.aggregate import Aggregate
from millstream.algebra.expressions import (
    Column,
    Expression,
    Literal,
    columns_of,
    rewrite,
)
from millstream.algebra.node import Node
from millstream.algebra.now import reads_now
from millstream.algebra.types import INTEGER
from millstream.bind.expressions.over_messages import over_relation
from millstream.bind.expressions.scalars import Expressions
from millstream.bind.names.scope import Scope
from millstream.bind.names.trees import (
    calls_own,
    has_aggregate,
    has_query,
    is_query,
    own_parts,
)
from millstream.bind.queries.conditions import Conditions
from millstream.bind.queries.feeding import beside_groups_of, fed, recomputed
from millstream.bind.queries.frames import as_stream, is_over_stream
from millstream.bind.queries.grouping import Grouping, after_grouping, of_nothing
from millstream.bind.queries.items import Item, Outputs, aliases_of, bind_items
from millstream.bind.queries.keys import bind_keys
from millstream.bind.queries.ordering import Ordering, bind_ordering
from millstream.bind.queries.overs import Overs
from millstream.bind.queries.owns import Owns
from millstream.bind.queries.select_checks import (
    check_aggregates,
    check_alone,
    check_ordering,
    check_over,
    check_owns,
    check_without_from,
)
from millstream.bind.queries.single import at_most_one
from millstream.bind.relations.entries import Joined
from millstream.bind.relations.predicate_windows import holding, now_here
from millstream.bind.subqueries.correlation import (
    Around,
    Outer,
    completed,
    correlated,
)
from millstream.bind.subqueries.in_expressions import Queries, Subqueries
from millstream.bind.subqueries.membership import Rows
from millstream.bind.subqueries.relations import (
    Answer,
    Attachment,
    SubqueryRelation,
    Translate,
    is_null_with,
)
from millstream.blocks.versions import Known
from millstream.catalog import Catalog
from millstream.errors import MillstreamError, Notice
from millstream.lang import place_of
from millstream.operators import Distinct, GroupBy, Istream, Project, Unbounded


class Sourced(Queries, Protocol):
    """Binds queries, and the entries of their FROM."""

    notices: list[Notice]
    catalog: Catalog

    def aggregate(self, name: str) -> Aggregate | None:
        """The aggregate of a name."""

    @property
    def routines(self) -> Known:
        """The aggregates of one's own, by name."""

    def source(self, select: exp.Select) -> Joined | None:
        """What stands in FROM."""


@dataclass
class Select:
    """Binds one SELECT; `outer` is what it uses of the query around it."""

    queries: Sourced
    node: exp.Select
    outer: Outer | None = None
    source: Joined | None = field(init=False)
    subqueries: Subqueries = field(init=False)

    def __post_init__(self) -> None:
        self.source = self.queries.source(self.node)
        self.subqueries = Subqueries(self.queries, Around(self.scope, self.outer))
        if self.source is None:
            check_without_from(self.node, self.text)

    @property
    def scope(self) -> Scope:
        return Scope(()) if self.source is None else self.source.scope

    @property
    def text(self) -> str:
        return self.queries.text

    @property
    def _domain(self) -> Outputs:
        return () if self.outer is None else tuple(self.outer.outputs)

    @property
    def _names(self) -> tuple[str, ...]:
        return () if self.outer is None else self.outer.names

    def answer(self) -> Answer:
        """The plan of the whole SELECT, before a stream operator."""
        where = self._conditions("where", self._expressions("WHERE"))
        expressions = self._expressions("the select list")
        grouping = Grouping(expressions)
        overs = Overs(expressions, self.node, None if self.source is None else self.source.plan)
        owns = Owns(expressions, self.queries.routines, overs)
        expressions.aggregate, expressions.over = grouping.aggregate, overs.call
        expressions.owns = owns
        items = bind_items(self.node, expressions)
        in_having = replace(expressions, aliases=aliases_of(items), now=self._now, clause="HAVING")
        having = self._conditions("having", in_having)
        read_once = self.queries.catalog.past is not None
        notices = self.queries.notices
        ordering = bind_ordering(self.node, items, expressions, notices, read_once)
        check_ordering(self.node, ordering, self.text)
        check_aggregates(grouping, self.outer)
        wanted = (*items, *_hidden_items(ordering))
        plan = self._input(where)
        if owns.asked:
            check_owns(self.node, owns, grouping, self.outer, self.text)
            own = self._owned(plan, owns, grouping, items, wanted, having)
            return self._finished(own, ordering)
        if overs.windows:
            check_over(self.node, overs, grouping, self.outer, self.text)
            plan = Unbounded(overs.plan(self._stream(plan)))
        if grouping.calls or any(self.node.args.get(word) for word in ("group", "having")):
            answer = self._grouped(plan, grouping, items, wanted, having)
        else:
            alone = self.source is None
            single = plan is not None and at_most_one(plan, frozenset(self._names))
            answer = Answer(self._projected(plan, wanted, _unchanged), alone or single, alone)
        return self._finished(answer, ordering)

    def _owned(
        self,
        plan: Node | None,
        owns: Owns,
        grouping: Grouping,
        items: list[Item],
        wanted: tuple[Item, ...],
        having: Conditions,
    ) -> Answer:
        """With aggregates of one's own: each tuple of a stream with what they return, or the
        groups of a relation."""
        group, plan = self.node.args.get("group"), self._there(plan)
        keys = bind_keys(group, items, self._expressions("GROUP BY"))
        if owns.is_fed(plan):
            check_alone(owns, grouping)
            result: Node = Unbounded(fed(owns, self._stream(plan), keys))
        else:
            result = recomputed(owns, plan, keys)
            if grouping.calls:
                result = beside_groups_of(result, self._groups(plan, grouping, keys))
            group = group or True

        def after(node: exp.Expr | None) -> Translate:
            if not group or node is None:
                return _unchanged
            return lambda value: after_grouping(value, keys, node, owns.expressions)

        clause = self.node.args.get("having")
        if having.plain:
            result = self._holding([after(clause)(c) for c in having.plain], result)
        base = result
        for test in having.tests:
            result = test.apply(result, base, after(clause))
        ready = [Item(i.name, after(i.node)(i.value), i.node) for i in wanted]
        return Answer(self._projected(result, ready, after(self.node)))

    def _stream(self, plan: Node | None) -> Node:
        """The elements that the calls with OVER are about."""
        plan = self._there(plan)
        if (stream := as_stream(plan)) is not None:
            return stream
        place = place_of(self.node.args["from_"], self.text)
        if not is_over_stream(plan):
            raise over_relation("FROM has none").at(place)
        if not plan.monotonic:
            raise over_relation("the rows of FROM can leave again").at(place)
        self.queries.notices.append(Notice("FROM under OVER only grows: Istream is used"))
        return Istream(plan)

    def rows(self, with_values: bool) -> Rows | None:
        """The rows for IN or EXISTS, tied by the conditions that name the query around.

        None when the SELECT is not that simple.
        """
        outer = self.outer
        assert outer is not None
        if not self._is_plain() or (with_values and any(map(has_query, self.node.expressions))):
            return None
        where = self._conditions("where", self._expressions("WHERE"))
        values: list[Expression] = []
        if with_values:
            items = bind_items(self.node, self._expressions("the select list"))
            values = [item.value for item in items]
        assert self.source is not None
        plan = self._holding([c for c in where.plain if not outer.mentioned(c)], self.source.plan)
        base = plan
        for test in where.tests:
            plan = test.apply(plan, base, _unchanged)
        ties = [c for c in where.plain if outer.mentioned(c)]
        if any(map(reads_now, ties)):
            return None
        return self._beside(plan, ties, values, outer)

    def _beside(
        self, plan: Node, ties: list[Expression], values: list[Expression], outer: Outer
    ) -> Rows:
        """The rows under names of their own, with conditions over both sides."""
        around = dict(zip(outer.names, outer.used))
        read = [columns_of(e) - set(outer.names) for e in (*ties, *values)]
        names = [n for n in plan.schema.names if any(n in part for part in read)]
        columns = {n: Column(f"#in{i}", plan.schema.field(n).type) for i, n in enumerate(names)}

        def outside(part: Expression) -> Expression | None:
            if not isinstance(part, Column):
                return None
            return around.get(part.name) or columns[part.name]

        outputs = [(c.name, Column(n, c.type)) for n, c in columns.items()]
        relation = SubqueryRelation(_some(outputs, plan), place=place_of(self.node, self.text))
        conditions = tuple(rewrite(tie, outside) for tie in ties)
        return Rows(relation, conditions, tuple(rewrite(value, outside) for value in values))

    def _is_plain(self) -> bool:
        """True for a SELECT of some rows of FROM, whose subqueries do not look further out."""
        args = self.node.args
        words = ("group", "having", "limit", "offset", "to_stream", "form")
        if self.source is None or any(args.get(w) for w in words):
            return False
        if has_aggregate(self.node, self.queries.aggregate):
            return False
        if calls_own(self.node, self.queries.routines):
            return False
        clauses = [c for c in (*self.node.expressions, args.get("where")) if c is not None]
        nested = [part for clause in clauses for part in own_parts(clause) if is_query(part)]
        assert self.outer is not None
        around = Around(self.scope, self.outer)
        used = [self.queries.outer_of(part, around) for part in nested]
        return not any(set(outer.used) & set(self.outer.columns) for outer in used if outer)

    def _expressions(self, clause: str) -> Expressions:
        outer = None if self.outer is None else self.outer.find
        return Expressions(
            self.scope,
            self.text,
            clause,
            outer=outer,
            subquery=self.subqueries.value,
            notices=self.queries.notices,
            aggregates=self.queries.aggregate,
            routines=self.queries.routines,
            now=self._now if clause == "WHERE" else None,
        )

    def _now(self) -> Expression:
        """The instant at which a condition is looked at."""
        return now_here(None if self.source is None else self.source.plan, self.queries.catalog)

    def _holding(self, conditions: Sequence[Expression], plan: Node) -> Node:
        return holding(conditions, plan, self.queries.catalog, self.queries.notices)

    def _conditions(self, word: str, expressions: Expressions) -> Conditions:
        clause = self.node.args.get(word)
        if clause is None:
            return Conditions()
        is_where = word == "where"
        split = self.outer is not None and is_where
        steering = self.source.steering if self.source is not None and is_where else ()
        called = word.upper()
        return Conditions.of(clause.this, called, expressions, self.subqueries, split, steering)

    def _input(self, where: Conditions) -> Node | None:
        """The rows of FROM that meet WHERE, with the columns of the domain."""
        plan: Node | None = None if self.source is None else self.source.plan
        if plan is None:
            return None if self.outer is None else self.outer.hole
        if self.outer is not None:
            plan = correlated(plan, list(where.plain), self.outer)
        else:
            plan = self._holding(where.plain, plan)
        base = plan
        for test in where.tests:
            plan = test.apply(plan, base, _unchanged)
        return plan

    def _grouped(
        self,
        plan: Node | None,
        grouping: Grouping,
        items: list[Item],
        wanted: tuple[Item, ...],
        having: Conditions,
    ) -> Answer:
        group, clause = self.node.args.get("group"), self.node.args.get("having")
        keys = (*self._domain, *bind_keys(group, items, self._expressions("GROUP BY")))
        grouped = self._groups(plan, grouping, keys)
        result: Node = grouped
        if self.outer is not None and group is None:
            result = completed(grouped, self.outer.hole, [of_nothing(c) for c in grouped.calls])

        expressions = grouping.expressions

        def after(node: exp.Expr) -> Translate:
            return lambda value: after_grouping(value, keys, node, expressions)

        if having.plain and clause is not None:
            result = self._holding([after(clause.this)(c) for c in having.plain], result)
        base = result
        for test in having.tests:
            assert clause is not None
            result = test.apply(result, base, after(clause.this))
        ready = [Item(i.name, after(i.node)(i.value), i.node) for i in wanted]
        projected = self._projected(result, ready, after(self.node))
        if group is not None:
            return Answer(projected)
        sparse = None
        if self.outer is not None and clause is None and _is_null_of_nothing(ready, grouped):
            sparse = self._projected(grouped, ready, after(self.node))
        return Answer(projected, True, clause is None, sparse)

    def _groups(self, plan: Node | None, grouping: Grouping, keys: Outputs) -> GroupBy:
        below = Attachment(plan, self.subqueries.hidden, _unchanged)
        by = tuple((name, below.value(value)) for name, value in keys)
        grouping.arguments = {n: below.value(value) for n, value in grouping.arguments.items()}
        return grouping.plan(self._there(below.plan), by)

    def _projected(self, plan: Node | None, items: Sequence[Item], translate: Translate) -> Node:
        """The values of the items, those of subqueries in them too."""
        attachment = Attachment(plan, self.subqueries.hidden, translate)
        outputs = tuple((item.name, attachment.value(item.value)) for item in items)
        return Project((*self._domain, *outputs), self._there(attachment.plan))

    def _there(self, plan: Node | None) -> Node:
        if plan is None:
            raise MillstreamError(
                "a query needs FROM",
                place_of(self.node, self.text),
                hint="Name a stream: SELECT … FROM bids.",
            )
        return plan

    def _finished(self, answer: Answer, ordering: Ordering | None) -> Answer:
        """With DISTINCT, and with the first rows only."""
        plan, names = answer.plan, self._names
        if self.node.args.get("distinct") is not None:
            plan = Distinct(plan)
        if ordering is None:
            single = answer.single or at_most_one(plan, frozenset(names))
            sparse = answer.sparse if plan is answer.plan else None
            return Answer(plan, single, answer.always, sparse)
        plan = ordering.apply(plan, names)
        return Answer(plan, answer.single or ordering.limit in (0, 1))


def _unchanged(value: Expression) -> Expression:
    return value


def _hidden_items(ordering: Ordering | None) -> list[Item]:
    if ordering is None:
        return []
    return [Item(key.name, key.value, key.node) for key in ordering.hidden if key.value is not None]


def _some(outputs: Sequence[tuple[str, Expression]], plan: Node) -> Node:
    """The columns of a plan; without any, one row as long as there is a row."""
    if outputs:
        return Project(tuple(outputs), plan)
    return Distinct(Project((("#in0", Literal(1, INTEGER)),), plan))


def _is_null_of_nothing(items: Sequence[Item], grouped: GroupBy) -> bool:
    """True when all items of a global aggregate are NULL where there are no rows."""
    names = frozenset(c.name for c in grouped.calls if c.aggregate.of_nothing is None)
    return all(is_null_with(item.value, names) for item in items)
