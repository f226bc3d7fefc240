"""Relations beside a plan: they filter its rows, or add hidden columns to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from millstream.algebra.expressions import (
    Call,
    Cast,
    Column,
    Expression,
    columns_of,
    conjunction,
    conjuncts,
)
from millstream.algebra.node import Node, walk
from millstream.algebra.now import reads_now
from millstream.bind.relations.predicate_windows import holding
from millstream.bind.relations.times import check_times
from millstream.bind.subqueries.correlation import Hole, equal, fill, same
from millstream.errors import MillstreamError, Place
from millstream.operators import AntiJoin, Distinct, Join, Project, SemiJoin, SingleJoin
from millstream.operators.project import handed_on

Translate = Callable[[Expression], Expression]
"""From the columns of FROM to those of a plan: what they are after grouping."""


@dataclass(frozen=True)
class Answer:
    """The plan of a query: the columns of its domain first, then those of its select list.

    `single`: at most one row at any time (for every row of the domain); `always`: never none.
    `sparse` is the plan without rows in which all columns of the select list are NULL.
    """

    plan: Node
    single: bool = False
    always: bool = False
    sparse: Node | None = None


@dataclass(frozen=True)
class SubqueryRelation:
    """A relation beside a plan: `links` are its columns with the expressions of the plan they are
    equal to; `holes` are to be filled with the values of those. Without holes in the plan, no link
    column of it is ever NULL."""

    plan: Node
    links: tuple[tuple[str, Expression], ...] = ()
    holes: tuple[Hole, ...] = ()
    place: Place | None = None

    def over(self, plan: Node, translate: Translate) -> tuple[Node, list[Expression]]:
        """Its rows for a plan, and the conditions that tie them to the rows of the plan.

        The rows of the plan may be more than those that are asked for.
        """
        links = {name: translate(value) for name, value in self.links}
        rows = self.plan
        for hole in self.holes:
            values = tuple((name, links[name]) for name, _ in hole.columns)
            rows = fill(rows, hole, Distinct(Project(values, plan)))
        check_times(plan, rows, self.place)
        tie = same if any(isinstance(node, Hole) for node in walk(self.plan)) else equal
        return rows, [tie(v, Column(n, rows.schema.field(n).type)) for n, v in links.items()]


@dataclass(frozen=True)
class Keep:
    """Keep the rows for which the relation has a row that meets the condition (or has none).

    `base` is the plan before other tests: the relation need not be computed for each of them anew.
    """

    condition: Expression
    relation: SubqueryRelation
    anti: bool = False

    def apply(self, plan: Node, base: Node, translate: Translate) -> Node:
        rows, ties = self.relation.over(base, translate)
        if reads_now(self.condition):
            raise MillstreamError(
                "the instant Now cannot be looked for in a subquery",
                self.relation.place,
                hint="Join with the subquery in FROM, and compare Now in WHERE.",
            )
        condition = conjunction([*ties, *conjuncts(translate(self.condition))])
        return (AntiJoin if self.anti else SemiJoin)(condition, plan, rows)


@dataclass(frozen=True)
class Hidden:
    """Columns that a subquery adds to every row: its relation has exactly one row for each.

    `sparse` is the relation without the rows in which all values are NULL, if it is known.
    """

    relation: SubqueryRelation
    values: tuple[str, ...]
    sparse: SubqueryRelation | None = None

    def attach(self, plan: Node | None, base: Node | None, translate: Translate) -> Node:
        """The plan with the columns; the relation itself if there is no plan."""
        if plan is None:
            return self.relation.plan
        rows, ties = self.relation.over(base or plan, translate)
        both = SingleJoin(conjunction(ties), plan, rows)
        if not ties:
            return both
        added = [(n, Column(n, rows.schema.field(n).type)) for n in self.values]
        return Project((*handed_on(plan.schema), *added), both)


@dataclass(frozen=True)
class Meet:
    """Keep the rows that meet a condition over their own columns and hidden ones."""

    condition: Expression
    hidden: tuple[Hidden, ...]

    def apply(self, plan: Node, base: Node, translate: Translate) -> Node:
        """A row stays the same row whatever the values of the subqueries are."""
        condition = translate(self.condition)
        if reads_now(condition):
            return self._holding(condition, plan, base, translate)
        if len(self.hidden) == 1:
            only = self.hidden[0]
            relation = only.relation
            if only.sparse is not None and unknown_without(condition, only.values):
                relation = only.sparse
            rows, ties = relation.over(base, translate)
        else:
            every, domain = _together(self.hidden, base, translate)
            rows, ties = Distinct(every), [same(v, column) for v, column in domain.items()]
        return SemiJoin(conjunction([*ties, *conjuncts(condition)]), plan, rows)

    def _holding(self, condition: Expression, plan: Node, base: Node, translate: Translate) -> Node:
        """The same for a condition that reads Now: the values stand beside the rows."""
        beside = plan
        for hidden in self.hidden:
            if hidden.values[0] not in beside.schema.names:
                beside = hidden.attach(beside, base, translate)
        return Project(handed_on(plan.schema), holding([condition], beside))


Test = Keep | Meet


def _together(
    hidden: tuple[Hidden, ...],
    plan: Node | None,
    translate: Translate,
) -> tuple[Node, dict[Expression, Column]]:
    """Several relations as one: a row for all that the plan has of what they depend on.

    Also gives the columns of it that stand for expressions of the plan.
    """
    wanted = dict.fromkeys(translate(v) for h in hidden for _, v in h.relation.links)
    domain = {value: Column(f"#domain{i}", value.type) for i, value in enumerate(wanted)}
    rows: Node | None = None
    if domain:
        if plan is None:
            raise MillstreamError(
                "IN with a subquery needs FROM",
                hidden[0].relation.place,
                hint="Put the value into a subquery in FROM, and compare it in the select list.",
            )
        rows = Distinct(Project(tuple((c.name, v) for v, c in domain.items()), plan))
    for one in hidden:
        part = one.relation.plan if plan is None else one.relation.over(plan, translate)[0]
        if rows is None:
            rows = part
            continue
        check_times(rows, part, one.relation.place)
        ties = [
            same(domain[translate(v)], Column(n, part.schema.field(n).type))
            for n, v in one.relation.links
        ]
        both = Join(conjunction(ties), rows, part)
        added = [(n, Column(n, part.schema.field(n).type)) for n in one.values]
        rows = Project((*handed_on(rows.schema), *added), both)
    assert rows is not None
    return rows, domain


@dataclass
class Attachment:
    """A plan to which the values of expressions with hidden columns are added.

    A row is another one only when such a value changes: what it is computed from may change.
    """

    plan: Node | None
    hidden: dict[str, Hidden]
    translate: Translate
    done: dict[Expression, Column] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.base = self.plan

    def value(self, value: Expression) -> Expression:
        """The expression over the columns of the plan, which may get more of them."""
        names = columns_of(value)
        used = tuple(dict.fromkeys(h for name, h in self.hidden.items() if name in names))
        if not used:
            return value
        if value not in self.done:
            plain = isinstance(value, Column)
            self.done[value] = self._plain(value, used[0]) if plain else self._added(value, used)
        return self.done[value]

    def _plain(self, value: Expression, hidden: Hidden) -> Column:
        assert isinstance(value, Column)
        if self.plan is None or value.name not in self.plan.schema.names:
            self.plan = hidden.attach(self.plan, self.base, self.translate)
        return value

    def _added(self, value: Expression, used: tuple[Hidden, ...]) -> Column:
        name = f"#value{len(self.done)}"
        if self.plan is None:
            rows, _ = _together(used, None, self.translate)
            self.plan = Distinct(Project(((name, value),), rows))
        else:
            below = plan = self.plan
            for hidden in used:
                if hidden.values[0] not in plan.schema.names:
                    plan = hidden.attach(plan, self.base, self.translate)
            self.plan = Project((*handed_on(below.schema), (name, value)), plan)
        return Column(name, value.type)


STRICT = frozenset(("=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "div", "neg", "like"))
"""Functions that are NULL when an argument is."""


def unknown_without(condition: Expression, names: tuple[str, ...]) -> bool:
    """True when the condition cannot hold where all of the columns are NULL."""
    return any(is_null_with(part, frozenset(names)) for part in conjuncts(condition))


def is_null_with(value: Expression, names: frozenset[str]) -> bool:
    """True when the value is NULL where all of the columns are."""
    match value:
        case Column(name=name):
            return name in names
        case Cast(argument=argument):
            return is_null_with(argument, names)
        case Call(function=function, arguments=arguments) if function in STRICT:
            return any(is_null_with(argument, names) for argument in arguments)
    return False
