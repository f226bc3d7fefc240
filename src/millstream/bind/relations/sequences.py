"""Sequences in FROM: `s PARTITION BY k AS (X, *Y)`, with the conditions that steer the search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from millstream.algebra.expressions import (
    TRUE,
    Column,
    Expression,
    columns_of,
    conjunction,
    conjuncts,
    rewrite,
)
from millstream.algebra.node import Node
from millstream.bind.expressions.scalars import Expressions
from millstream.bind.names.elements import Elements, Reference
from millstream.bind.names.scope import Member, Scope
from millstream.bind.names.trees import and_parts, has_query
from millstream.bind.relations.certainties import certainties
from millstream.bind.relations.element_aggregates import ElementAggregates
from millstream.bind.relations.row_order import in_order, limit_in
from millstream.catalog import Catalog
from millstream.errors import MillstreamError, Notice
from millstream.lang import SequencePattern, name_place_of, place_of
from millstream.operators import Match, Project, Rematch
from millstream.operators.project import handed_on
from millstream.patterns.postfix import NotPostfix, is_ranked
from millstream.patterns.references import Cell
from millstream.patterns.sequence import Element, Sequence


@dataclass
class Sequences:
    """Binds the sequences in the FROM of one SELECT.

    A condition of WHERE that names elements of one sequence, its partition and constants steers the
    search: it is tested at the latest element that it names. All others filter finished matches.
    """

    select: exp.Select
    text: str
    catalog: Catalog
    notices: list[Notice]
    taken: list[exp.Expr] = field(default_factory=list)
    """The conditions that steer a search."""
    steering: list[tuple[exp.Expr, Expression]] = field(default_factory=list)
    """The same with what they mean."""

    def bind(
        self, node: exp.Expr, plan: Node, member: Member, described: str
    ) -> tuple[Node, Member]:
        """The matches of a pattern in a stream or a relation, and the names they offer."""
        pattern: SequencePattern = node.args["sequence"]
        if node.args.get("stream_window") is not None:
            described = f"the window over {described}"
        keys = tuple(self._key(column, member) for column in pattern.partition_by)
        order = tuple(self._key(column, member) for column in pattern.sequence_by)
        places = (
            place_of(pattern, self.text),
            place_of(pattern.sequence_by[0], self.text) if order else None,
        )
        stream = in_order(
            plan, order, False, "SEQUENCE BY", described, places, self.catalog, self.notices
        )
        elements = Elements(
            tuple(pattern.elements),
            stream.schema,
            ElementAggregates(self._of_tuples(stream.schema)),
            pattern.timeouts,
        )
        columns = tuple(c for c in member.columns if c[1] in keys)
        bare = Member(member.alias, columns, called=member.called, elements=elements)
        within = None
        if pattern.within is not None:
            within = limit_in(
                pattern.within, stream, order, False, "SEQUENCE BY", described, places
            )
        tests, finals, used = self._steering(bare, elements)
        given = self._given(elements)
        every = (*used, *given.values())
        tallies = {r.tally.name: r.tally for r in every if r.tally is not None}
        stream = _with_computed(stream, dict(one for r in every for one in r.computed))
        search = Sequence(
            tuple(
                Element(e.name, e.star, tests.get(e.name, TRUE), finals.get(e.name, TRUE))
                for e in pattern.elements
            ),
            tuple(tallies.values()),
            within,
            pattern.timeouts,
        )
        self._check(search, pattern)
        place = place_of(pattern, self.text)
        self.notices += certainties(search, place, closed=not stream.is_stream)
        gives = tuple((name, r.type) for name, r in given.items())
        names = tuple((name, name, kind) for name, kind in gives)
        whole = Member(
            member.alias,
            (*columns, *names),
            called=member.called,
            hidden=frozenset(name.lower() for name, _ in gives),
            elements=elements,
        )
        if stream.is_stream:
            return Match(keys, search, gives, stream), whole
        return Rematch(keys, order, search, gives, stream), whole

    def _of_tuples(self, schema: pa.Schema) -> Expressions:
        """Binds what is computed of each tuple by itself."""
        columns = tuple((f.name, f.name, f.type) for f in schema)
        return Expressions(
            Scope((Member("", columns),)),
            self.text,
            notices=self.notices,
            aggregates=self.catalog.aggregate,
            routines=self.catalog.versions,
        )

    def _check(self, search: Sequence, pattern: SequencePattern) -> None:
        try:
            _ = search.tests
        except NotPostfix:
            found = (one for one in self.steering if _cannot_be_tested(one[1], search))
            part, bound = next(found, (pattern, None))
            place = place_of(part, self.text)
            if bound is not None and _is_of_ranked(bound, search):
                raise MillstreamError(
                    "a condition compares a text or a decimal that an aggregate gives",
                    place,
                    detail="While a sequence is searched, aggregates are whole numbers, doubles, "
                    "times or truth values.",
                    hint="CAST a decimal to double below the pattern; filter texts in a query "
                    "around it.",
                ) from None
            raise MillstreamError(
                "a condition cannot be computed of several tuples while a sequence is searched",
                place,
                hint="Compare values that are computed of one tuple each, with + - * / and AND, "
                "OR, NOT between them.",
            ) from None

    def _key(self, column: exp.Expr, member: Member) -> str:
        try:
            return Scope((member,)).resolve(column.name, column.text("table") or None).name
        except MillstreamError as error:
            raise error.at(name_place_of(column, self.text)) from None

    def _steering(
        self, bare: Member, elements: Elements
    ) -> tuple[dict[str, Expression], dict[str, Expression], list[Reference]]:
        """The conditions on tuples and on stars that have ended, by element, and what they use."""
        tests, finals = dict[str, list[Expression]](), dict[str, list[Expression]]()
        used: list[Reference] = []
        clause = self.select.args.get("where")
        for part in [] if clause is None else and_parts(clause.this):
            found = self._named_only(part, bare, elements)
            if not found:
                continue
            latest = max((r.element for r in found), key=elements.place)
            mine = [r for r in found if r.element == latest]
            final = any(r.final for r in mine)
            bound = self._condition(part, bare, latest)
            self.steering.append((part, bound))
            (finals if final else tests).setdefault(latest, []).extend(conjuncts(bound))
            used += found
            self.taken.append(part)
        made = {name: conjunction(parts) for name, parts in tests.items()}
        return made, {name: conjunction(parts) for name, parts in finals.items()}, used

    def _named_only(self, part: exp.Expr, bare: Member, elements: Elements) -> list[Reference]:
        """What a condition says of the elements; nothing if it names something else, too."""
        if has_query(part):
            return []
        found, others = list[Reference](), False
        for node, reference in _references(part, elements):
            if reference is not None:
                found.append(reference)
            elif isinstance(node, exp.Column):
                own = node.table.lower() in ("", bare.alias.lower())
                is_key = any(name.lower() == node.name.lower() for name, *_ in bare.columns)
                others |= not (own and is_key) or elements.told(node) is not None
        return [] if others else found

    def _condition(self, part: exp.Expr, bare: Member, latest: str) -> Expression:
        """A condition over cells and tallies; a column of the partition is that of any tuple."""
        inside = Expressions(
            Scope((bare,)),
            self.text,
            "WHERE",
            notices=self.notices,
            aggregates=self.catalog.aggregate,
            routines=self.catalog.versions,
        )
        keys = {plan for _, plan, _ in bare.columns}

        def of_tuple(value: Expression) -> Expression | None:
            if isinstance(value, Column) and value.name in keys:
                return Column(str(Cell(latest, value.name)), value.type)
            return None

        return rewrite(inside.condition(part, "WHERE"), of_tuple)

    def _given(self, elements: Elements) -> dict[str, Reference]:
        """What the rest of the query reads of a match."""
        found: dict[str, Reference] = {}
        taken = {id(part) for part in self.taken}
        roots = [self.select.args.get(word) for word in ("expressions", "joins", *_CLAUSES)]
        nodes = [n for root in roots for n in (root if isinstance(root, list) else [root]) if n]
        where = self.select.args.get("where")
        if where is not None:
            nodes += [part for part in and_parts(where.this) if id(part) not in taken]
        for root in nodes:
            for node, reference in _references(root, elements):
                if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
                    found |= {r.name: r for _, r in elements.all_of(node.table)}
                told = elements.told(node) if reference is None else reference
                if told is not None:
                    found.setdefault(told.name, told)
        return found


def _cannot_be_tested(condition: Expression, search: Sequence) -> bool:
    """Whether it is this condition that the search cannot compute."""
    last = search.elements[-1].name
    alone = [Element(e.name, e.star) for e in search.elements[:-1]]
    try:
        _ = Sequence((*alone, Element(last, True, TRUE, condition)), search.tallies).tests
    except NotPostfix:
        return True
    return False


def _is_of_ranked(condition: Expression, search: Sequence) -> bool:
    """Whether a condition asks for a text or a decimal of an aggregate."""
    ranked = {t.name for t in search.tallies if is_ranked(t.call.type)}
    return bool(ranked & columns_of(condition))


def _with_computed(stream: Node, computed: dict[str, Expression]) -> Node:
    """The rows with the arguments of aggregates that are more than a column."""
    if not computed:
        return stream
    return Project((*handed_on(stream.schema, stream.schema.names), *computed.items()), stream)


_CLAUSES = ("group", "having", "order")


def _references(root: exp.Expr, elements: Elements) -> Iterator[tuple[exp.Expr, Reference | None]]:
    """All nodes, with what each says of the elements; what stands in such a one is left out."""
    stack = [root]
    while stack:
        node = stack.pop()
        try:
            reference = elements.reference(node)
        except MillstreamError:
            # what is wrong with it is said where it is bound
            reference = None
        yield node, reference
        if reference is None:
            stack += reversed(list(node.iter_expressions()))
