"""Plans made at random over a few small streams, and what they answer on the local host."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from millstream.algebra.expressions import (
    Call,
    Column,
    Expression,
    conjunction,
)
from millstream.algebra.frame import Frame, Units
from millstream.algebra.node import Node
from millstream.algebra.time import Domain
from millstream.algebra.types import BOOLEAN, DOUBLE
from millstream.bind.queries.active import rstream
from millstream.database import Database
from millstream.engine.job import Job
from millstream.engine.outputs import COMPLETE, STREAM, STREAMED, Query
from millstream.local.host import LocalHost
from millstream.operators import (
    AntiJoin,
    Distinct,
    Dstream,
    Filter,
    Istream,
    Join,
    Minus,
    Now,
    Over,
    Project,
    Range,
    Rows,
    SemiJoin,
    Tagged,
    Unbounded,
    UnionAll,
)
from millstream.testing.run import KeptResults
from rules.random_relations import STREAMS
from rules.random_withins import Windowed

SCRIPT = "".join(
    f"CREATE STREAM {name} (ts int, k int, v int, s varchar, x double) ORDER BY ts SLACK 3 "
    f"SOURCE '{name}.csv';\n"
    for name in STREAMS
) + (
    "CREATE TABLE parts (id int, note varchar, cost double) SOURCE 'parts.csv';\n"
    "CREATE TABLE prices (id int, price int) KEY (id) "
    "SOURCE 'prices.csv' WITH (time = 'integer');\n"
)
STEPS = (0, 0, 1, 1, 2, 4)
BURSTS = (0, 0, 0, 0, 0, 0, 0, 1)
PARTS = "id,note,cost\n0,zero,0.5\n1,one,1.5\n1,uno,-0.0\n2,,2.0\n,none,9\n"


def write_data(rng: random.Random, folder: Path, steps: tuple[int, ...]) -> None:
    """Rows with ties, NULLs, both zeros, and a little disorder; `steps` between timestamps."""
    (folder / "parts.csv").write_text(PARTS)
    changes, now = ["op,ts,id,price"], 0
    for _ in range(rng.randint(0, 12)):
        now += rng.choice((0, 1, 1, 3))
        op = rng.choice(("insert", "update", "update", "delete"))
        changes.append(f"{op},{now},{rng.randint(0, 2)},{rng.choice(('1', '2', ''))}")
    (folder / "prices.csv").write_text("\n".join(changes) + "\n")
    for name in STREAMS:
        lines = ["ts,k,v,s,x"]
        now = rng.randint(0, 3)
        for _ in range(rng.randint(6, 24)):
            now += rng.choice(steps)
            cells = (
                str(max(now - rng.choice((0, 0, 0, 1, 3)) * (max(steps) > 1), 0)),
                rng.choice(("0", "1", "2", "1", "2", "")),
                rng.choice(("1", "2", "3", "5", "")),
                rng.choice(("a", "b", "ab", "")),
                rng.choice(("0.0", "-0.0", "1.5", "2.25", "NaN", "")),
            )
            lines.append(",".join(cells))
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


@dataclass
class Maker(Windowed):
    """Makes plans: a relation or a stream, with a shape in it that a rule is about."""

    def root(self, focus: str = "") -> Node:
        """A relation, or a stream made of one; with a shape in it that a rule is about."""
        special = getattr(self, f"for_{focus}", None)
        relation = self.relation(self.rng.randint(1, 4)) if special is None else special()
        if relation.is_stream:
            return relation
        shape = self.rng.choice((None, None, Istream, Dstream, rstream, rstream))
        return relation if shape is None else shape(relation)

    def for_reduce_unbounded_to_now(self) -> Node:
        bounded = self.rng.random() < 0.5
        return Istream(self.row_by_row(lambda s: Range(3, s) if bounded else Unbounded(s)))

    def for_stream_now_as_elements(self) -> Node:
        return rstream(self.row_by_row(lambda stream: Now(stream)))

    def for_stream_moments_without_points(self) -> Node:
        """A window of one instant joined with others, or without them."""
        made = self.row_by_row(lambda stream: Now(stream))
        for _ in range(self.rng.randint(1, 2)):
            other = self.relation(0)
            shape = self.rng.choice((Join, SemiJoin, AntiJoin))
            made = shape(self.between(made, other), made, other)
        return rstream(Distinct(made) if self.rng.random() < 0.3 else made)

    def for_order_joins(self) -> Node:
        """Several small windows, joined one after the other."""
        joined = self.windowed(self.renamed(self.scan()))
        for _ in range(self.rng.randint(2, 3)):
            other = self.windowed(self.renamed(self.scan()))
            joined = Join(self.between(joined, other), joined, other)
            joined = self.renamed(joined) if self.rng.random() < 0.2 else joined
        return joined

    def for_remove_idle_project(self) -> Node:
        below = self.relation(1)
        return Project(tuple((f.name, Column(f.name, f.type)) for f in below.schema), below)

    def for_flatten_domain(self) -> Node:
        """A correlated subquery, as it is bound: joined with the domain of what it is asked."""
        left = self.relation(self.rng.choice((0, 0, 1)))
        whole = [f for f in left.schema if f.type != DOUBLE]
        asked = self.rng.sample(whole, self.rng.randint(0, min(2, len(whole))))
        links = [(self.name(), Column(f.name, f.type)) for f in asked]
        domain = Distinct(Project(tuple(links), left))
        rows = self.relation(0)
        sides = (rows, domain) if self.rng.random() < 0.5 else (domain, rows)
        inner: Node = Join(self.between(rows, domain), *sides)
        if self.rng.random() < 0.5:
            inner = Distinct(self.tested(inner))
        ties: list[Expression] = []
        for name, value in links[self.rng.random() < 0.25 :]:
            there = Column(name, value.type)
            ties.append(Call("not", (Call("distinct_from", (value, there), BOOLEAN),), BOOLEAN))
        if self.rng.random() < 0.3:
            left = self.tested(left)
        shape = self.rng.choice((SemiJoin, AntiJoin))
        return shape(conjunction(ties), left, inner)

    def for_aggregate_in_two_phases(self) -> Node:
        below = self.row_by_row(lambda stream: Range(self.rng.randint(0, 6), stream))
        grouped = self.grouped_by((), below)
        used = {name for call in grouped.calls for name in call.arguments}
        fields = [f for f in below.schema if f.name in used]
        narrow = Project(tuple((f.name, Column(f.name, f.type)) for f in fields), below)
        return replace(grouped, input=narrow)

    def for_slide_in_panes(self) -> Node:
        """Frames of several panes of eight rows, or of one."""
        stream = Istream(self.relation(0)) if self.rng.random() < 0.3 else self.scan()
        calls = self.grouped_by((), stream).calls
        names = [f.name for f in stream.schema]
        partition = tuple(self.rng.sample(names, 1)) if self.rng.random() < 0.3 else ()
        rows, slide = self.rng.choice(((8, 8), (16, 8), (24, 16), (2, 3), (1, 2), (5, 7)))
        return Over(partition, Frame(Units.ROWS, rows - 1, slide), calls, stream)

    def for_remove_idle_distinct(self) -> Node:
        return Distinct(self.rng.choice((self.combined, self.distinct))(1))

    def for_match_distinct_values(self) -> Node:
        return self.matched(1)

    def for_coalesce_before_distinct(self) -> Node:
        return Distinct(self.row_by_row(lambda stream: Range(self.rng.randint(0, 6), stream)))

    def for_pull_negation_above_join(self) -> Node:
        """A negation on one side of a join, or a difference of different values."""
        left, right = self.relation(self.rng.choice((0, 0, 1))), self.relation(0)
        if self.rng.random() < 0.3:
            whole = Distinct(left)
            negated: Node = Minus(whole, self.fitted([f.type for f in whole.schema], right))
        else:
            negated = AntiJoin(self.between(left, right), left, right)
        if self.rng.random() < 0.4:
            negated = self.renamed(negated)
        return self.beside(negated)

    def for_push_negation_below_join(self) -> Node:
        """A negation that asks one side of a join, over a table now and then."""
        left, right = self.relation(0), self.relation(0)
        joined: Node = Join(self.between(left, right), left, right)
        if self.rng.random() < 0.4:
            joined = self.renamed(joined)
        other = self.relation(0)
        pairs = [(a, b) for a in joined.schema for b in other.schema if a.type == b.type]
        if not pairs:
            return joined
        a, b = (Column(f.name, f.type) for f in self.rng.choice(pairs))
        return AntiJoin(Call("=", (a, b), BOOLEAN), joined, other)

    def for_push_distinct_below_join(self) -> Node:
        left, right = self.relation(self.rng.choice((0, 0, 1))), self.relation(0)
        joined: Node = Join(self.between(left, right), left, right)
        kind = self.rng.random()
        if kind < 0.4:
            joined = self.renamed(joined)
        elif kind < 0.6:
            names = [(self.name(), Column(f.name, f.type)) for f in joined.schema]
            joined = Project(tuple(names), joined)
        return Distinct(joined)

    def for_pull_distinct_above_join(self) -> Node:
        left, right = Distinct(self.relation(0)), self.relation(0)
        if self.rng.random() < 0.7:
            return self.beside(left, Distinct(right))
        joined = self.beside(left, right)
        return Distinct(self.renamed(joined) if self.rng.random() < 0.5 else joined)

    def for_push_distinct_below_negation(self) -> Node:
        left, right = self.relation(self.rng.choice((0, 0, 1))), self.relation(0)
        negated: Node = AntiJoin(self.between(left, right), left, right)
        if self.rng.random() < 0.3:
            names = [(self.name(), Column(f.name, f.type)) for f in negated.schema]
            negated = Project(tuple(names), negated)
        return Distinct(negated)

    def beside(self, node: Node, other: Node | None = None) -> Node:
        """The node on either side of a join."""
        other = self.relation(0) if other is None else other
        left, right = self.rng.sample((node, other), 2)
        return Join(self.between(left, right), left, right)

    def for_push_condition_below_join(self) -> Node:
        self.more_conditions = 0.6
        return self.rng.choice((*self.joins, self.matched))(0)

    def for_push_filter_below_join(self) -> Node:
        return self.tested(self.rng.choice(self.joins)(1))

    def for_push_filter_below_set_operation(self) -> Node:
        return self.tested(self.rng.choice((self.combined, self.distinct))(1))

    def for_push_filter_below_partitions(self) -> Node:
        return self.tested(
            self.rng.choice((self.grouped, self.limited, self.relation, self.keyed))(0)
        )

    def keyed(self, depth: int) -> Node:
        tagged = self.tagged(self.renamed(self.scan()))
        return self.dated(tagged) if self.rng.random() < 0.5 else tagged

    def for_pull_tagger_above_filter(self) -> Node:
        """Also with a condition more, and with the dates of what is left."""
        found = self.tested(self.tagged(self.renamed(self.scan())))
        found = self.tested(found) if self.rng.random() < 0.3 else found
        return self.dated(found) if self.rng.random() < 0.3 else found

    def for_push_filter_below_project(self) -> Node:
        return self.tested(self.projected(1))

    def for_push_filter_into_source(self) -> Node:
        return self.windowed(self.tested(self.scan()))

    def for_remove_true_filter(self) -> Node:
        return self.tested(self.tested(self.relation(1)))

    def for_merge_projects(self) -> Node:
        """Also with a key that comes twice, of which one is kept."""
        below = self.rng.choice((self.grouped, self.projected))(0)
        fields = [self.rng.choice(list(below.schema)) for _ in range(4)]
        several = Project(tuple((self.name(), Column(f.name, f.type)) for f in fields), below)
        return self.renamed(several)

    def for_prune_columns(self) -> Node:
        """Often with a window by rows on elements that have no arrival of their own."""
        stream = Istream(self.relation(0))
        if self.rng.random() < 0.5:
            other = self.relation(0)
            stream = Istream(Join(self.between(stream.input, other), stream.input, other))
        last = Rows(self.rng.randint(1, 3), (), None, 1, self.renamed(stream))
        below = last if self.rng.random() < 0.6 else self.relation(2)
        fields = self.rng.sample(list(below.schema), 1)
        return Project(tuple((self.name(), Column(f.name, f.type)) for f in fields), below)

    def for_merge_filters(self) -> Node:
        return self.tested(self.tested(self.relation(1)))

    def for_push_filter_below_istream(self) -> Node:
        shape = self.rng.choice((Istream, Dstream, rstream))
        return self.windowed(self.tested(shape(self.relation(0))))

    def row_by_row(self, window: Callable[[Node], Node]) -> Node:
        """Operators that take every row by itself, over one window or the union of two."""
        node = window(self.renamed(self.scan()))
        for _ in range(self.rng.randint(0, 3)):
            kind = self.rng.random()
            if kind < 0.4:
                node = Filter(self.condition(node.schema), node)
            elif kind < 0.7:
                node = self.renamed(node)
            else:
                other = self.fitted([f.type for f in node.schema], window(self.scan()))
                node = UnionAll(node, other)
        return node


@dataclass(frozen=True)
class Keyed(Query):
    """A query whose changes are told by a key that is given."""

    key: tuple[str, ...] | None = None

    @property
    def changes_root(self) -> Node:
        return self.plan if self.form == STREAM else Tagged(self.key, self.plan)


@dataclass
class Trial:
    """A plan made from a seed, with the data it runs on."""

    seed: int
    folder: str
    plan: Node
    session: Database

    @property
    def form(self) -> str:
        if self.plan.is_stream:
            return STREAM
        return STREAMED if self.seed % 4 else COMPLETE

    def answers(self, *plans: Node, buckets: int = 2) -> list[pa.Table]:
        """What the plans answer, run side by side as they are, in small batches or large ones.

        Changes are told by the key of the plan that was written: rules come afterwards.
        """
        queries = tuple(
            Keyed(f"q{i}", plan, self.form, Domain.INTEGER, key=self.plan.key)
            for i, plan in enumerate(plans)
        )
        settings = self.session.settings.with_value("rules", "off")
        settings = settings.with_value("buckets", str(buckets))
        settings = settings.with_value("batch_rows", "7" if self.seed % 2 else "100")
        streams = self.session.job(frozenset()).streams
        kept = KeptResults()
        host = LocalHost(Job(streams, queries, settings), self.session.sources(False), [kept])
        host.run()
        return [kept.tables()[q.name] for q in queries]


def made(seed: int, folder: str, focus: str = "") -> Trial:
    """The trial of a seed, its data written to a folder."""
    rng = random.Random(seed)
    write_data(rng, Path(folder), BURSTS if focus == "aggregate_in_two_phases" else STEPS)
    session = Database(base=folder, tell=lambda text: None)
    session.execute(SCRIPT)
    return Trial(seed, folder, Maker(rng, session).root(focus), session)


def trials(seeds: range, focus: str = "") -> Iterator[Trial]:
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            yield made(seed, folder, focus)
