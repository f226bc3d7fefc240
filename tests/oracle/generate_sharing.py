"""Scripts whose queries have much in common: views, and queries nearly contained in them."""

from dataclasses import fields, is_dataclass, replace
from random import Random

from .spec import (
    Aggregate,
    Between,
    Bin,
    Both,
    Col,
    Derived,
    Events,
    Expr,
    Func,
    InList,
    InQuery,
    IsNull,
    Item,
    Join,
    Lit,
    Not,
    Query,
    Script,
    StreamSpec,
    Sync,
    Ticks,
    Window,
)

S = (("ts", "bigint"), ("k", "bigint"), ("x", "bigint"), ("w", "string"), ("d", "double"))
R = (("tr", "bigint"), ("kr", "bigint"), ("y", "bigint"))
FUNCTIONS = ("count", "count", "sum", "min", "max", "avg", "count_distinct", "median")
INSIDE = {"p0": ("p1", "p6"), "p2": ("p0", "p1", "p3"), "p4": ("p5", "p5")}
"""Points that are among those of others."""
OUTPUTS = (None, None, "streamed", "streamed", "istream", "dstream")


def sharing_case(rng: Random, synchronized: bool = False) -> Script:
    """One or two views, and queries that differ from them in a few places; with synchronized
    sources where that is asked for, mostly at points of which some hold others."""
    streams = (_stream(rng, "s", S, 24), _stream(rng, "r", R, 12))
    kind = rng.choice(
        ("plain", "grouped", "grouped", "join", "join", "joined groups", "distinct", "in")
    )
    base = _base(rng, kind)
    if synchronized:
        return _with_points(rng, streams, base)
    derived = [Derived("d1", "view", _view(base))]
    if rng.random() < 0.4:
        derived.append(Derived("d2", "view", _view(_near(rng, base, "v"))))
    queries = []
    for number in range(rng.choice((1, 2, 3))):
        near = _near(rng, base, f"q{number}")
        queries.append(replace(near, output=rng.choice(OUTPUTS)))
    return Script(streams, derived=tuple(derived), queries=tuple(queries))


def _with_points(rng: Random, streams: tuple[StreamSpec, ...], base: Query) -> Script:
    """A view at some points, and queries at the same ones, at some of them, or at others."""
    syncs = _syncs(rng)
    names = [sync.name for sync in syncs]
    usual = rng.choice(("p0", "p0", "p2", "p4", None, rng.choice(names)))
    derived = (Derived("d1", "view", _view(_at(rng, base, usual))),)
    queries = []
    for number in range(rng.choice((1, 2, 3))):
        mine = rng.choice((usual, *INSIDE.get(usual, ("p1",)), rng.choice(names)))
        near = _at(rng, _near(rng, base, f"q{number}"), mine or "p1")
        queries.append(replace(near, output=rng.choice(OUTPUTS)))
    return Script(streams, derived=derived, queries=tuple(queries), syncs=syncs)


def _syncs(rng: Random) -> tuple[Sync, ...]:
    """p0 has all points of p1, p2 those of both p0 and p3, p4 those of p5."""
    every = rng.choice((1, 2, 2, 3))
    times = rng.choice((2, 3))
    low = rng.randrange(-1, 3)
    return (
        Sync("p0", Ticks(every, 0, None, "s")),
        Sync("p1", Ticks(every * times, 0, None, "s")),
        Sync("p3", Ticks(rng.choice((2, 3, 5)), 1, None, "s")),
        Sync("p2", Both("union", "p0", "p3")),
        Sync("p4", Events("s", "x", ">", low)),
        Sync("p5", Events("s", "x", rng.choice((">", ">", "=")), low + 1)),
        Sync("p6", Both("intersect", "p0", rng.choice(("p3", "p1")))),
    )


