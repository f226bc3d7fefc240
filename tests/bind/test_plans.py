"""The shapes of plans: what makes a row another one, and when the time of a query begins."""

from __future__ import annotations

import time

import pytest

from errors.cases import database
from millstream.algebra.node import Node, walk
from millstream.database import Database
from millstream.operators import (
    AntiJoin,
    GroupBy,
    Istream,
    Join,
    LookupJoin,
    SemiJoin,
    TableScan,
    UnionAll,
)

ROWS_STAY = [
    "SELECT item FROM bids [Now] WHERE item IN (SELECT item FROM hot)",
    "SELECT item FROM bids [Now] WHERE item NOT IN (SELECT item FROM hot)",
    "SELECT item FROM bids [Now] b WHERE EXISTS (SELECT * FROM hot h WHERE h.bids > b.price)",
    "SELECT item FROM bids [Now] WHERE price > (SELECT max(bids) FROM hot)",
    "SELECT item FROM bids [Now] b WHERE price > (SELECT max(bids) FROM hot WHERE item = b.item)",
    "SELECT item FROM bids [Now] WHERE price > ALL (SELECT bids FROM hot)",
    "SELECT item FROM bids [Now] WHERE item = 3 OR item IN (SELECT item FROM hot)",
    "SELECT item FROM bids [Now] WHERE (SELECT count(*) FROM hot) > (SELECT count(*) FROM cheap)",
]


def plan_of(query: str) -> Node:
    return database().execute(query)[-1].plan


def kinds(plan: Node) -> set[type]:
    return {type(node) for node in walk(plan)}


@pytest.mark.parametrize("query", ROWS_STAY)
def test_conditions_keep_the_rows_themselves(query: str) -> None:
    """Whatever subqueries are in them, the rows of FROM are filtered, not joined."""
    node = plan_of(query).inputs[0]
    while isinstance(node, (SemiJoin, AntiJoin)):
        node = node.left
    assert not kinds(node) & {Join, SemiJoin, AntiJoin, UnionAll}


def test_a_condition_that_is_unknown_without_rows_needs_no_domain() -> None:
    plan = plan_of(ROWS_STAY[4])
    assert UnionAll not in kinds(plan)


def test_static_tables_are_looked_up_wherever_they_stand() -> None:
    for source in ("bids [Now] b, items i", "items i, bids [Now] b", "items i JOIN bids [Now] b"):
        on = "ON" if "JOIN" in source else "WHERE"
        plan = plan_of(f"SELECT b.item FROM {source} {on} b.item = i.item")
        (lookup,) = [node for node in walk(plan) if isinstance(node, LookupJoin)]
        assert (lookup.left_keys, lookup.right_keys) == (("item",), ("item",))
        assert Join not in kinds(plan)


def test_time_begins_with_all_streams_of_a_query() -> None:
    plan = plan_of("SELECT item, (SELECT count(*) FROM logins) AS n FROM bids [Now]")
    (count,) = [node for node in walk(plan) if isinstance(node, GroupBy)]
    assert count.since == ("bids", "logins")
    (table,) = [
        n
        for n in walk(plan_of("SELECT * FROM items LEFT JOIN bids USING (item)"))
        if isinstance(n, TableScan)
    ]
    assert table.since == ("bids",)


def test_what_rests_on_all_streams_is_not_told() -> None:
    plan = plan_of("SELECT item FROM bids [Now] WHERE price > (SELECT avg(price) FROM bids)")
    assert [node.since for node in walk(plan) if isinstance(node, GroupBy)] == [()]


def test_views_keep_the_beginning_of_their_own_time() -> None:
    script = "CREATE VIEW many AS SELECT count(*) AS n FROM bids; SELECT n FROM many, logins [Now]"
    plan = plan_of(script)
    assert [node.since for node in walk(plan) if isinstance(node, GroupBy)] == [()]


@pytest.mark.parametrize(
    ("query", "grows"),
    [
        ("SELECT DISTINCT item FROM bids", True),
        ("SELECT b.item FROM bids b JOIN cheap c ON b.item = c.item", True),
        ("SELECT item FROM bids UNION SELECT item FROM cheap", True),
        ("SELECT item FROM bids INTERSECT ALL SELECT item FROM cheap", True),
        ("SELECT item FROM bids WHERE item IN (SELECT item FROM cheap)", True),
        ("SELECT item FROM bids WHERE item IN (SELECT item FROM items)", True),
        ("SELECT b.item FROM bids b LEFT JOIN items i ON i.item = b.item", True),
        ("SELECT b.item FROM bids b LEFT JOIN cheap c ON b.item = c.item", False),
        ("SELECT item FROM bids EXCEPT SELECT item FROM cheap", False),
        ("SELECT item FROM bids WHERE item NOT IN (SELECT item FROM cheap)", False),
        ("SELECT item FROM bids WHERE price > (SELECT max(price) FROM cheap)", False),
        ("SELECT item FROM bids ORDER BY price LIMIT 3", False),
    ],
)
def test_monotonicity_decides_about_the_default(query: str, grows: bool) -> None:
    assert isinstance(plan_of(query), Istream) is grows


def test_a_latent_stream_may_be_joined_with_itself() -> None:
    plan = plan_of("SELECT c.url FROM clicks [Rows 5] c JOIN clicks [Rows 9] d ON c.url = d.url")
    assert Join in kinds(plan)


def test_order_by_without_limit_is_told_to_have_no_effect() -> None:
    (query,) = database().execute("SELECT item FROM bids [Now] ORDER BY price")
    assert any("ORDER BY without LIMIT has no effect" in n.message for n in query.notices)


def test_views_that_double_are_planned_once() -> None:
    """A view that reads the one before twice has 2ⁿ ways to the stream, and n operators."""
    doubled = [
        f"CREATE VIEW v{i} AS SELECT * FROM v{i - 1} UNION ALL SELECT * FROM v{i - 1};"
        for i in range(1, 23)
    ]
    whole = Database(tell=lambda text: None)
    started = time.process_time()
    whole.execute(
        "CREATE STREAM bids (ts int, item int) ORDER BY ts;"
        "CREATE VIEW v0 AS SELECT item FROM bids [Range 5];"
        + "".join(doubled)
        + "SELECT STREAMED item, count(*) AS n FROM v22 GROUP BY item;"
    )
    graph = whole.job().graph
    assert len(graph.nodes) < 200 and graph.landings and graph.needs_arrival and graph.distributions
    assert graph.roots[0].fingerprint and time.process_time() - started < 5
