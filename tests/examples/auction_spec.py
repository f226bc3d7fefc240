"""examples/auction/auction.sql once more, as a spec of the oracle over the same files."""

import csv
from datetime import datetime
from pathlib import Path

from oracle.spec import (
    Aggregate,
    Bin,
    Col,
    Derived,
    Exists,
    Expr,
    InQuery,
    Item,
    Join,
    Lit,
    Order,
    Quantified,
    Query,
    Scalar,
    Script,
    SetOperation,
    StreamSpec,
    Window,
)

FOLDER = Path(__file__).parents[2] / "examples" / "auction"
MINUTE = 60_000_000
HOUR = 60 * MINUTE
NOW, UNBOUNDED, LAST_HOUR = Window("now"), Window("unbounded"), Window("range", range=HOUR)
COLUMNS = {
    "registrations": (("member", "int"), ("name", "string"), ("town", "string")),
    "deregistrations": (("member", "int"),),
    "openings": (("lot", "int"), ("seller", "int"), ("asked", "int")),
    "closings": (("lot", "int"),),
    "bids": (("lot", "int"), ("bidder", "int"), ("amount", "int")),
}


def columns(*names: str) -> tuple[Item, ...]:
    """Columns of the select list or of GROUP BY: `o.lot` is called lot."""
    parts = [name.split(".") for name in names]
    return tuple(Item(Col(p[-1], p[0] if len(p) > 1 else None), p[-1]) for p in parts)


def column(name: str) -> Expr:
    return columns(name)[0].expression


def same(left: str, right: str) -> Expr:
    return Bin("=", column(left), column(right))


def every(*conditions: Expr) -> Expr:
    first, *others = conditions
    return first if not others else Bin("AND", first, every(*others))


def comma(source: object, alias: str, window: Window | None = None) -> Join:
    return Join(source, "comma", None, window, alias)


COUNT = Aggregate("bids", "count")
FIRST_TEN = every(Bin(">=", Col("lot"), Lit(1)), Bin("<=", Col("lot"), Lit(10)))
DEAR = Bin(">", Col("asked"), Lit(100))
CLOSED, LEFT = Query("closings", columns("lot")), Query("deregistrations", columns("member"))
IN_DUNMERE = every(same("o.seller", "m.member"), Bin("=", column("m.town"), Lit("Dunmere")))
PRICES = SetOperation(
    "union",
    Query("bids", (*columns("lot"), Item(Col("amount"), "price"))),
    Query("openings", (*columns("lot"), Item(Col("asked"), "price"))),
)
LATEST_PRICE = comma(PRICES, "p", Window("rows", rows=1, partition_by=("lot",)))
SALES = Query(
    "hammer",
    columns("o.seller", "h.price"),
    NOW,
    "h",
    (comma("openings", "o"),),
    same("h.lot", "o.lot"),
    output="rstream",
)


def lively(output: str | None) -> Query:
    select = columns("bids")
    return Query("bids", select, LAST_HOUR, where=FIRST_TEN, aggregates=(COUNT,), output=output)


def from_dunmere(window: Window | None) -> Query:
    select = columns("o.at", "o.lot", "o.seller", "o.asked")
    joins = (comma("members", "m"),)
    return Query("openings", select, window, "o", joins, IN_DUNMERE, output="istream")


def hammer(window: Window | None) -> Query:
    where = same("c.lot", "p.lot")
    select = columns("c.lot", "p.price")
    return Query("closings", select, window, "c", (LATEST_PRICE,), where, output="istream")


def bids_of_lots(having: Expr | None = None, **more: object) -> Query:
    lots = columns("lot")
    select = columns("lot", "bids")
    return Query(
        "bids", select, LAST_HOUR, group_by=lots, aggregates=(COUNT,), having=having, **more
    )


HOTTEST = Quantified(
    Col("bids"),
    ">=",
    "ALL",
    Query("bids", columns("bids"), LAST_HOUR, group_by=columns("lot"), aggregates=(COUNT,)),
)
MEAN_OF_HOUR = Scalar(
    Query("bids", columns("mean"), LAST_HOUR, aggregates=(Aggregate("mean", "avg", Col("amount")),))
)