def _at(rng: Random, query: Query, name: str | None) -> Query:
    """The query over sources that change at the points of a sync; now and then not all of them."""

    def change(part):
        if isinstance(part, tuple):
            return tuple(map(change, part))
        if not is_dataclass(part):
            return part
        part = replace(part, **{f.name: change(getattr(part, f.name)) for f in fields(part)})
        if isinstance(part, Query | Join) and rng.random() < 0.95:
            return replace(part, window=None, sync=name)
        return part

    return query if name is None else change(query)


def _stream(rng: Random, name: str, columns, most: int) -> StreamSpec:
    ts, rows = 0, []
    for _ in range(rng.randrange(3, most)):
        ts += rng.choice((0, 0, 1, 1, 2, 4))
        rows.append((ts, *(_value(rng, kind) for _, kind in columns[1:])))
    return StreamSpec(name, columns, columns[0][0], rows=tuple(rows))


def _value(rng: Random, kind: str):
    if rng.random() < 0.12:
        return None
    if kind == "string":
        return rng.choice(("a", "b", "B", "A"))
    return rng.choice((-1.5, 0.0, 0.5, 1.0, 2.0, 3.0)) if kind == "double" else rng.randrange(5)


def _base(rng: Random, kind: str) -> Query:
    query = Query(
        source="s",
        window=_window(rng),
        where=_all([_condition(rng) for _ in range(rng.choice((0, 1, 1, 2)))]),
    )
    if "join" in kind:
        query = _joined(rng, query)
    if kind == "in":
        inner = Query(source="r", select=(Item(Col("kr"), "kr"),), window=_window(rng))
        test = InQuery(Col("k"), inner, rng.random() < 0.4)
        query = replace(query, where=_all([*_conjuncts(query.where), test]))
    if "group" in kind:
        names = rng.sample(("k", "x", "w"), rng.choice((1, 2, 2, 3)))
        return _grouped(rng, query, names, "b", rng.choice((1, 2, 4, 5)))
    columns = rng.sample(_columns(query), rng.choice((2, 3, 4)))
    items = tuple(Item(Col(name), name) for name in columns)
    return replace(query, select=items, distinct=kind == "distinct")


def _joined(rng: Random, query: Query) -> Query:
    on: Expr = Bin("=", Col("k"), Col("kr"))
    if rng.random() < 0.3:
        on = Bin("AND", on, Bin(rng.choice(("<", "<=", ">")), Col("x"), Col("y")))
    kind = rng.choice(("inner", "inner", "inner", "inner", "left"))
    return replace(query, joins=(Join("r", kind, on, _window(rng)),))


def _columns(query: Query) -> list[str]:
    return [name for name, _ in (*S[1:], *(R[1:] if query.joins else ()))]


def _window(rng: Random) -> Window:
    length = rng.choice((0, 2, 4, 6))
    if rng.random() < 0.35:
        return Window("range", range=length, slide=rng.choice((1, 2, 3, 4)))
    return rng.choice((Window("range", range=length), Window("unbounded"), Window("now")))


def _condition(rng: Random, name: str | None = None) -> Expr:
    name = name or rng.choice(("k", "x", "d", "w", "x"))
    column = Col(name)
    if name == "w":
        match rng.randrange(4):
            case 0:
                return Bin(rng.choice(("=", "<>", ">", "<=")), column, Lit(rng.choice(("a", "b"))))
            case 1:
                return InList(column, (Lit("a"), Lit(rng.choice(("b", "B")))))
            case 2:
                return Bin("=", Func("upper", column), Lit(rng.choice(("A", "B"))))
        return IsNull(column, rng.random() < 0.6)
    number = _number(rng, name)
    match rng.randrange(8):
        case 0:
            return Between(column, Lit(number), Lit(_number(rng, name)))
        case 1:
            return InList(column, (Lit(number), Lit(_number(rng, name))))
        case 2:
            return Not(_condition(rng, name))
        case 3:
            return Bin("OR", _condition(rng, name), _condition(rng))
        case 4:
            return IsNull(column, rng.random() < 0.6)
    left, right = (column, Lit(number)) if rng.random() < 0.8 else (Lit(number), column)
    return Bin(rng.choice((">", ">", ">=", "<", "<=", "=", "<>")), left, right)


