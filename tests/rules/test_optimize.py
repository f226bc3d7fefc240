"""The optimizer as a whole: parts that several read stay one part, and views keep to themselves."""

from __future__ import annotations

from millstream.algebra.node import Node, walk
from millstream.database import Database
from millstream.engine.outputs import Query
from millstream.operators import GroupBy, Istream, Join, Scan
from millstream.rules import Whole, optimize

STREAMS = """
CREATE STREAM bids (ts int, item varchar, price int, bidder varchar) ORDER BY ts;
CREATE STREAM asks (ts int, item varchar, price int, seller varchar) ORDER BY ts;
"""
DEALS = """
CREATE VIEW deals AS
  SELECT STREAMED b.item, bidder, seller, b.price FROM bids [Range 9] b, asks [Range 9] a
  WHERE b.item = a.item AND b.price >= a.price;
"""


def registered(script: str) -> tuple[Query, ...]:
    database = Database(tell=lambda text: None)
    database.execute(STREAMS + script)
    return tuple(database.queries.values())


def optimized(query: Query) -> Node:
    return optimize(query.plan, query.views)


def parts(plan: Node, kind: type[Node]) -> set[Node]:
    return {node for node in walk(plan) if isinstance(node, kind)}


def test_a_part_that_is_read_twice_is_computed_once():
    (query,) = registered(
        "SELECT STREAMED item FROM bids [Range 5] WHERE price > "
        "(SELECT count(*) FROM asks [Range 5] WHERE asks.price < bids.price)"
    )
    assert len(parts(query.plan, GroupBy)) == 1
    assert len(parts(optimized(query), GroupBy)) == 1
    assert not parts(optimized(query), Whole)


def test_a_query_on_a_view_reads_what_the_view_computes():
    view, query = registered(
        DEALS + "CREATE VIEW cheap AS SELECT STREAMED seller FROM deals WHERE price < 5;"
    )
    assert query.views == (view.plan,)
    assert optimized(view) in set(walk(optimized(query)))
    assert len(parts(optimized(view), Join) | parts(optimized(query), Join)) == 1


def test_a_view_without_state_is_computed_once():
    view, query = registered(
        "CREATE VIEW dear AS SELECT * FROM bids WHERE price > 100;"
        "CREATE VIEW who AS SELECT bidder FROM dear WHERE price < 200;"
    )
    assert optimized(view) in set(walk(optimized(query)))


def test_what_a_view_keeps_is_not_kept_once_more_by_a_stream_of_it():
    _, query = registered(
        "CREATE VIEW dear AS SELECT STREAMED * FROM bids WHERE price > 100;"
        "CREATE VIEW who AS SELECT Istream(bidder) FROM dear;"
    )
    assert not parts(optimized(query), Istream)


def test_columns_that_nobody_reads_do_not_enter_a_join():
    (view,) = registered(DEALS)
    scans = sorted(parts(optimized(view), Scan), key=lambda scan: scan.stream)
    assert [scan.schema.names for scan in scans] == [
        ["item", "price", "seller"],
        ["item", "price", "bidder"],
    ]
    (join,) = parts(optimized(view), Join)
    assert "(item = a.item)" in str(join.condition)
