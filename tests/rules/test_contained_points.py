"""Which syncs contain which: by hand, half of them traps; and against the points themselves."""

from __future__ import annotations

import random

import pytest

from millstream.algebra.node import Node
from millstream.algebra.points import Points
from millstream.catalog import View
from millstream.database import Database
from millstream.operators.clocked import points_of
from millstream.rules.contained_points import contains

SCRIPT = """
CREATE STREAM s (t int, item string, price int) ORDER BY t;
CREATE STREAM r (t int, price int) ORDER BY t;
"""
CLOCK = "SELECT Timepoint FROM clockStr WHERE "
EVENTS = "SELECT t FROM s WHERE "
YES, NO = True, False
PAIRS = [
    ("Timepoint % 4 = 0", "Timepoint % 2 = 0", YES),
    ("Timepoint % 2 = 0", "Timepoint % 4 = 0", NO),
    ("Timepoint % 6 = 1", "Timepoint % 3 = 1", YES),
    ("Timepoint % 6 = 1", "Timepoint % 3 = 2", NO),
    ("Timepoint % 6 = 0", "Timepoint % 2 = 0 AND Timepoint % 3 = 0", YES),
    ("Timepoint % 2 = 0 AND Timepoint % 3 = 0", "Timepoint % 6 = 0", YES),
    ("Timepoint % 5 = 0", "Timepoint % 2 = 0 OR Timepoint % 5 = 0", YES),
    ("Timepoint % 2 = 0 OR Timepoint % 5 = 0", "Timepoint % 5 = 0", NO),
    ("Timepoint % 4 IN (1, 3)", "Timepoint % 2 = 1", YES),
    ("Timepoint % 2 = 1", "Timepoint % 4 IN (1, 3)", YES),
    ("Timepoint % 2 = 1", "Timepoint % 4 IN (1, 2)", NO),
    ("Timepoint > 10", "Timepoint >= 10", YES),
    ("Timepoint >= 10", "Timepoint > 10", NO),
    ("Timepoint % 3 = 0 AND Timepoint < 9", "Timepoint <= 6 AND Timepoint % 3 = 0", YES),
    ("Timepoint % 3 = 0 AND Timepoint <= 9", "Timepoint <= 6 AND Timepoint % 3 = 0", NO),
    ("Timepoint IN (4, 8, 12)", "Timepoint % 4 = 0", YES),
    ("Timepoint IN (4, 8, 13)", "Timepoint % 4 = 0", NO),
    ("NOT Timepoint % 3 = 0", "Timepoint % 3 <> 0", YES),
    ("Timepoint % 10 = 0", "Timepoint % 4 <> 2", NO),
    ("Timepoint % 12 = 0", "Timepoint % 4 <> 2", YES),
]
EVENT_PAIRS = [
    (EVENTS + "price > 30", EVENTS + "price > 20", YES),
    (EVENTS + "price > 20", EVENTS + "price > 30", NO),
    (EVENTS + "price > 30 AND item = 'pen'", EVENTS + "price > 20", YES),
    (EVENTS + "price > 30 OR item = 'pen'", EVENTS + "price > 20", NO),
    (EVENTS + "price > 30", "SELECT t FROM s", YES),
    ("SELECT t FROM s", EVENTS + "price > 30", NO),
    ("SELECT t FROM r WHERE price > 30", EVENTS + "price > 20", NO),
    (EVENTS + "price = 7", EVENTS + "price BETWEEN 5 AND 9", YES),
    (EVENTS + "price = 4", EVENTS + "price BETWEEN 5 AND 9", NO),
    (EVENTS + "t % 4 = 0", CLOCK + "Timepoint % 2 = 0", YES),
    (EVENTS + "t % 4 = 0 AND price > 3", CLOCK + "Timepoint % 2 = 0", YES),
    (EVENTS + "t % 3 = 0", CLOCK + "Timepoint % 2 = 0", NO),
    (EVENTS + "price % 4 = 0", CLOCK + "Timepoint % 2 = 0", NO),
    (CLOCK + "Timepoint % 2 = 0", EVENTS + "t % 2 = 0", NO),
    (EVENTS + "price > 30", EVENTS + "price > 50 UNION " + EVENTS + "price > 20", YES),
    (EVENTS + "price > 10", EVENTS + "price > 50 UNION " + EVENTS + "price > 20", NO),
    (EVENTS + "price > 50 UNION " + EVENTS + "price > 20", EVENTS + "price > 20", YES),
    (EVENTS + "price > 50 UNION " + EVENTS + "price > 20", EVENTS + "price > 30", NO),
    ("SELECT TS FROM R(s) WHERE price > 30", "SELECT TS FROM R(s) WHERE price > 20", YES),
    ("SELECT t FROM s [Range 5] WHERE price > 30", "SELECT t FROM r", NO),
]


def plan_of(query: str) -> Node:
    database = Database(tell=lambda text: None)
    database.execute(f"{SCRIPT} CREATE VIEW p AS {query};")
    view = database.contents.catalog.find("p")
    assert isinstance(view, View)
    return view.plan


def clock_of(query: str) -> Points | Node:
    plan = plan_of(query)
    return points_of(plan) or plan


@pytest.mark.parametrize(("inner", "outer", "verdict"), PAIRS)
def test_syncs_of_the_clock(inner: str, outer: str, verdict: bool) -> None:
    assert contains(clock_of(CLOCK + outer), clock_of(CLOCK + inner)) is verdict


@pytest.mark.parametrize(("inner", "outer", "verdict"), EVENT_PAIRS)
def test_syncs_of_events(inner: str, outer: str, verdict: bool) -> None:
    assert contains(clock_of(outer), clock_of(inner)) is verdict


def test_a_sync_contains_itself() -> None:
    for query in ("SELECT t FROM s [Range 5]", EVENTS + "price > 3", CLOCK + "Timepoint % 7 = 3"):
        plan = plan_of(query)
        assert contains(plan, plan)


def test_what_is_contained_has_no_other_points() -> None:
    rng, found = random.Random(7), 0
    for _ in range(60):
        made = []
        for _ in range(2):
            parts = [f"Timepoint % {rng.choice((2, 3, 4, 6))} = {rng.randrange(3)}"]
            parts.append(f"Timepoint {rng.choice(('<', '>='))} {rng.randrange(30)}")
            made.append(clock_of(CLOCK + rng.choice((" AND ", " OR ")).join(parts)))
        one, other = made
        inside = set(other.within(-50, 100).tolist()) <= set(one.within(-50, 100).tolist())
        assert contains(one, other) == inside
        found += inside
    assert found > 3
