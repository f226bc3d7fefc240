"""Random queries over several sources: joins, sets, distinct, queries in FROM and in conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

from .check import check
from .forms import STREAM_OPERATORS, form_of, table_of
from .generate_expressions import as_column, condition, literal, number, text
from .generate_joins import Joins
from .generate_plain import (
    EXACT_AGGREGATES,
    NUMERIC_AGGREGATES,
    Readable,
    grouped,
    random_select,
)
from .generate_subqueries import Subqueries
from .infer import Catalog, full_name, query_columns
from .spec import (
    Aggregate,
    AnyQuery,
    Col,
    Columns,
    Item,
    Order,
    Query,
    Script,
    SetOperation,
    SpecError,
)

OUTPUTS = (None, None, None, None, "istream", "dstream", "rstream", "streamed", "complete")
ATTEMPTS = 60


@dataclass
class Maker(Joins, Subqueries):
    """Makes queries over what a script has so far."""

    rng: Random
    script: Script
    weights: dict[str, float]
    count: int = 0
    known: Catalog | None = None
    around: list[Columns] = field(default_factory=list)

    def settle(self, attempt: Callable[[], Script]) -> None:
        """The script with something more, the first attempt that has a meaning."""
        for _ in range(ATTEMPTS):
            self.around.clear()
            try:
                script = attempt()
                check(script)
            except SpecError:
                continue
            self.script = script
            return
        raise RuntimeError("no attempt has a meaning")

    def chance(self, construct: str, factor: float = 1.0) -> bool:
        return self.rng.random() < self.weights.get(construct, 0.0) * factor

    def mark(self) -> str:
        """A number for names that are not used twice."""
        self.count += 1
        return str(self.count)

    def catalog(self) -> Catalog:
        """The columns of what the script has so far."""
        if self.known is None or self.known.script is not self.script:
            self.known = check(self.script)
        return Catalog(self.script, self.known.named)

    def readables(self) -> list[Readable]:
        """Everything that can stand in FROM by its name."""
        unit = 1_000_000 if self.script.streams[0].domain == "timestamp" else 1
        catalog = self.catalog()
        found = [Readable(s.name, s.columns, unit) for s in self.script.streams]
        for table in (t for t in self.script.tables if t.retroactive):
            found.append(Readable(table.name, table.columns, unit, is_relation=True))
        for derived in self.script.derived:
            form = form_of(self.script, derived.query)
            columns = catalog.named[derived.name]
            found.append(Readable(derived.name, columns, unit, form == "relation"))
        return found

    def outermost(self, exact: bool) -> AnyQuery:
        """A bare query, or that of a view, which must not hold sums of doubles."""
        output = self.rng.choice(OUTPUTS)
        if self.chance("expression"):
            return replace(self.expression(), output=output)
        if self.chance("set"):
            output = output if output in STREAM_OPERATORS else None
            return replace(self.set_operation(), output=output)
        return replace(self.select(exact=exact), output=output)

    def relation(self, types: tuple[str, ...] | None = None, depth: int = 1) -> AnyQuery:
        """A query without an operator, with columns of the types if they are given."""
        if depth < 3 and self.rng.random() < self.weights.get("set", 0.0) / 3:
            return self.set_operation(types, depth + 1)
        return self.select(types, exact=True, depth=depth)

    def set_operation(self, types: tuple[str, ...] | None = None, depth: int = 1) -> SetOperation:
        """Two queries with columns of equal types."""
        rng = self.rng
        types = types or tuple(
            rng.choices(("bigint", "bigint", "string", "double"), k=rng.choice((1, 1, 2)))
        )
        sides = [self.relation(types, depth + 1) for _ in range(2)]
        op = rng.choice(("union", "intersect", "except"))
        made = SetOperation(op, *sides, all=rng.random() < 0.5)
        names = [name for name, _ in query_columns(made, self.catalog())]
        return self.limited(made, names) if self.chance("topk") else made

    def select(
        self, types: tuple[str, ...] | None = None, exact: bool = True, depth: int = 0
    ) -> Query:
        """One SELECT with as many constructs as chance wants."""
        rng, mark = self.rng, self.mark()
        query, columns = self.from_clause(depth)
        if query.where is None and rng.random() < 0.25:
            query = replace(query, where=condition(rng, columns))
        query = self.filtered(query, columns, depth)
        distinct, limits = self.chance("distinct"), self.chance("topk")
        share = max(0.3, self.weights.get("group", 0.0)) if types is None else 0.12
        if rng.random() < share:
            exact = exact or distinct or limits
            query = self.with_groups(query, columns, exact, types, mark, depth)
        elif types is not None:
            query = replace(query, select=self.typed_items(types, columns, mark))
        elif rng.random() < 0.8 or depth:
            items = random_select(rng, columns, mark)
            items += self.scalar_items(query, columns, mark, depth)
            query = replace(query, select=items)
        query = replace(query, distinct=distinct)
        return self.limited(query, [i.name for i in query.select]) if limits else query

    def limited(self, query: AnyQuery, names: list[str]) -> AnyQuery:
        """The first rows in some order."""
        rng = self.rng
        if not names:
            return query
        chosen = rng.sample(names, min(len(names), rng.choice((1, 1, 2))))
        order = tuple(
            Order(name, rng.random() < 0.5, rng.choice((None, None, "first", "last")))
            for name in chosen
        )
        return replace(
            query,
            order_by=order,
            limit=rng.choice((1, 2, 2, 3)),
            offset=rng.choice((0, 0, 0, 1, 2)),
        )

    def typed_items(self, types: tuple[str, ...], columns: Columns, mark: str) -> tuple[Item, ...]:
        return tuple(Item(self.typed(t, columns), f"c{mark}{i}") for i, t in enumerate(types))

    def typed(self, type_: str, columns: Columns):
        """An expression of a type, a plain column if there is one."""
        rng = self.rng
        fits = ("int", "bigint") if type_ == "bigint" else (type_,)
        fitting = [name for name, t in columns if t in fits and name.rpartition(".")[2] != "ts"]
        if fitting and rng.random() < 0.9:
            return as_column(rng.choice(fitting))
        if type_ == "string":
            return text(rng, columns)
        if type_ in ("bigint", "double") and rng.random() < 0.7:
            return number(rng, columns)
        return literal(rng, type_)

    def with_groups(
        self,
        query: Query,
        columns: Columns,
        exact: bool,
        types: tuple[str, ...] | None,
        mark: str,
        depth: int,
    ) -> Query:
        """GROUP BY; where types are wanted, groups and aggregates that have them."""
        rng = self.rng
        allowed = EXACT_AGGREGATES if exact else NUMERIC_AGGREGATES
        is_single = len(query.sources) == 1 and isinstance(query.source, str)
        found = [r for r in self.readables() if r.name == query.source]
        source = found[0] if is_single and found and not self.is_table(query.source) else None
        made = grouped(rng, query, source, columns, allowed, mark)
        if types is not None:
            made = self.with_types(made, types, mark)
        elif not exact and self.chance("collect"):
            made = self.with_collection(made, columns, mark)
        made = self.with_having(made, columns, depth)
        items = self.scalar_items(made, self.group_columns(made, columns), mark, depth)
        return replace(made, select=made.select + (items if types is None else ()))

    def with_collection(self, query: Query, columns: Columns, mark: str) -> Query:
        """string_agg, array_agg or a quantile of a column, one or two of them."""
        words = [name for name, type_ in columns if type_ == "string"]
        numbers = [name for name, type_ in columns if type_ in ("bigint", "double")]
        others = [name for name, type_ in columns if type_ != "timestamp"]
        for i in range(self.rng.choice((1, 1, 2))):
            is_text = bool(words) and self.rng.random() < 0.5
            column = as_column(self.rng.choice(words if is_text else others))
            made = Aggregate(f"l{mark}{i}", "string_agg" if is_text else "array_agg", column)
            if numbers and self.rng.random() < 0.3:
                made = Aggregate(made.name, "quantile", as_column(self.rng.choice(numbers)))
            item = Item(Col(made.name), made.name)
            query = replace(
                query, aggregates=(*query.aggregates, made), select=(*query.select, item)
            )
        return query

    def group_columns(self, query: Query, columns: Columns) -> Columns:
        """The columns that are grouped by, as the expressions after grouping see them."""
        plain = [item for item in query.group_by if isinstance(item.expression, Col)]
        return tuple(
            (full_name(i.expression), dict(columns)[full_name(i.expression)]) for i in plain
        )

    def with_types(self, query: Query, types: tuple[str, ...], mark: str) -> Query:
        """The select list cut down to columns of the types; refused if there are none."""
        columns = dict(query_columns(query, self.catalog()))
        items = []
        for i, type_ in enumerate(types):
            fits = ("int", "bigint") if type_ == "bigint" else (type_,)
            fitting = [item for item in query.select if columns[item.name] in fits]
            if not fitting:
                raise SpecError("no column of the type")
            items.append(Item(self.rng.choice(fitting).expression, f"c{mark}{i}"))
        return replace(query, select=tuple(items))

    def is_table(self, name: object) -> bool:
        return table_of(self.script, name) is not None
