"""Queries: from the syntax tree to a plan, with the defaults of CQL and a report of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from sqlglot import exp

from millstream.aggregates.aggregate import Aggregate
from millstream.algebra.expressions import Column, Literal
from millstream.algebra.node import Node, walk
from millstream.algebra.types import INTEGER
from millstream.bind.expressions.scalars import Expressions
from millstream.bind.names.elements import OF_TUPLES
from millstream.bind.names.scope import Scope, is_known, not_found_in
from millstream.bind.names.trees import aggregates_of, calls_own, has_over, is_query, own_parts
from millstream.bind.names.words import check_name, find_word
from millstream.bind.queries.active import rstream
from millstream.bind.queries.beginnings import with_beginning
from millstream.bind.queries.first_points import from_first_point
from millstream.bind.queries.items import Item
from millstream.bind.queries.ordering import bind_ordering, clause_place
from millstream.bind.queries.select import Select
from millstream.bind.relations.entries import Joined
from millstream.bind.relations.own_time import at_own_instants
from millstream.bind.relations.set_operations import combine
from millstream.bind.relations.sources import Sources, member_of
from millstream.bind.subqueries.correlation import Around, Hole, Outer
from millstream.bind.subqueries.in_expressions import Subqueries
from millstream.bind.subqueries.membership import Rows
from millstream.bind.subqueries.relations import Answer, SubqueryRelation
from millstream.blocks.versions import Known
from millstream.catalog import Catalog, View
from millstream.catalog import Entry as Named
from millstream.errors import MillstreamError, Notice, Place
from millstream.lang import ToStream, deep_stack, name_place_of, place_of, to_sql
from millstream.operators import Distinct, Dstream, Istream, Project, Unbounded

ONE = Literal(1, INTEGER)
TO_STREAM: dict[str, Callable[[Node], Node]] = {
    "istream": Istream,
    "dstream": Dstream,
    "rstream": rstream,
}


@dataclass(frozen=True)
class Bound:
    """A bound query: its plan, the form its author asked for, and the defaults that were used."""

    plan: Node
    form: str | None
    notices: tuple[Notice, ...]
    reads: tuple[str, ...] = ()
    """The names of the catalog that it reads."""


def bind_query(query: exp.Expr, catalog: Catalog, text: str) -> Bound:
    """The plan of a query that stands by itself, in CREATE … AS or in EXPLAIN."""
    with deep_stack():
        binder = _Binder(catalog, text)
        plan = from_first_point(with_beginning(binder.query(query, outermost=True), catalog))
        assert not any(isinstance(node, Hole) for node in walk(plan)), "every domain is filled"
        known = catalog.entries
        read = [entry.name for entry in binder.found if known.get(entry.name.lower()) is entry]
        notices = tuple(dict.fromkeys(binder.notices))
        return Bound(plan, _form(query), notices, tuple(dict.fromkeys(read)))


@dataclass
class _Binder:
    """Binds a query and all queries in it. FROM and WITH are bound once, whoever asks first."""

    catalog: Catalog
    text: str
    notices: list[Notice] = field(default_factory=list)
    found: list[Named] = field(default_factory=list)
    """What names in FROM have meant, in the catalog or in WITH."""
    _catalogs: dict[int, Catalog] = field(default_factory=dict)
    _sources: dict[int, Joined | None] = field(default_factory=dict)
    _free: dict[int, list[exp.Expr]] = field(default_factory=dict)

    def query(self, node: exp.Expr, outermost: bool = False) -> Node:
        """The plan of a query, before the defaults for outermost queries."""
        return self._answer(node, None, outermost).plan

    def relation(self, node: exp.Expr, outer: Outer | None) -> Answer:
        """The plan of a subquery in an expression, which must be a relation."""
        answer = self._answer(node, outer)
        if answer.plan.is_stream:
            raise MillstreamError(
                "a subquery in an expression must be a relation, and this one gives a stream",
                place_of(node, self.text),
                hint="Leave out Istream, Dstream or Rstream.",
            )
        return answer

    def rows(self, node: exp.Expr, around: Around) -> Rows:
        """The rows of a subquery for IN."""
        return self._rows(node, around, True)

    def presence(self, node: exp.Expr, around: Around) -> Rows:
        """The rows of a subquery for EXISTS."""
        return self._rows(node, around, False)

    def _rows(self, node: exp.Expr, around: Around, with_values: bool) -> Rows:
        inner = _unwrapped(node)
        outer = self.outer_of(inner, around)
        if outer is not None and isinstance(inner, exp.Select):
            with self._ctes(inner):
                rows = Select(self, inner, outer).rows(with_values)
            if rows is not None:
                return rows
        answer = self.relation(inner, outer)
        domain = [] if outer is None else outer.outputs
        fields = list(answer.plan.schema)[len(domain) :] if with_values else []
        named = [(f"#in{i}", Column(f.name, f.type)) for i, f in enumerate(fields)]
        plan: Node = Project((*domain, *named) or (("#in0", ONE),), answer.plan)
        if not with_values:
            plan = Distinct(plan)
        links, holes = ((), ()) if outer is None else (outer.links, (outer.hole,))
        relation = SubqueryRelation(plan, links, holes, place_of(node, self.text))
        return Rows(relation, (), tuple(Column(name, c.type) for name, c in named))

    def outer_of(self, node: exp.Expr, around: Around) -> Outer | None:
        """What a subquery uses of the query around it; None if nothing."""
        used, inside = dict[Column, None](), set[int]()
        for name in self._free_names(node):
            there = None if id(name) in inside else self._around(name, around)
            if there is not None:
                used[there] = None
                inside |= {id(part) for part in name.walk()}
            elif isinstance(name, exp.Column):
                not_found_in(around.scope, name)
        return Outer(around, tuple(used)) if used else None

    def _around(self, name: exp.Expr, around: Around) -> Column | None:
        try:
            return around.find(name)
        except MillstreamError as error:
            raise error.at(place_of(name, self.text)) from None

    def aggregate(self, name: str) -> Aggregate | None:
        """The aggregate of a name: one of the catalog, or a built-in."""
        return self.catalog.aggregate(name)

    @property
    def routines(self) -> Known:
        """The aggregates of one's own, by name."""
        return self.catalog.versions

    def source(self, select: exp.Select) -> Joined | None:
        """What stands in FROM of a SELECT."""
        if id(select) not in self._sources:
            stamped = any(a.goes_by_time for a in aggregates_of(select, self.aggregate))
            sources = Sources(
                self.catalog,
                self.text,
                self.query,
                self._test,
                stamped,
                has_over(select) or calls_own(select, self.routines),
                self.notices,
                self.found,
            )
            self._sources[id(select)] = sources.bind(select)
        return self._sources[id(select)]

    def _test(self, plan: Node, scope: Scope, conditions: list[exp.Expr]) -> Node:
        """The rows of a join that meet conditions with subqueries in its ON."""
        subqueries = Subqueries(self, Around(scope))
        expressions = Expressions(
            scope,
            self.text,
            "ON",
            subquery=subqueries.value,
            notices=self.notices,
            aggregates=self.aggregate,
            routines=self.routines,
        )
        base = plan
        for test in subqueries.tests(conditions, expressions, "ON"):
            plan = test.apply(plan, base, lambda value: value)
        return plan

    def _free_names(self, node: exp.Expr) -> list[exp.Expr]:
        """The columns in a query that nothing in its own FROM has; and what may be said of the
        tuples of a sequence further out."""
        if id(node) not in self._free:
            with self._ctes(node):
                self._free[id(node)] = self._find_free(node)
        return self._free[id(node)]

    def _find_free(self, node: exp.Expr) -> list[exp.Expr]:
        if not isinstance(node, exp.Select):
            sides = (node.this, node.args.get("expression"))
            return [c for s in sides if s is not None and is_query(s) for c in self._free_names(s)]
        source = self.source(node)
        scope = Scope(()) if source is None else source.scope
        aliases = {item.alias.lower() for item in node.expressions if isinstance(item, exp.Alias)}
        found = []
        for word in ("expressions", "where", "group", "having", "order"):
            clause = node.args.get(word)
            for part in clause if isinstance(clause, list) else [clause] if clause else []:
                names = aliases if word in ("group", "having", "order") else set()
                found += [c for c in self._names_in(part) if not _is_own(c, scope, names)]
        return found

    def _names_in(self, clause: exp.Expr) -> Iterator[exp.Expr]:
        """The names of a clause, and those that subqueries in it do not have themselves."""
        for part in own_parts(clause):
            if is_query(part):
                yield from self._free_names(part)
            elif isinstance(part, OF_TUPLES) or _names_column(part):
                yield part

    def _answer(self, node: exp.Expr, outer: Outer | None, outermost: bool = False) -> Answer:
        form = node.args.get("form")
        if form and not outermost:
            raise MillstreamError(
                f"{form.upper()} is for outermost queries",
                self._word(node, form),
                hint=f"Leave {form.upper()} out here.",
            )
        with self._ctes(node):
            match node:
                case ToStream():
                    return self._to_stream(node)
                case exp.Select():
                    return self._select(node, outer)
                case exp.SetOperation():
                    answer = self._set_operation(node, outer, outermost)
                case _:
                    answer = self._answer(node.this, outer, outermost)
            return self._ordered(node, answer, outer)

    def _to_stream(self, node: ToStream) -> Answer:
        inner = self.query(node.this)
        if inner.is_stream:
            word = node.operator.capitalize()
            raise MillstreamError(
                f"{word} needs a relation, and the query inside gives a stream",
                self._word(node, word),
                hint="Leave out one of the two operators.",
            )
        return Answer(self._changes_of(node.operator, inner))

    def _changes_of(self, operator: str, relation: Node) -> Node:
        if operator == "istream":
            return Istream(at_own_instants(relation, self.catalog))
        return TO_STREAM[operator](relation)

    def _select(self, node: exp.Select, outer: Outer | None) -> Answer:
        answer = Select(self, node, outer).answer()
        operator = node.args.get("to_stream")
        return Answer(self._changes_of(operator, answer.plan)) if operator else answer

    def _set_operation(
        self, node: exp.SetOperation, outer: Outer | None, outermost: bool
    ) -> Answer:
        left = self._side(node.this, outer, outermost)
        right = self._side(node.expression, outer, False)
        return Answer(combine(node, left, right, len(outer.columns) if outer else 0, self.text))

    def _side(self, node: exp.Expr, outer: Outer | None, outermost: bool) -> Node:
        """One side of a set operation; a stream is taken with all that has come."""
        plan = self._answer(node, outer, outermost).plan
        if not plan.is_stream:
            return plan
        self.notices.append(
            Notice("a side of the set operation is a stream: [Range Unbounded] is used")
        )
        return Unbounded(plan)

    def _ordered(self, node: exp.Expr, answer: Answer, outer: Outer | None) -> Answer:
        """The first rows of a set operation or of a query in parentheses."""
        clause = next((w for w in ("order", "limit", "offset") if node.args.get(w)), None)
        if clause is None:
            return answer
        if answer.plan.is_stream:
            word = "ORDER BY" if clause == "order" else clause.upper()
            raise MillstreamError(
                f"{word} cannot stand behind a query that gives a stream",
                clause_place(node, word, self.text),
                detail="Streams come in the order of time, and have no end.",
                hint="Leave it out, or put it inside of Istream, Dstream or Rstream.",
            )
        member = member_of("", answer.plan)
        items = [Item(name, Column(c, kind), node) for name, c, kind in member.columns]
        expressions = Expressions(Scope((member,)), self.text, "ORDER BY", notices=self.notices)
        read_once = self.catalog.past is not None
        ordering = bind_ordering(node, items, expressions, self.notices, read_once)
        if ordering is None:
            return answer
        plan = answer.plan
        added = [(key.name, key.value) for key in ordering.hidden if key.value is not None]
        if added:
            kept = [(f.name, Column(f.name, f.type)) for f in plan.schema]
            plan = Project((*kept, *added), plan)
        plan = ordering.apply(plan, outer.names if outer is not None else ())
        return Answer(plan, answer.single or ordering.limit in (0, 1))

    def _word(self, node: exp.Expr, word: str) -> Place | None:
        """Where a word of a query stands, the first time after its beginning."""
        place = place_of(node, self.text)
        return find_word(word, self.text, place.start) if place else None

    @contextmanager
    def _ctes(self, node: exp.Expr) -> Iterator[None]:
        """The names of WITH, while the query it belongs to is bound."""
        before = self.catalog
        if node.args.get("with_") is not None:
            if id(node) not in self._catalogs:
                self._catalogs[id(node)] = self._with_ctes(node.args["with_"])
            self.catalog = self._catalogs[id(node)]
        try:
            yield
        finally:
            self.catalog = before

    def _with_ctes(self, clause: exp.Expr) -> Catalog:
        catalog = replace(self.catalog, entries=dict(self.catalog.entries))
        before, self.catalog = self.catalog, catalog
        try:
            for at, cte in enumerate(clause.expressions):
                self._check_new(cte, [c.alias.lower() for c in clause.expressions[:at]])
                plan = self.query(cte.this)
                if columns := cte.args["alias"].args.get("columns"):
                    place = Place.covering(*(place_of(c, self.text) for c in columns))
                    names = tuple(c.name for c in columns)
                    plan = renamed(plan, names, f'WITH "{cte.alias}"', place)
                catalog.entries[cte.alias.lower()] = View(cte.alias, plan, to_sql(cte.this))
        finally:
            self.catalog = before
        return catalog

    def _check_new(self, cte: exp.Expr, taken: list[str]) -> None:
        if cte.alias.lower() in taken:
            raise MillstreamError(
                f'the name "{cte.alias}" stands twice in WITH',
                name_place_of(cte.args["alias"], self.text),
                hint="Give one of them another name.",
            )


