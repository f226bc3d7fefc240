"""Random FROM clauses: sources with windows, joined in every way."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from .forms import STREAM_OPERATORS, is_monotonic, is_static, rests_on, table_of
from .generate_expressions import as_column, condition
from .generate_plain import (
    Readable,
    columns_in,
    random_partition,
    random_slots,
    random_window,
)
from .infer import query_columns
from .spec import Between, Bin, Columns, Expr, Join, Lit, Query, Script, Source, SpecError, Window

MOST_PAIRS = 1500
CLASSES = {"int": "number", "bigint": "number", "double": "number"}


class Joins:
    """The part of the maker that makes FROM; the names are its own."""

    rng: Random
    script: Script
    weights: dict[str, float]

    def from_clause(self, depth: int) -> tuple[Query, Columns]:
        """A query with its sources, and the columns that its expressions can name."""
        rng = self.rng
        if depth == 0 and self.chance("past"):
            return self.with_past()
        count = rng.choice((2, 2, 2, 2, 3, 3, 4)) if self.chance("join", 0.4**depth) else 1
        entries = [self.entry(depth, count) for _ in range(count)]
        if not any(rests_on(self.script, source) for source, _ in entries) and depth == 0:
            raise SpecError("only tables that never change")
        self.check_size([source for source, _ in entries])
        query, columns = self.query_over(entries[0]), self.columns_of(entries[:1])
        if count > 1 and rng.random() < 0.2:
            return self.with_commas(query, entries)
        for i in range(1, count):
            join = self.join(entries[:i], entries[i])
            query = replace(query, joins=(*query.joins, join))
            columns = self.columns_of(entries[: i + 1])
        return query, columns

    def with_past(self) -> tuple[Query, Columns]:
        """A stream with a table that meets only later tuples."""
        rng = self.rng
        tables = [t for t in self.script.tables if not t.retroactive]
        stream = rng.choice(self.script.streams)
        window = self.window(Readable(stream.name, stream.columns, self.readables()[0].unit))
        if not tables or (window and (window.slide or window.has_bounds)):
            raise SpecError("nothing to join")
        table = rng.choice(tables)
        first = Source(stream.name, window, f"x{self.mark()}"), stream.columns
        entry = Source(table.name, None, f"x{self.mark()}"), table.columns
        on = self.on([first], entry)
        join = Join(table.name, rng.choice(("inner", "left")), on, alias=entry[0].alias)
        return replace(self.query_over(first), joins=(join,)), self.columns_of([first, entry])

    def query_over(self, entry: tuple[Source, Columns]) -> Query:
        source = entry[0]
        words = ("around", "alias_first")
        style = tuple(word for word in words if self.rng.random() < 0.3)
        return Query(source.of, window=source.window, alias=source.alias, style=style)

    def entry(self, depth: int, count: int) -> tuple[Source, Columns]:
        """Something to read, with a window if it is a stream, and its columns."""
        rng = self.rng
        if depth < 2 and self.chance("nested", 0.4**depth):
            return self.nested(depth)
        readable = self.pick(count)
        alias = f"x{self.mark()}" if count > 1 or depth or rng.random() < 0.4 else None
        window = None if readable.is_relation else self.window(readable)
        return Source(readable.name, window, alias), columns_in(window, readable)

    def window(self, readable: Readable) -> Window | None:
        """Every kind; more often than not one that holds a few rows for a while."""
        if self.chance("slots"):
            return random_slots(self.rng, random_partition(self.rng, readable), readable.unit)
        if self.rng.random() < 0.6:
            return random_window(self.rng, readable)
        length = self.rng.choice((3, 4, 5, 8, 12)) * readable.unit
        return self.rng.choice((Window("range", range=length), Window("rows", rows=3), None))

    def pick(self, count: int) -> Readable:
        """Mostly streams and views; tables only beside others."""
        readables = self.readables()
        if count == 1:
            readables = [r for r in readables if not is_static(self.script, Source(r.name))]
        names = {relation.name for relation in (*self.script.streams, *self.script.tables)}
        likely = [r for r in readables if not r.is_relation or r.name not in names]
        if self.weights.get("table"):
            likely += [r for r in readables if self.is_changing(r.name)] * 2
        return self.rng.choice(readables + likely)

    def is_changing(self, name: str) -> bool:
        table = table_of(self.script, name)
        return table is not None and not table.is_static

    def nested(self, depth: int) -> tuple[Source, Columns]:
        """A query in FROM: a relation, or a stream with a window."""
        rng = self.rng
        query = self.relation(depth=depth + 1)
        if rng.random() < 0.5:
            query = replace(query, output=rng.choice(("istream", "istream", *STREAM_OPERATORS)))
        columns = query_columns(query, self.catalog())
        window = None
        if query.output or is_monotonic(self.script, query):
            unit = self.readables()[0].unit
            readable = Readable("", columns, unit)
            window = self.window(readable)
            columns = columns_in(window, readable)
        return Source(query, window, f"x{self.mark()}"), columns

    def check_size(self, sources: list[Source]) -> None:
        """Refuse what would make too many pairs."""
        size = 1
        for source in sources:
            size *= max(1, self.size(source))
        if size > MOST_PAIRS:
            raise SpecError("too many pairs")

    def size(self, source: Source) -> int:
        """About as many rows as a source can hold at once."""
        window = source.window
        most = 12
        for relation in (*self.script.streams, *self.script.tables):
            if relation.name == source.of:
                most = len(relation.rows) or 6
        if window and window.kind == "now":
            return min(most, 3)
        return (
            min(most, window.rows) if window and window.rows and not window.partition_by else most
        )

    def columns_of(self, entries: list[tuple[Source, Columns]]) -> Columns:
        """Qualified names; where there is one source or a name is unique, also bare ones."""
        every = [name for _, columns in entries for name, _ in columns]
        found = []
        for source, columns in entries:
            for name, type_ in columns:
                is_bare = every.count(name) == 1 and self.rng.random() < (
                    0.7 if len(entries) == 1 else 0.3
                )
                found.append((name if is_bare else f"{source.name}.{name}", type_))
        return tuple(found)

    def join(self, before: list[tuple[Source, Columns]], entry: tuple[Source, Columns]) -> Join:
        """One more source, and how it is joined."""
        rng, (source, columns) = self.rng, entry
        kind = "inner"
        if self.chance("outer"):
            kind = rng.choice(("left", "left", "right", "full"))
        elif rng.random() < 0.06:
            kind = "cross"
        join = Join(source.of, kind, None, source.window, source.alias)
        if kind == "cross":
            return join
        shared = {name for name, _ in columns} & {name for name, _ in before[0][1]}
        if len(before) == 1 and shared and rng.random() < 0.12:
            return replace(join, using=(rng.choice(sorted(shared)),))
        return replace(join, condition=self.on(before, entry))

    def on(self, before: list[tuple[Source, Columns]], entry: tuple[Source, Columns]) -> Expr:
        """Mostly an equality; ranges and arbitrary conditions occur."""
        rng = self.rng
        left = self.columns_of(before)
        right = self.columns_of([entry])
        right = tuple((as_qualified(entry[0], name), type_) for name, type_ in right)
        left = tuple((n if "." in n else self.owner(before, n), t) for n, t in left)
        met = self.meeting(left, right)
        if met is None or rng.random() < 0.06:
            return condition(rng, left + right)
        if rng.random() < 0.15:
            met = Bin("AND", met, condition(rng, left + right, 0))
        return met

    def owner(self, before: list[tuple[Source, Columns]], name: str) -> str:
        source = next(s for s, columns in before if name in dict(columns))
        return f"{source.name}.{name}"

    def meeting(self, left: Columns, right: Columns) -> Expr | None:
        """A comparison of a column of each."""
        rng = self.rng
        couples = [
            (a, b)
            for a, type_a in left
            for b, type_b in right
            if CLASSES.get(type_a, type_a) == CLASSES.get(type_b, type_b) != "timestamp"
        ]
        kinds = dict(left + right)
        plain = [c for c in couples if not any(as_column(n).name == "ts" for n in c)]
        couples = plain if plain and rng.random() < 0.9 else couples
        alike = [(a, b) for a, b in couples if kinds[a] == kinds[b]]
        couples = alike if alike and rng.random() < 0.9 else couples
        if not couples:
            return None
        names = rng.choice(couples)
        a, b = map(as_column, names)
        match rng.choices(range(3), (80, 12, 8))[0]:
            case 0:
                return Bin("=", *rng.sample((a, b), 2))
            case 1 if CLASSES.get(kinds[names[0]]) == "number":
                return Between(b, Bin("-", a, Lit(1)), Bin("+", a, Lit(1)))
        return Bin(rng.choice(("<", "<=", ">", ">=", "<>")), a, b)

    def with_commas(
        self, query: Query, entries: list[tuple[Source, Columns]]
    ) -> tuple[Query, Columns]:
        """Sources with commas between, and WHERE with the conditions."""
        where: Expr | None = None
        for i, (source, _) in enumerate(entries[1:], 1):
            join = Join(source.of, "comma", None, source.window, source.alias)
            query = replace(query, joins=(*query.joins, join))
            met = self.on(entries[:i], entries[i])
            where = met if where is None else Bin("AND", where, met)
        return replace(query, where=where), self.columns_of(entries)


def as_qualified(source: Source, name: str) -> str:
    return name if "." in name else f"{source.name}.{name}"
