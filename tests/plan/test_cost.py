"""What plans are said to cost, and how that is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.algebra.node import Node, walk
from millstream.cli.explaining import explain_script
from millstream.database import Database
from millstream.operators import AntiJoin, DeltaStar, Distinct, GroupBy, Join, Tagged
from millstream.plan.alternatives import Chooser
from millstream.plan.cost import DIRECT, NEGATIVE, UPDATE_PATTERN, Costs
from millstream.plan.explain_cost import number
from millstream.plan.names import name_of
from millstream.plan.statistics import NOTHING, RowRates, Statistics

STREAMS = """
CREATE STREAM a (ts timestamp, k int, v int) ORDER BY ts;
CREATE STREAM b (ts timestamp, k int, v int) ORDER BY ts;
"""
PAIRS = (
    "SELECT STREAMED a.v, b.v FROM a [Range 10 Seconds] a, b [Range 10 Seconds] b WHERE a.k = b.k"
)
LATER = (
    "SELECT STREAMED b.v FROM (SELECT k FROM a [Range 9 Seconds] a WHERE NOT EXISTS "
    "(SELECT 1 FROM b [Range 9 Seconds] b WHERE a.k = b.k)) x, b [Range 9 Seconds] b "
    "WHERE b.v = x.k"
)


def optimized(query: str) -> Node:
    session = Database(tell=lambda text: None)
    session.execute(STREAMS + query)
    (found,) = session.queries.values()
    return Chooser().optimized(found.changes_root, found.views)


def only(costs: Costs, kind: type[Node]) -> Node:
    (found,) = (node for node in walk(costs.plan) if isinstance(node, kind))
    return found


def cost_in(query: str, kind: type[Node], strategy: str, statistics: Statistics = NOTHING) -> float:
    costs = Costs.of(optimized(query), statistics, strategy)
    return costs.cost(only(costs, kind))


def test_negative_tuples_are_twice_as_many_rows():
    twice = cost_in(PAIRS, Join, NEGATIVE) / cost_in(PAIRS, Join, UPDATE_PATTERN)
    assert twice == pytest.approx(2.0)


def test_a_list_costs_by_the_window_and_a_calendar_does_not():
    wide = PAIRS.replace("10 Seconds", "10 Hours")

    def ends(text: str, strategy: str) -> float:
        costs = Costs.of(optimized(text), NOTHING, strategy)
        return costs.kept(only(costs, Tagged))

    assert ends(wide, DIRECT) > 100 * ends(PAIRS, DIRECT)
    assert ends(wide, UPDATE_PATTERN) == pytest.approx(ends(PAIRS, UPDATE_PATTERN))


def test_delta_star_is_used_and_counted_where_nothing_is_taken_back():
    query = "SELECT STREAMED DISTINCT k FROM a [Range 1 Hour]"
    assert cost_in(query, DeltaStar, UPDATE_PATTERN) < cost_in(query, Distinct, DIRECT)


def test_what_a_negation_takes_back_is_taken_back_all_the_way_up():
    plan = optimized(LATER)
    costs = Costs.of(plan, NOTHING)
    back = {type(node): costs.rates.rates_of(node).back for node in walk(costs.plan)}
    assert back[AntiJoin] > 0 and back[Join] > 0
    (negation,) = (node for node in walk(costs.plan) if isinstance(node, AntiJoin))
    known = costs.rates.rates_of(negation)
    more = Statistics({name_of(negation): RowRates(known.rate, 50 * known.rate, known.size, 1e-6)})
    assert Costs.of(plan, more).cost(only(costs, Join)) > 10 * costs.cost(only(costs, Join))


def test_what_is_measured_takes_the_place_of_guesses():
    query = "SELECT STREAMED k, count(*) AS n FROM a [Range 10 Seconds] GROUP BY k"
    plan = optimized(query)
    scan = next(iter(walk(plan)))
    rare = Statistics({name_of(scan): RowRates(1e-6, 0.0, None, 1e-6)})
    assert cost_in(query, GroupBy, UPDATE_PATTERN, rare) < (
        cost_in(query, GroupBy, UPDATE_PATTERN) / 100
    )


def test_names_are_those_of_what_is_computed():
    low = optimized("SELECT STREAMED a.k FROM a [Range 9 Seconds] a, b [Now] b WHERE a.k = b.k")
    high = optimized("SELECT STREAMED b.v FROM b [Now] b, a [Range 9 Seconds] a WHERE b.k = a.k")
    other = optimized("SELECT STREAMED b.v FROM b [Now] b, a [Range 8 Seconds] a WHERE b.k = a.k")
    assert name_of(low.inputs[0]) == name_of(high.inputs[0]) != name_of(other.inputs[0])


def test_explain_cost_marks_what_was_chosen_and_the_strategy_that_is_set(tmp_path: Path):
    told: list[str] = []
    session = Database(tell=told.append)
    session.execute(f"{STREAMS}SET strategy = direct; EXPLAIN COST {LATER}")
    (text,) = told
    lines = text.splitlines()
    assert lines[0] == "-- query: streamed, cost"
    costs = [line for line in lines if line.endswith(("<- chosen", "<- set"))]
    assert [line.split()[2] for line in costs] == ["as", "direct"]
    assert any("pull_negation_above_join" in line for line in lines)
    assert sum(line.endswith(" guessed") for line in lines) > 10
    script = tmp_path / "script.sql"
    script.write_text(f"{STREAMS}CREATE VIEW later AS {LATER};")
    assert "-- later: streamed, cost" in explain_script(script, "cost", None, None, None, ())


def test_numbers_have_three_figures():
    assert [number(v) for v in (0.0, 0.012345, 12.345, 99.99, 123.4, 1234567.0)] == [
        "0", "0.0123", "12.3", "100", "123", "1,230,000",
    ]  # fmt: skip