def _number(rng: Random, name: str):
    return rng.choice((-0.5, 0.0, 0.5, 1.0, 2.0)) if name == "d" else rng.randrange(-1, 5)


def _all(conditions: list[Expr]) -> Expr | None:
    whole = None
    for condition in conditions:
        whole = condition if whole is None else Bin("AND", whole, condition)
    return whole


def _conjuncts(where: Expr | None) -> list[Expr]:
    if isinstance(where, Bin) and where.op == "AND":
        return [*_conjuncts(where.left), *_conjuncts(where.right)]
    return [] if where is None else [where]


def _grouped(rng: Random, query: Query, names, mark: str, count: int) -> Query:
    """Groups by some columns, with some aggregates."""
    groups = tuple(Item(Col(name), name) for name in names)
    aggregates = tuple(_aggregate(rng, f"{mark}{i}", query) for i in range(count))
    shown = [g.name for g in groups] + [a.name for a in aggregates]
    items = tuple(Item(Col(name), name) for name in shown)
    return replace(query, group_by=groups, aggregates=aggregates, select=items)


def _aggregate(rng: Random, name: str, query: Query) -> Aggregate:
    columns = [c for c in _columns(query) if c != "w"]
    function = rng.choice(FUNCTIONS)
    if function == "count" and rng.random() < 0.5:
        return Aggregate(name, "count")
    column = rng.choice([c for c in columns if c != "d" or function in ("count", "min", "max")])
    return Aggregate(name, function, Col(column))


def _near(rng: Random, base: Query, mark: str) -> Query:
    """A query that is contained in another, or would be but for something small."""
    where = _conjuncts(base.where)
    rng.shuffle(where)
    if rng.random() < 0.7:
        where.append(_condition(rng))
    if where and rng.random() < 0.15:
        where.pop(rng.randrange(len(where)))
    query = replace(base, where=_all(where))
    if rng.random() < 0.2:
        query = replace(query, window=_window(rng))
    if query.joins and rng.random() < 0.3:
        query = _joined(rng, query)
    if base.is_grouped:
        return _other_groups(rng, base, query, mark)
    columns = [item.name for item in base.select]
    if rng.random() < 0.15:
        columns = rng.sample(_columns(query), 2)
    if rng.random() < 0.3:
        return _grouped(rng, query, columns[:1], mark, rng.choice((1, 2)))
    kept = rng.sample(columns, rng.randrange(1, len(columns) + 1)) if not base.distinct else columns
    items = tuple(Item(Col(name), name) for name in kept)
    if rng.random() < 0.2:
        number = next((c for c in kept if c not in ("w", "d")), None)
        more = Item(Bin("+", Col(number), Lit(1)), f"{mark}e") if number else None
        items = (*items, more) if more else items
    return replace(query, select=items, distinct=base.distinct or rng.random() < 0.2)


def _other_groups(rng: Random, base: Query, query: Query, mark: str) -> Query:
    names = [g.name for g in base.group_by]
    names = rng.sample(names, rng.randrange(0, len(names) + 1))
    kept = rng.sample(base.aggregates, rng.randrange(1, len(base.aggregates) + 1))
    aggregates = tuple(replace(a, name=f"{mark}{i}") for i, a in enumerate(kept))
    if rng.random() < 0.25:
        aggregates = (*aggregates, _aggregate(rng, f"{mark}z", query))
    shown = [*names, *(a.name for a in aggregates)]
    having = None
    counts = [a.name for a in aggregates if a.function == "count"]
    if counts and rng.random() < 0.3:
        having = Bin(rng.choice((">", ">=", "<")), Col(rng.choice(counts)), Lit(rng.choice((1, 2))))
    return replace(
        query,
        group_by=tuple(Item(Col(name), name) for name in names),
        aggregates=aggregates,
        having=having,
        select=tuple(Item(Col(name), name) for name in shown),
    )


def _view(query: Query) -> Query:
    return replace(query, output=None)
