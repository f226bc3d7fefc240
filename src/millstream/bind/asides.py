"""Relations beside a plan: they filter its rows, or add hidden columns to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from millstream.algebra.expressions import (
    Call,
    Cast,
    Column,
    Expression,
    conjunction,
    conjuncts,
)
from millstream.algebra.node import Node, walk
from millstream.bind.correlation import Hole, equal, fill, kept, same
from millstream.bind.times import check_times
from millstream.errors import Place
from millstream.operators import AntiJoin, Distinct, Join, Project, SemiJoin

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
class Aside:
    """A relation beside a plan: `links` are its columns with the expressions of the plan they are
    equal to; `holes` are to be filled with the values of those. Without holes in the plan, no link
    column of it is ever NULL."""

    plan: Node
    links: tuple[tuple[str, Expression], ...] = ()
    holes: tuple[Hole, ...] = ()
    place: Place | None = None

    def over(self, plan: Node, translate: Translate) -> tuple[Node, list[Expression]]:
        """Its rows for a plan, and the conditions that tie them to its rows."""
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
    """Keep the rows for which the relation has a row that meets the condition (or has none)."""

    condition: Expression
    aside: Aside
    anti: bool = False

    def apply(self, plan: Node, translate: Translate) -> Node:
        rows, ties = self.aside.over(plan, translate)
        condition = conjunction([*ties, *conjuncts(translate(self.condition))])
        return (AntiJoin if self.anti else SemiJoin)(condition, plan, rows)


@dataclass(frozen=True)
class Hidden:
    """Columns that a subquery adds to every row: its relation has exactly one row for each.

    `sparse` is the relation without the rows in which all values are NULL, if it is known.
    """

    aside: Aside
    values: tuple[str, ...]
    sparse: Aside | None = None

    def attach(self, plan: Node | None, translate: Translate) -> Node:
        """The plan with the columns; the relation itself if there is no plan."""
        if plan is None:
            return self.aside.plan
        rows, ties = self.aside.over(plan, translate)
        both = Join(conjunction(ties), plan, rows)
        if not ties:
            return both
        added = [(n, Column(n, rows.schema.field(n).type)) for n in self.values]
        return Project((*kept(plan), *added), both)


@dataclass(frozen=True)
class Meet:
    """Keep the rows that meet a condition over their own columns and hidden ones."""

    condition: Expression
    hidden: tuple[Hidden, ...]

    def apply(self, plan: Node, translate: Translate) -> Node:
        """A row stays the same row whatever the values of the subqueries are."""
        condition = translate(self.condition)
        if len(self.hidden) == 1:
            only = self.hidden[0]
            aside = only.aside
            if only.sparse is not None and unknown_without(condition, only.values):
                aside = only.sparse
            rows, ties = aside.over(plan, translate)
        else:
            rows, ties = _together(self.hidden, plan, translate)
        return SemiJoin(conjunction([*ties, *conjuncts(condition)]), plan, rows)


Test = Keep | Meet


def _together(
    hidden: tuple[Hidden, ...], plan: Node, translate: Translate
) -> tuple[Node, list[Expression]]:
    """Several relations as one: a row for all that the plan has of what they depend on."""
    parts = [h.aside.over(plan, translate) for h in hidden]
    wanted = dict.fromkeys(translate(v) for h in hidden for _, v in h.aside.links)
    domain = {value: Column(f"#domain{i}", value.type) for i, value in enumerate(wanted)}
    rows: Node | None = None
    if domain:
        rows = Distinct(Project(tuple((c.name, v) for v, c in domain.items()), plan))
    for one, (part, _) in zip(hidden, parts):
        if rows is None:
            rows = part
            continue
        ties = [
            same(domain[translate(v)], Column(n, part.schema.field(n).type))
            for n, v in one.aside.links
        ]
        both = Join(conjunction(ties), rows, part)
        added = [(n, Column(n, part.schema.field(n).type)) for n in one.values]
        rows = Project((*kept(rows), *added), both)
    assert rows is not None
    return Distinct(rows), [same(value, column) for value, column in domain.items()]


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
