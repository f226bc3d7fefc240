"""Random scripts over one stream at a time: windows, static tables, groups, every output form."""

from dataclasses import dataclass, replace
from random import Random

from .forms import form_of
from .generate_expressions import as_column, condition, number, scalar
from .generate_rows import random_stream, random_table
from .infer import Scope, aggregate_type, catalog_of, window_columns
from .spec import (
    Aggregate,
    Bin,
    Coalesce,
    Col,
    Columns,
    Derived,
    Expr,
    Item,
    Join,
    Lit,
    Query,
    Script,
    StreamSpec,
    Window,
)
from .windows import BOUNDS

SECOND = 1_000_000
STREAM_OUTPUTS = ("istream", "istream", "dstream", "rstream")
OUTPUTS = (None, None, None, *STREAM_OUTPUTS, "streamed", "streamed", "complete")
NUMERIC_AGGREGATES = (
    *("count", "sum", "sum", "avg", "avg", "min", "max", "median"),
    *("stddev", "variance", "count_distinct", "first", "last"),
)
EXACT_AGGREGATES = ("count", "sum", "min", "max", "count_distinct")
OTHER_AGGREGATES = ("count", "min", "max", "count_distinct", "first", "last")


@dataclass(frozen=True)
class Readable:
    """Something a query can read: its columns, unit of time, and whether it is a relation."""

    name: str
    columns: Columns
    unit: int
    is_relation: bool = False
    is_latent: bool = False

    def names(self, *types: str) -> list[str]:
        return [name for name, type_ in self.columns if type_ in types]


def plain_case(rng: Random) -> Script:
    """A script with one or two streams, up to two tables and derived streams, and queries."""
    streams = random_streams(rng)
    tables = tuple(random_table(rng, f"t{i}") for i in range(rng.choice((0, 0, 1, 1, 2))))
    script = Script(streams, tables)
    sources = [stream_source(stream) for stream in streams]
    for i in range(rng.choice((0, 0, 0, 1, 1, 2))):
        derived = random_derived(rng, f"d{i + 1}", rng.choice(sources), script)
        script = replace(script, derived=(*script.derived, derived))
        sources.append(derived_source(script, derived, sources))
    for _ in range(rng.choice((1, 1, 2, 3))):
        source = sources[-1] if rng.random() < 0.6 else rng.choice(sources)
        query = random_query(rng, source, script, NUMERIC_AGGREGATES)
        script = replace(script, queries=(*script.queries, query))
    return script


def random_streams(rng: Random) -> tuple[StreamSpec, ...]:
    """One stream, or two whose clocks may be the same; a latent stream is alone."""
    domain = rng.choices(("integer", "timestamp", "latent"), (75, 15, 10))[0]
    first = random_stream(rng, "s", domain)
    if domain == "latent" or rng.random() < 0.8:
        return (first,)
    return first, random_stream(rng, "r", rng.choice(("integer", domain)))


def stream_source(stream: StreamSpec) -> Readable:
    unit = SECOND if stream.domain == "timestamp" else 1
    return Readable(stream.name, stream.columns, unit, is_latent=stream.domain == "latent")


def derived_source(script: Script, derived: Derived, sources: list[Readable]) -> Readable:
    below = next(source for source in sources if source.name == derived.query.source)
    is_relation = form_of(script, derived.query) == "relation"
    columns = catalog_of(script).named[derived.name]
    return Readable(derived.name, columns, below.unit, is_relation, below.is_latent)


def random_derived(rng: Random, name: str, source: Readable, script: Script) -> Derived:
    """A stream or view that others read: never tagged, and not much larger than its source."""
    query = random_query(rng, source, script, EXACT_AGGREGATES)
    kind = rng.choice(("stream", "stream", "view"))
    if query.output == "streamed":
        query = replace(query, output=None)
    if kind == "stream" and form_of(script, query) != "stream":
        query = replace(query, output=rng.choice(STREAM_OUTPUTS))
    if query.output == "rstream" and not query.is_grouped and not is_short(query.window):
        query = replace(query, output="istream")
    return Derived(name, kind, query)


def is_short(window: Window | None) -> bool:
    return window is not None and (window.kind == "now" or (window.rows or 99) <= 3)


