"""Scripts whose queries have much in common: views, and queries nearly contained in them."""

from dataclasses import replace
from random import Random

from .spec import (
    Aggregate,
    Between,
    Bin,
    Col,
    Derived,
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
    Window,
)

S = (("ts", "bigint"), ("k", "bigint"), ("x", "bigint"), ("w", "string"), ("d", "double"))
R = (("tr", "bigint"), ("kr", "bigint"), ("y", "bigint"))
FUNCTIONS = ("count", "count", "sum", "min", "max", "avg", "count_distinct", "median")
OUTPUTS = (None, None, "streamed", "streamed", "istream", "dstream")


def sharing_case(rng: Random) -> Script:
    """One or two views, and queries that differ from them in a few places."""
    streams = (_stream(rng, "s", S, 24), _stream(rng, "r", R, 12))
    kind = rng.choice(
        ("plain", "grouped", "grouped", "join", "join", "joined groups", "distinct", "in")
    )
    base = _base(rng, kind)
    derived = [Derived("d1", "view", _view(base))]
    if rng.random() < 0.4:
        derived.append(Derived("d2", "view", _view(_near(rng, base, "v"))))
    queries = []
    for number in range(rng.choice((1, 2, 3))):
        near = _near(rng, base, f"q{number}")
        queries.append(replace(near, output=rng.choice(OUTPUTS)))
    return Script(streams, derived=tuple(derived), queries=tuple(queries))


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
