"""The shapes of queries that are compared, each in the SQL of every engine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """One query in three dialects; None where an engine does not have it, with the reason.

    Ours and Flink's are continuous and emit every change. DuckDB's runs once over all rows: what
    it answers is what our result holds at the end where `same` says so.
    """

    name: str
    ours: str
    duckdb: str | None
    flink: str | None
    streams: tuple[str, ...] = ("bids",)
    same: bool = True
    remark: str = ""


BOTH = ("bids", "asks")
LEGS = (("A", "<", "X"), ("B", ">", "A"), ("C", "<", "B"), ("D", ">", "C"))
"""Of a double bottom: each leg, how its prices go, and what is before it."""

SHAPES = (
    Shape(
        "filter",
        "SELECT Istream(item, price, bidder) FROM bids WHERE price > 50;",
        "SELECT item, price, bidder FROM bids WHERE price > 50",
        "SELECT item, price, bidder FROM bids WHERE price > 50",
    ),
    Shape(
        "group by",
        "SELECT STREAMED item, count(*) AS n, sum(price) AS total FROM bids GROUP BY item;",
        "SELECT item, count(*) AS n, sum(price) AS total FROM bids GROUP BY item",
        "SELECT item, count(*) AS n, sum(price) AS total FROM bids GROUP BY item",
    ),
    Shape(
        "hopping window",
        "SELECT STREAMED item, count(*) AS n, sum(price) AS total "
        "FROM bids [Range 10 Seconds Slide 1 Second] GROUP BY item;",
        "SELECT item, time_bucket(INTERVAL 1 SECOND, ts) + to_seconds(hop) AS ending, "
        "count(*) AS n, sum(price) AS total FROM bids, range(1, 11) AS hops(hop) "
        "GROUP BY item, ending",
        "SELECT item, window_end, count(*) AS n, sum(price) AS total FROM TABLE("
        "HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' SECOND, INTERVAL '10' SECOND)) "
        "GROUP BY item, window_start, window_end",
        same=False,
        remark="Ours emits what changes from one window to the next, the others every window "
        "whole; DuckDB has no hopping windows and copies each row into the ten that hold it.",
    ),
    Shape(
        "distinct",
        "SELECT STREAMED DISTINCT item FROM bids;",
        "SELECT DISTINCT item FROM bids",
        "SELECT DISTINCT item FROM bids",
    ),
    Shape(
        "windowed join",
        "SELECT Istream(b.item, b.price, a.price AS asked) "
        "FROM bids [Range 10 Seconds] b, asks [Range 10 Seconds] a WHERE b.item = a.item;",
        "SELECT b.item, b.price, a.price AS asked FROM bids b JOIN asks a ON b.item = a.item "
        "AND b.ts BETWEEN a.ts - INTERVAL 10 SECONDS AND a.ts + INTERVAL 10 SECONDS",
        "SELECT b.item, b.price, a.price AS asked FROM bids b JOIN asks a ON b.item = a.item "
        "AND b.ts BETWEEN a.ts - INTERVAL '10' SECOND AND a.ts + INTERVAL '10' SECOND",
        streams=BOTH,
    ),
    Shape(
        "not exists",
        "SELECT STREAMED b.item, b.bidder FROM bids b WHERE NOT EXISTS "
        "(SELECT * FROM asks a WHERE a.item = b.item AND b.bidder = a.bidder + 1);",
        "SELECT b.item, b.bidder FROM bids b WHERE NOT EXISTS "
        "(SELECT * FROM asks a WHERE a.item = b.item AND b.bidder = a.bidder + 1)",
        "SELECT b.item, b.bidder FROM bids b WHERE NOT EXISTS "
        "(SELECT * FROM asks a WHERE a.item = b.item AND b.bidder = a.bidder + 1)",
        streams=BOTH,
    ),
    Shape(
        "top ten",
        "SELECT STREAMED item, count(*) AS n FROM bids GROUP BY item "
        "ORDER BY n DESC, item LIMIT 10;",
        "SELECT item, count(*) AS n FROM bids GROUP BY item ORDER BY n DESC, item LIMIT 10",
        "SELECT item, n FROM (SELECT item, count(*) AS n FROM bids GROUP BY item) "
        "ORDER BY n DESC, item LIMIT 10",
    ),
    Shape(
        "double bottom",
        "SELECT * FROM bids MATCH_RECOGNIZE (PARTITION BY item MEASURES X.price AS top, "
        "LAST(A.price) AS low, LAST(C.price) AS again, LAST(D.price) AS back "
        "PATTERN (X A+ B+ C+ D+ S) DEFINE A AS price < PREV(price), B AS price > PREV(price), "
        "C AS price < PREV(price), D AS price > PREV(price), S AS price <= PREV(price));",
        None,
        "SELECT * FROM bids MATCH_RECOGNIZE (PARTITION BY item ORDER BY ts MEASURES "
        "X.price AS top, LAST(A.price) AS low, LAST(C.price) AS again, LAST(D.price) AS back "
        "ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (X A+ B+ C+ D+ S) DEFINE "
        + ", ".join(
            f"{leg} AS (LAST({leg}.price, 1) IS NULL AND {leg}.price {sign} LAST({before}.price)) "
            f"OR {leg}.price {sign} LAST({leg}.price, 1)"
            for leg, sign, before in LEGS
        )
        + ", S AS S.price <= LAST(D.price))",
        same=False,
        remark="DuckDB has no MATCH_RECOGNIZE; Flink has no PREV, so its conditions say whether "
        "a row is the first of its leg.",
    ),
    Shape(
        "over rows",
        "SELECT item, avg(price) OVER (PARTITION BY item ROWS 999 PRECEDING) AS mean FROM bids;",
        "SELECT item, avg(price) OVER (PARTITION BY item ORDER BY ts ROWS 999 PRECEDING) AS mean "
        "FROM bids",
        "SELECT item, AVG(price) OVER (PARTITION BY item ORDER BY ts "
        "ROWS BETWEEN 999 PRECEDING AND CURRENT ROW) AS mean FROM bids",
    ),
    Shape(
        "over time",
        "SELECT item, avg(price) OVER (PARTITION BY item RANGE 10 MINUTES PRECEDING) AS mean "
        "FROM bids;",
        "SELECT item, avg(price) OVER (PARTITION BY item ORDER BY ts "
        "RANGE BETWEEN INTERVAL 10 MINUTES PRECEDING AND CURRENT ROW) AS mean FROM bids",
        "SELECT item, AVG(price) OVER (PARTITION BY item ORDER BY ts "
        "RANGE BETWEEN INTERVAL '10' MINUTE PRECEDING AND CURRENT ROW) AS mean FROM bids",
    ),
    Shape(
        "aggregate of one's own",
        "SELECT item, decay_avg(price, 0.9) AS mean FROM bids GROUP BY item;",
        None,
        None,
        remark="DuckDB has no aggregates of one's own; Flink's in Python need packages that are "
        "not installed for this comparison.",
    ),
)