def random_query(rng: Random, source: Readable, script: Script, allowed: tuple[str, ...]) -> Query:
    """Any query over one source; `allowed` limits the aggregates.

    Names that it makes carry the query's number, so that none hides a column of its input.
    """
    mark = str(len(script.named_queries()) + 1)
    query = Query(
        source=source.name,
        window=None if source.is_relation else random_window(rng, source),
        alias=rng.choice((None, None, "x", "y")),
        output=rng.choice(OUTPUTS),
        style=tuple(word for word in ("around", "alias_first") if rng.random() < 0.3),
    )
    columns = columns_in(query.window, source)
    tables = [t for t in script.tables if not set(t.columns) & set(columns)]
    if tables and rng.random() < 0.35:
        table = rng.choice(tables)
        query = replace(query, joins=(random_join(rng, query, source, table),))
        columns += table.columns
    if rng.random() < 0.45:
        query = replace(query, where=condition(rng, qualified(rng, query, source, columns)))
    if rng.random() < 0.55:
        return grouped(rng, query, source, columns, allowed, mark)
    if rng.random() < 0.2:
        return query
    return replace(query, select=random_select(rng, columns, mark))


def columns_in(window: Window | None, source: Readable) -> Columns:
    """The columns of a source in a window, with those that the window gives."""
    if window is None or not window.has_bounds:
        return source.columns
    time = "timestamp" if source.unit == SECOND else "bigint"
    return source.columns + window_columns(source.columns, time)


def qualified(rng: Random, query: Query, source: Readable, columns: Columns) -> Columns:
    """Some of the source's columns under their qualified names."""
    prefix = query.alias or source.name
    if rng.random() < 0.7:
        return columns
    mine = columns_in(query.window, source)
    own = tuple((f"{prefix}.{name}", type_) for name, type_ in mine)
    return own + columns[len(mine) :]


def random_window(rng: Random, source: Readable) -> Window | None:
    """Every kind of window, small enough for tuples to leave it."""
    unit = source.unit
    length = rng.choice((0, 1, 2, 3, 5, 5, 8, 12)) * unit
    rows = rng.choice((1, 1, 2, 3, 4, 6))
    by = random_partition(rng, source)
    if not source.is_latent and rng.random() < 0.2:
        return random_slots(rng, by, unit)
    match rng.choices(range(10), (10, 6, 8, 16, 3, 12, 10, 8, 8, 8))[0]:
        case 0:
            return None
        case 1:
            return Window("unbounded")
        case 2:
            return Window("now")
        case 3:
            return Window("range", range=length)
        case 4:
            return Window("rows")
        case 5:
            return Window("rows", rows=rows)
        case 6:
            return Window("rows", rows=rows, partition_by=by)
        case 7:
            return Window("rows", rows=rows, partition_by=by, range=length if by else None)
        case 8:
            slide = rng.choice((1, 2, 3, 5, 7)) * unit
            if length == 12 * unit:
                return Window("unbounded", slide=slide)
            return Window("range", range=length, slide=slide)
    by = by if rng.random() < 0.5 else ()
    return Window("rows", rows=rows, partition_by=by, slide=rng.choice((1, 2, 2, 3, 4)))


def random_slots(rng: Random, by: tuple[str, ...], unit: int) -> Window:
    """Slots side by side, overlapping or with gaps between, and sessions."""
    length, every = (rng.choice((1, 2, 3, 4, 5, 7)) * unit for _ in range(2))
    offset = rng.choice((0, 0, 0, 1, 2, 9)) * unit
    match rng.randrange(4):
        case 0:
            return Window("tumble", range=length, offset=offset)
        case 1:
            return Window("hop", range=length, slide=every, offset=offset)
    gap = rng.choice((0, 1, 1, 2, 2, 3, 5)) * unit
    return Window("session", range=gap, partition_by=by if rng.random() < 0.6 else ())


def random_partition(rng: Random, source: Readable) -> tuple[str, ...]:
    """One or two columns; seldom the time itself, which would make partitions of ties."""
    names = source.names("int", "bigint", "string")
    if rng.random() < 0.9:
        names = [name for name in names if name != "ts"]
    return tuple(rng.sample(names, min(len(names), rng.choice((1, 1, 2)))))


def random_join(rng: Random, query: Query, source: Readable, table) -> Join:
    """A join on a column of equal type where there is one."""
    key, key_type = table.columns[0]
    partners = source.names("int", "bigint") if key_type == "bigint" else source.names("string")
    kind = rng.choice(("inner", "inner", "left", "cross"))
    if kind == "cross" or not partners:
        return Join(table.name, "cross")
    prefix = rng.choice((None, query.alias or source.name))
    on: Expr = Bin("=", Col(rng.choice(partners), prefix), Col(key, rng.choice((None, table.name))))
    if rng.random() < 0.2:
        on = Bin("AND", on, condition(rng, source.columns + table.columns, depth=0))
    elif rng.random() < 0.1:
        on = Bin(rng.choice(("<", ">=")), on.left, on.right)
    return Join(table.name, kind, on)