FILTERS = {
    "valuable": Query("openings", where=DEAR),
    "valuable_now": Query("openings", window=NOW, where=DEAR, output="istream"),
    "in_crowns": Query(
        "bids", (*columns("lot", "bidder"), Item(Bin("*", Col("amount"), Lit(7.5)), "crowns"))
    ),
}
AGGREGATES = {
    "lively": lively(None),
    "lively_news": lively("istream"),
    "lively_ticks": lively("rstream"),
    "lively_filtered": Query(
        Query("bids", where=FIRST_TEN), columns("bids"), LAST_HOUR, "b", aggregates=(COUNT,)
    ),
    "bidding": Query("bids", columns("lot"), Window("rows", rows=1), output="istream"),
    "bidding_ticks": Query("bids", columns("lot"), Window("rows", rows=1), output="rstream"),
    "mean_bid": Query(
        "bids",
        columns("mean"),
        Window("range", range=10 * MINUTE),
        aggregates=(Aggregate("mean", "avg", Col("amount")),),
        output="istream",
    ),
}
SUBQUERIES = {
    "open_lots": Query(
        "openings", columns("lot", "seller", "asked"), where=InQuery(Col("lot"), CLOSED, True)
    ),
    "open_numbers": SetOperation("except", Query("openings", columns("lot")), CLOSED),
    "unsold": Query(
        "closings",
        columns("lot"),
        NOW,
        "c",
        where=Exists(Query("bids", alias="b", where=same("b.lot", "c.lot")), True),
        output="istream",
    ),
    "bold": Query(
        "bids",
        columns("lot", "bidder", "amount"),
        NOW,
        where=Bin(">", Col("amount"), MEAN_OF_HOUR),
        output="rstream",
    ),
}
RELATIONS = {
    "members": Query(
        "registrations",
        columns("member", "name", "town"),
        Window("rows", rows=1, partition_by=("member",)),
        where=InQuery(Col("member"), LEFT, True),
    ),
    "newcomers": SetOperation(
        "except",
        Query("registrations", columns("member"), Window("range", range=2 * HOUR)),
        LEFT,
    ),
    "departures": Query("members", columns("member", "name", "town"), output="dstream"),
    "from_dunmere": from_dunmere(NOW),
    "from_dunmere_ever": from_dunmere(None),
    "last_five": Query(
        "bids",
        columns("b.lot", "m.name", "b.amount"),
        Window("rows", rows=5),
        "b",
        (comma("members", "m"),),
        same("b.bidder", "m.member"),
    ),
}
STREAMS = {
    "quick": Query(
        "closings",
        columns("c.lot"),
        NOW,
        "c",
        (comma("openings", "o", Window("range", range=5 * HOUR)),),
        same("c.lot", "o.lot"),
        output="istream",
    ),
    "last_second": Query(
        "bids",
        columns("b.lot", "b.bidder", "b.amount"),
        NOW,
        "b",
        (comma("closings", "c", NOW),),
        same("b.lot", "c.lot"),
        output="rstream",
    ),
}
IN_FROM = {
    "hammer": hammer(NOW),
    "hammer_by_default": hammer(None),
    "form": Query(
        SALES,
        columns("seller", "mean", "lots"),
        Window("rows", rows=3, partition_by=("seller",)),
        "s",
        group_by=columns("seller"),
        aggregates=(Aggregate("mean", "avg", Col("price")), Aggregate("lots", "count")),
    ),
}
CHAINED = {
    "hot": bids_of_lots(HOTTEST),
    "once_hot": Query(
        Query("hot", columns("lot"), output="istream"),
        columns("lot"),
        UNBOUNDED,
        "h",
        distinct=True,
        output="istream",
    ),
    "top_lots": bids_of_lots(order_by=(Order("bids", True), Order("lot")), limit=3),
    "standing": Query(
        "open_lots",
        columns("lot", "asked", "highest", "bids"),
        alias="o",
        joins=(Join("bids", "left", same("b.lot", "o.lot"), None, "b"),),
        group_by=columns("o.lot", "o.asked"),
        aggregates=(
            Aggregate("highest", "max", column("b.amount")),
            Aggregate("bids", "count", column("b.amount")),
        ),
    ),
    "takings": Query(
        "hammer",
        columns("town", "total", "lots"),
        Window("range", range=3 * HOUR),
        "h",
        (
            Join("openings", "inner", same("h.lot", "o.lot"), None, "o"),
            Join("members", "inner", same("o.seller", "m.member"), None, "m"),
        ),
        None,
        columns("m.town"),
        (Aggregate("total", "sum", column("h.price")), Aggregate("lots", "count")),
    ),
}
QUERIES = FILTERS | AGGREGATES | SUBQUERIES | RELATIONS | STREAMS | IN_FROM | CHAINED


def auction() -> Script:
    """The streams with the rows of their files, and every query of the example by its name."""
    streams = tuple(stream(name) for name in COLUMNS)
    return Script(
        streams, derived=tuple(Derived(name, "view", query) for name, query in QUERIES.items())
    )


def stream(name: str) -> StreamSpec:
    with open(FOLDER / f"{name}.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    types = (("at", "timestamp"), *COLUMNS[name])
    read = {"timestamp": datetime.fromisoformat, "int": int, "string": str}
    rows = tuple(tuple(read[type_](line[column]) for column, type_ in types) for line in lines)
    return StreamSpec(name, types, "at", rows=rows)