def renamed(plan: Node, names: tuple[str, ...], what: str, place: Place | None) -> Node:
    """The columns of a query under other names."""
    for at, name in enumerate(names):
        check_name(name, "column", place)
        if name.lower() in (n.lower() for n in names[:at]):
            raise MillstreamError(
                f'{what} has the column "{name}" twice',
                place,
                hint="Give one of them another name.",
            )
    if len(names) != len(plan.schema):
        named = "1 column" if len(names) == 1 else f"{len(names)} columns"
        raise MillstreamError(
            f"{what} names {named}, and its query gives {len(plan.schema)}",
            place,
            hint=f"Name all of {', '.join(plan.schema.names)}.",
        )
    return Project(tuple((n, Column(f.name, f.type)) for n, f in zip(names, plan.schema)), plan)


def _names_column(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and not isinstance(node.this, exp.Star)


def _is_own(name: exp.Expr, scope: Scope, aliases: set[str]) -> bool:
    if not isinstance(name, exp.Column):
        return any(is_known(scope, column) for column in name.find_all(exp.Column))
    return is_known(scope, name) or (not name.table and name.name.lower() in aliases)


def _unwrapped(node: exp.Expr) -> exp.Expr:
    """A query without the parentheses around it."""
    while isinstance(node, exp.Subquery) and not any(
        node.args.get(word) for word in ("order", "limit", "offset", "with_")
    ):
        node = node.this
    return node


def _form(query: exp.Expr) -> str | None:
    """STREAMED or COMPLETE; in a set operation it stands in the first SELECT."""
    while isinstance(query, (exp.Subquery, exp.SetOperation)):
        query = query.this
    return query.args.get("form")
