"""Relations made at random over a few small streams: operators, conditions and values."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from millstream.aggregates.builtin import named
from millstream.aggregates.call import AggregateCall
from millstream.algebra.expressions import (
    TRUE,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Literal,
    conjunction,
)
from millstream.algebra.node import Node
from millstream.algebra.types import BOOLEAN, DOUBLE, INTEGER, STRING
from millstream.bind.queries.active import rstream
from millstream.database import Database
from millstream.operators import (
    AntiJoin,
    Copies,
    Dated,
    Distinct,
    Dstream,
    Filter,
    GroupBy,
    Hop,
    Intersect,
    Istream,
    Join,
    LookupJoin,
    Minus,
    NonRetroactiveJoin,
    Now,
    Project,
    Range,
    RangeSlide,
    Rows,
    SemiJoin,
    Session,
    SingleJoin,
    Tagger,
    TopK,
    Unbounded,
    UnionAll,
)
from millstream.operators.project import handed_on
from millstream.operators.stamp import INSTANT

STREAMS = ("alpha", "beta", "gamma")


DELETES = Literal("-", STRING)


@dataclass
class Relations:
    """Makes relations: every column it brings in has a name of its own."""

    rng: random.Random
    session: Database
    count: int = 0
    more_conditions: float = 0.15

    def name(self) -> str:
        self.count += 1
        return f"c{self.count}"

    def relation(self, depth: int) -> Node:
        if depth <= 0:
            if self.rng.random() < 0.1:
                return self.renamed(self.prices())
            return self.windowed(self.renamed(self.scan()))
        makers = (
            *[self.filtered] * 6,
            *[self.projected] * 3,
            *[self.joined] * 3,
            *[self.matched] * 2,
            *[self.combined] * 2,
            self.distinct,
            self.grouped,
            self.limited,
            self.looked_up,
            self.met_before,
            self.attached,
            self.derived,
            lambda below: self.dated(self.relation(below)),
        )
        return self.rng.choice(makers)(depth - 1)

    @property
    def joins(self) -> tuple[Callable[[int], Node], ...]:
        return (
            self.joined,
            self.joined,
            self.matched,
            self.looked_up,
            self.met_before,
            self.attached,
        )

    def tested(self, node: Node) -> Node:
        return Filter(self.condition(node.schema), node)

    def scan(self) -> Node:
        return self.session.catalog.find(self.rng.choice(STREAMS)).scan()

    def renamed(self, node: Node) -> Node:
        """All columns, or most, in any order, under new names."""
        fields = [f for f in node.schema if self.rng.random() < 0.9] or list(node.schema)[:1]
        self.rng.shuffle(fields)
        return Project(tuple((self.name(), Column(f.name, f.type)) for f in fields), node)

    def windowed(self, stream: Node) -> Node:
        rng = self.rng
        names = rng.sample(stream.schema.names, min(len(stream.schema), rng.randint(0, 2)))
        options = (
            Now(stream),
            Range(rng.randint(0, 6), stream),
            Range(rng.randint(0, 6), stream),
            Unbounded(stream),
            RangeSlide(rng.choice((None, 2, 5)), rng.choice((2, 3)), stream),
            Rows(rng.randint(1, 4), tuple(names), rng.choice((None, None, 3)), 1, stream),
            Rows(rng.randint(1, 4), tuple(names), None, rng.choice((1, 2)), stream),
            self.bounded(Hop(rng.randint(1, 6), rng.choice((2, 3, 5)), rng.choice((0, 1)), stream)),
            self.bounded(Session(tuple(names), rng.randint(0, 3), stream)),
            self.tagged(stream),
        )
        window = rng.choice(options)
        return self.tested(window) if rng.random() < 0.3 else window

    def tagged(self, stream: Node) -> Node:
        """The latest row of every key, perhaps of a stream that says what its elements do, and
        perhaps with the instants since which the rows are there."""
        names = stream.schema.names
        keys = tuple(self.rng.sample(names, min(len(names), self.rng.randint(1, 2))))
        if self.rng.random() < 0.5:
            return Tagger(keys, None, False, stream)
        does = Case(((self.condition(stream.schema), Literal("u", STRING)),), DELETES, STRING)
        op = self.name()
        marked = Project(((op, does), *handed_on(stream.schema)), stream)
        if self.rng.random() < 0.3:
            return Copies(op, marked)
        return Tagger(keys, op, False, marked)

    def dated(self, relation: Node) -> Node:
        """Rows with the instants since which they are there, under a name of their own."""
        plain = handed_on(relation.schema)
        return Project((*plain, (self.name(), Column(INSTANT, INTEGER))), Dated(relation))

    def bounded(self, window: Node) -> Node:
        """A window with its bounds under names of their own, or without them."""
        names = list(window.schema.names)
        kept = names if self.rng.random() < 0.6 else names[: len(window.input_schema.names)]
        new = {name: self.name() for name in ("window_start", "window_end")}
        outputs = [(new.get(f.name, f.name), Column(f.name, f.type)) for f in window.schema]
        return Project(tuple(o for o in outputs if o[1].name in kept), window)

    def derived(self, depth: int) -> Node:
        """A window on a stream that comes from a relation."""
        shape = self.rng.choice((Istream, Istream, Dstream, rstream))
        stream = shape(self.relation(depth))
        if self.rng.random() < 0.5:
            stream = self.tested(stream)
        return self.windowed(self.renamed(stream) if self.rng.random() < 0.5 else stream)

    def filtered(self, depth: int) -> Node:
        return self.tested(self.relation(depth))

    def projected(self, depth: int) -> Node:
        below = self.relation(depth)
        if self.rng.random() < 0.5:
            return self.renamed(below)
        outputs = [(self.name(), self.value(below.schema)) for _ in range(self.rng.randint(1, 4))]
        return Project(tuple(outputs), below)

    def joined(self, depth: int) -> Node:
        left, right = self.relation(depth), self.relation(depth - 1)
        return Join(self.between(left, right), left, right)

    def matched(self, depth: int) -> Node:
        left, right = self.relation(depth), self.relation(depth - 1)
        if self.rng.random() < 0.3:
            right = Distinct(right)
        shape = self.rng.choice((SemiJoin, AntiJoin))
        return shape(self.between(left, right), left, right)

    def combined(self, depth: int) -> Node:
        left, right = self.relation(depth), self.relation(depth - 1)
        kinds = [f.type for f in left.schema]
        shape = self.rng.choice((UnionAll, UnionAll, Intersect, Minus))
        made = shape(left, self.fitted(kinds, right))
        return Distinct(made) if self.rng.random() < 0.3 else made

    def fitted(self, kinds: list[pa.DataType], node: Node) -> Node:
        """The node in columns of these types."""
        outputs = []
        for kind in kinds:
            same = [f for f in node.schema if f.type == kind]
            value: Expression = Literal(None, kind)
            if same:
                chosen = self.rng.choice(same)
                value = Column(chosen.name, chosen.type)
            outputs.append((self.name(), value))
        return Project(tuple(outputs), node)

    def distinct(self, depth: int) -> Node:
        below = self.relation(depth)
        return Distinct(self.renamed(below) if self.rng.random() < 0.5 else below)

    def grouped(self, depth: int) -> Node:
        below = self.relation(depth)
        names = below.schema.names
        return self.grouped_by(
            tuple(self.rng.sample(names, min(len(names), self.rng.randint(0, 2)))), below
        )

    def grouped_by(self, keys: tuple[str, ...], below: Node) -> GroupBy:
        calls = []
        for _ in range(self.rng.randint(1, 3)):
            function = self.rng.choice(("count", "sum", "avg", "min", "max", "count_distinct"))
            argument = self.rng.choice(below.schema.names)
            kind = named(function).result(below.schema.field(argument).type)
            arguments = (argument,)
            if kind is None or (function == "count" and self.rng.random() < 0.5):
                function, arguments, kind = "count", (), INTEGER
            calls.append(AggregateCall(self.name(), named(function), arguments, kind))
        return GroupBy(keys, tuple(calls), below)

    def limited(self, depth: int) -> Node:
        below = self.relation(depth)
        names = below.schema.names
        order = tuple(
            (name, self.rng.random() < 0.5, self.rng.random() < 0.5)
            for name in self.rng.sample(names, min(len(names), self.rng.randint(0, 2)))
        )
        by = tuple(self.rng.sample(names, min(len(names), self.rng.randint(0, 1))))
        return TopK(order, self.rng.randint(1, 3), self.rng.choice((0, 0, 1)), by, below)

    def looked_up(self, depth: int) -> Node:
        below = self.relation(depth)
        table = self.session.catalog.find("parts").content
        names = tuple(self.name() for _ in range(3))
        numbers = [f.name for f in below.schema if f.type == INTEGER]
        left = (self.rng.choice(numbers),) if numbers and self.rng.random() < 0.8 else ()
        right = ("id",) if left else ()
        bare = LookupJoin(table, names, left, right, TRUE, self.rng.random() < 0.4, below)
        if self.rng.random() < 0.6:
            return bare
        return LookupJoin(table, names, left, right, self.condition(bare.schema), bare.outer, below)

    def prices(self) -> Node:
        """A table that changes."""
        table = self.session.catalog.find("prices")
        return table.relation()

    def met_before(self, depth: int) -> Node:
        left, right = self.relation(depth), self.renamed(self.prices())
        return NonRetroactiveJoin(self.between(left, right), self.rng.random() < 0.4, left, right)

    def attached(self, depth: int) -> Node:
        """Rows with the figures of the one group that goes with each."""
        left, below = self.relation(depth), self.relation(0)
        pairs = [(a, b) for a in left.schema for b in below.schema if a.type == b.type]
        chosen = [self.rng.choice(pairs)] if pairs and self.rng.random() < 0.7 else []
        right = self.grouped_by(tuple(b.name for _, b in chosen), below)
        ties = [
            Call("=", (Column(a.name, a.type), Column(b.name, b.type)), BOOLEAN) for a, b in chosen
        ]
        return SingleJoin(conjunction(list(ties)), left, right)

    def between(self, left: Node, right: Node) -> Expression:
        """A condition of a join: mostly an equality, with tests of both sides or of one."""
        parts = []
        pairs = [(a, b) for a in left.schema for b in right.schema if a.type == b.type]
        if pairs and self.rng.random() < 0.7:
            a, b = (Column(f.name, f.type) for f in self.rng.choice(pairs))
            apart = Call("distinct_from", (a, b), BOOLEAN)
            safe = Call("not", (apart,), BOOLEAN)
            parts.append(safe if self.rng.random() < 0.2 else Call("=", (a, b), BOOLEAN))
        if pairs and self.rng.random() < 0.3:
            kind = self.rng.choice(pairs)[0].type
            sides = [self.value(side.schema, kind, 1) for side in (left, right)]
            self.rng.shuffle(sides)
            parts.append(Call("=", tuple(sides), BOOLEAN))
        both = pa.schema([*left.schema, *right.schema])
        for schema in (both, left.schema, right.schema):
            if self.rng.random() < self.more_conditions:
                parts.append(self.condition(schema))
        self.rng.shuffle(parts)
        return conjunction(parts)

    def condition(self, schema: pa.Schema) -> Expression:
        parts = [self.test(schema, 2) for _ in range(self.rng.choice((1, 1, 1, 2, 3)))]
        return conjunction(parts)

    def test(self, schema: pa.Schema, depth: int) -> Expression:
        """A condition that most rows meet: an answer without rows proves little."""
        rng = self.rng
        kind = rng.random()
        if depth and kind < 0.2:
            tests = (self.test(schema, depth - 1), self.test(schema, depth - 1))
            return Call(rng.choice(("and", "or", "or")), tests, BOOLEAN)
        if depth and kind < 0.25:
            inner = Call("not", (self.test(schema, depth - 1),), BOOLEAN)
            return Call("not", (inner,), BOOLEAN)
        if kind < 0.32:
            return rng.choice((TRUE, TRUE, TRUE, Literal(False, BOOLEAN), Literal(None, BOOLEAN)))
        left = self.value(schema, depth=1)
        if kind < 0.45:
            known = Call("is_null", (left,), BOOLEAN)
            return known if rng.random() < 0.2 else Call("not", (known,), BOOLEAN)
        right = self.constant(left.type) if rng.random() < 0.7 else self.value(schema, left.type, 1)
        test = Call(
            rng.choice(("=", "<>", "<>", "<", "<=", ">", ">=", ">=")), (left, right), BOOLEAN
        )
        if depth and rng.random() < 0.4:
            return Call("or", (test, self.test(schema, 0)), BOOLEAN)
        return test

    def value(
        self, schema: pa.Schema, kind: pa.DataType | None = None, depth: int = 2
    ) -> Expression:
        rng = self.rng
        kind = rng.choice((INTEGER, INTEGER, STRING, DOUBLE)) if kind is None else kind
        same = [f for f in schema if f.type == kind]
        if same and rng.random() < 0.6:
            chosen = rng.choice(same)
            return Column(chosen.name, chosen.type)
        if depth and rng.random() < 0.6:
            return self.computed(schema, kind, depth - 1)
        return self.constant(kind)

    def computed(self, schema: pa.Schema, kind: pa.DataType, depth: int) -> Expression:
        rng = self.rng
        parts = tuple(self.value(schema, kind, depth) for _ in range(2))
        if rng.random() < 0.2:
            return Case(((self.test(schema, 0), parts[0]),), parts[1], kind)
        if kind == STRING:
            if rng.random() < 0.3:
                return Cast(self.value(schema, rng.choice((INTEGER, DOUBLE)), depth), STRING)
            return Call(*rng.choice((("concat", parts), ("upper", parts[:1]))), STRING)
        if kind == BOOLEAN:
            return self.test(schema, depth)
        return Call(rng.choice(("+", "-", "*", "coalesce")), parts, kind)

    def constant(self, kind: pa.DataType) -> Literal:
        values = {
            INTEGER: (0, 0, 1, 1, 2, None),
            STRING: ("a", "a", "b", "", None),
            DOUBLE: (0.0, -0.0, 1.5, 0.5, float("nan"), None),
            BOOLEAN: (True, False, None),
        }
        return Literal(self.rng.choice(values[kind]), kind)