def random_select(rng: Random, columns: Columns, mark: str) -> tuple[Item, ...]:
    """Some columns as they are, and now and then an expression."""
    chosen = rng.sample(columns, rng.randint(1, min(3, len(columns))))
    items: list[Item] = []
    for name, _ in chosen:
        items.append(Item(as_column(name), new_name(name, items, mark)))
    for i in range(rng.choice((0, 0, 1, 2))):
        items.append(Item(scalar(rng, columns), f"e{mark}{i}"))
    return tuple(items)


def new_name(name: str, items: list[Item], mark: str) -> str:
    """The bare name of a column, or one of its own if that is taken."""
    bare = name.rpartition(".")[2]
    return f"{bare}{mark}{len(items)}" if any(item.name == bare for item in items) else bare


def grouped(
    rng: Random,
    query: Query,
    source: Readable | None,
    columns: Columns,
    allowed: tuple[str, ...],
    mark: str,
) -> Query:
    """GROUP BY with zero to two keys, one to three aggregates, HAVING, and a select list."""
    groups = random_groups(rng, columns, mark)
    if source is None or source.is_relation:
        allowed = tuple(f for f in allowed if f not in ("first", "last"))
    aggregates = [random_aggregate(rng, f"n{mark}{i}", columns, allowed) for i in range(3)]
    aggregates = aggregates[: rng.choice((1, 1, 2, 3))]
    items = [Item(Col(g.name), g.name) for g in groups if rng.random() < 0.92]
    items += [Item(Col(a.name), a.name) for a in aggregates]
    numeric = [a.name for a in aggregates if a.function in ("count", "sum", "avg")]
    if numeric and rng.random() < 0.2:
        items.append(Item(over_aggregate(rng, Col(rng.choice(numeric))), f"m{mark}"))
    having = None
    if numeric and rng.random() < 0.3:
        tested = rng.choice([a for a in aggregates if a.name in numeric])
        having = random_having(rng, tested, columns)
    return replace(
        query,
        group_by=groups,
        aggregates=tuple(aggregates),
        having=having,
        select=tuple(items),
    )


def random_having(rng: Random, aggregate: Aggregate, columns: Columns) -> Expr:
    """A bound on an aggregate; one that no sum of doubles comes near to."""
    inexact = aggregate_type(aggregate, Scope(dict(columns))) == "double"
    bound = Lit(rng.choice((2.13, -0.87) if inexact else (0, 1, 1, 2)))
    return Bin(rng.choice((">", ">", ">=", "<=", "<>")), Col(aggregate.name), bound)


def random_groups(rng: Random, columns: Columns, mark: str) -> tuple[Item, ...]:
    """Grouping columns of small range; sometimes an expression."""
    good = [name for name, type_ in columns if type_ in ("int", "bigint", "string", "boolean")]
    good += [name for name, _ in columns if as_column(name).name in BOUNDS and name not in good]
    if not good or rng.random() < 0.3:
        return ()
    names = rng.sample(good, min(len(good), rng.choice((1, 1, 1, 2))))
    groups: list[Item] = []
    for name in names:
        groups.append(Item(as_column(name), new_name(name, groups, mark)))
    integers = [name for name, type_ in columns if type_ in ("int", "bigint")]
    if integers and rng.random() < 0.2:
        modulo = Bin("%", as_column(rng.choice(integers)), Lit(rng.choice((2, 3))))
        groups[rng.randrange(len(groups))] = Item(modulo, f"g{mark}")
    return tuple(groups)


def random_aggregate(
    rng: Random, name: str, columns: Columns, allowed: tuple[str, ...]
) -> Aggregate:
    """An aggregate that fits its argument's type; count(*) without one."""
    if rng.random() < 0.25:
        return Aggregate(name, "count")
    column, type_ = rng.choice(columns)
    is_number = type_ in ("int", "bigint", "double")
    fitting = NUMERIC_AGGREGATES if is_number else OTHER_AGGREGATES
    sums_inexact = "avg" in allowed
    if not sums_inexact and type_ == "double":
        fitting = OTHER_AGGREGATES
    function = rng.choice([f for f in fitting if f in allowed])
    if type_ == "boolean":
        function = "count"
    takes_any = function in ("count", "min", "max", "first", "last", "median")
    if is_number and (takes_any or sums_inexact) and rng.random() < 0.15:
        return Aggregate(name, function, number(rng, columns))
    return Aggregate(name, function, as_column(column))


def over_aggregate(rng: Random, aggregate: Col) -> Expr:
    return rng.choice(
        (
            Bin("+", aggregate, Lit(1)),
            Bin("*", Lit(2), aggregate),
            Bin("/", aggregate, Lit(4)),
            Coalesce((aggregate, Lit(0))),
        )
    )
