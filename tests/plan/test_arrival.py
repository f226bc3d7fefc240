"""Where arrival numbers are sent along: wherever an operator behind it looks at them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millstream.algebra.facts import Arrival
from millstream.algebra.node import Node, transform
from millstream.database import Database
from millstream.operators import Exchange, GroupBy
from millstream.plan.distribute import distribute
from millstream.plan.graph import Graph

SCRIPT = "CREATE STREAM bids (t int, item int, price int) ORDER BY t;"


def plan_of(query: str) -> Node:
    session = Database(tell=lambda text: None)
    session.execute(SCRIPT)
    return session.plan_of(session.execute(query)[-1], "optimized")


def needed(plan: Node) -> bool:
    """Whether rows of a plan's only exchange bring their arrival numbers."""
    graph = Graph((distribute(plan),))
    (exchange, *_) = graph.exchanges
    return graph.needs_arrival[exchange]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT STREAMED item, count(*) AS n FROM bids [Range 5] GROUP BY item", False),
        (
            "SELECT STREAMED item, sum(price) AS n FROM bids [Now] WHERE price > 9 GROUP BY item",
            False,
        ),
        ("SELECT STREAMED item, first(price) AS n FROM bids [Range 5] GROUP BY item", False),
        ("SELECT Istream(item) FROM bids [Range 5]", True),
        ("SELECT STREAMED item FROM bids [Rows 3]", True),
    ],
)
def test_what_looks_at_arrivals_gets_them(query: str, wanted: bool) -> None:
    assert needed(plan_of(query)) is wanted


def by_order(node: Node) -> Node:
    """The same groups, with aggregates to which the order of rows matters."""
    if not isinstance(node, GroupBy):
        return node
    ordered = {"order_matters": True, "definition": "by order"}
    calls = [replace(c, aggregate=replace(c.aggregate, **ordered)) for c in node.calls]
    return replace(node, calls=tuple(calls))


def test_an_aggregate_that_depends_on_order_keeps_it() -> None:
    plan = plan_of("SELECT STREAMED item, sum(price) AS n FROM bids [Range 5] GROUP BY item")
    assert not needed(plan)
    assert needed(transform(plan, by_order))


def test_every_operator_says_what_it_does_with_them() -> None:
    session = Database(tell=lambda text: None)
    session.execute(SCRIPT)
    scan = session.catalog.find("bids").scan()
    assert GroupBy((), (), scan).arrival is Arrival.IGNORED
    assert Exchange(None, scan).arrival is Arrival.USED
