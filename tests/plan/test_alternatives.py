"""Plans chosen by cost: what is compared, what is taken, and what is taken again."""

from __future__ import annotations

from pathlib import Path

import pytest

from laws.scale import SCALE
from millstream.algebra.node import Node, walk
from millstream.algebra.pattern import Pattern
from millstream.database import Database
from millstream.engine.outputs import Query
from millstream.local.host import LocalHost
from millstream.operators import AntiJoin, Join, NonRetroactiveJoin, TableScan
from millstream.plan.alternatives import MOST, Alternative, Chooser, alternatives
from millstream.plan.cost import STRATEGIES, cost_of
from millstream.plan.statistics import NOTHING, Statistics
from millstream.plan.text import parse_plan
from millstream.rules import COSTED, Optimizer
from rules.random_plans import trials
from rules.test_rule_laws import assert_same_answers

STREAMS = """
CREATE STREAM a (ts int, k int, v int) ORDER BY ts SOURCE 'a.csv';
CREATE STREAM b (ts int, k int, v int) ORDER BY ts SOURCE 'b.csv';
CREATE STREAM c (ts int, k int, v int) ORDER BY ts SOURCE 'c.csv';
CREATE TABLE rates (k int, rate int) KEY (k) NON RETROACTIVE WITH (time = 'integer');
CREATE TABLE fees (k int, fee int) KEY (k) WITH (time = 'integer');
"""
NEGATION = "NOT EXISTS (SELECT 1 FROM b [Range 50] b WHERE b.k = a.k)"
JOIN = (
    f"SELECT STREAMED a.k, c.v FROM a [Range 50] a, c [Range 50] c WHERE a.k = c.k AND {NEGATION}"
)

LOOKED_UP = """
NonRetroactiveJoin on k = id
  Join k = m
    AntiJoin k = b
      Project k
        Range 5
          Scan a
      Project k as b
        Range 5
          Scan b
    Project k as m
      Range 5
        Scan c
  Project k as id, rate
    TableScan rates
      Scan rates
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in "abc":
        write(tmp_path, name, lambda t, i: i)
    return tmp_path


def write(folder: Path, name: str, key) -> None:
    """Ten rows at each of two hundred instants, whose keys are told."""
    rows = [f"{t},{key(t, i)},{t}" for t in range(1, 201) for i in range(10)]
    (folder / f"{name}.csv").write_text("\n".join(["ts,k,v", *rows]) + "\n")


def database_of(folder: Path, *queries: str) -> Database:
    database = Database(base=str(folder), tell=lambda text: None)
    database.execute(STREAMS + ";".join(queries))
    return database


def measured(folder: Path, *queries: str) -> Statistics:
    database = database_of(folder, *queries)
    database.pin("batch_rows", "100")
    host = LocalHost(database.job(), database.sources(False), [])
    host.run()
    return host.measures.statistics(host.job.graph)


def shape(plan: Node) -> list[str]:
    """The joins and negations of a plan, those above first."""
    return [type(n).__name__ for n in reversed(list(walk(plan))) if isinstance(n, (Join, AntiJoin))]


def the_query(database: Database) -> Query:
    (query,) = database.queries.values()
    return query


def compared(query: Query) -> list[Alternative]:
    optimizer = Optimizer(frozenset())
    return alternatives(optimizer.optimized(query.plan), optimizer, NOTHING)


def test_the_negation_is_pushed_down_by_a_guess_and_stays_up_when_few_rows_are_joined(folder):
    write(folder, "c", lambda t, i: i + 1000 if t % 50 else i)
    query = the_query(database_of(folder, JOIN))
    guessed, knowing = Chooser(), Chooser(statistics=measured(folder, JOIN))
    assert shape(guessed.optimized(query.plan)) == ["Join", "AntiJoin"]
    assert shape(knowing.optimized(query.plan)) == ["AntiJoin", "Join"]


def test_what_runs_is_planned_as_it_runs(folder):
    write(folder, "c", lambda t, i: i + 1000 if t % 50 else i)
    query = the_query(database_of(folder, JOIN))
    guessed, knowing = Chooser(), Chooser(statistics=measured(folder, JOIN))
    before, other = guessed.optimized(query.plan), knowing.optimized(query.plan)
    assert before != other
    for chooser, plan in ((guessed, before), (knowing, other)):
        again = Chooser(frozenset(walk(plan)), measured(folder, JOIN))
        assert again.optimized(query.plan) == plan
        assert again.made == chooser.made


def test_what_is_told_and_what_is_stored_come_from_one_plan(folder):
    query = the_query(database_of(folder, JOIN.replace("STREAMED", "")))
    told, stored = (Chooser().optimized(r) for r in (query.changes_root, query.content_root))
    assert told.inputs == stored.inputs


def test_a_view_is_chosen_once_for_all_who_read_it(folder):
    database = database_of(
        folder, f"CREATE VIEW pairs AS {JOIN}", "SELECT k, count(*) AS n FROM pairs GROUP BY k"
    )
    view, query = database.queries.values()
    chooser = Chooser()
    own = chooser.optimized(view.changes_root, view.views).inputs[0]
    assert shape(own) == ["Join", "AntiJoin"]
    assert own in set(walk(chooser.optimized(query.changes_root, query.views)))


def test_many_sites_are_not_too_many(folder):
    parts = [f"a{i}" for i in range(5)]
    tables = ", ".join(f"a [Range 5] {p}" for p in parts)
    tests = [f"a0.k = {p}.k" for p in parts[1:]]
    tests += [f"NOT EXISTS (SELECT 1 FROM b [Range 5] b WHERE b.k = {p}.v)" for p in parts]
    query = the_query(
        database_of(folder, f"SELECT DISTINCT a0.k FROM {tables} WHERE {' AND '.join(tests)}")
    )
    first, second = Chooser(), Chooser()
    assert first.optimized(query.plan) == second.optimized(query.plan)
    (found,) = first.looked_at.values()
    assert 10 < len(found) <= MOST


@pytest.mark.parametrize("table", ("rates", "fees"))
def test_a_join_with_a_table_never_passes_a_negation_upwards(folder, table):
    """Rows that are joined with a table are not taken back, unless the query says so."""
    database = database_of(
        folder, f"SELECT STREAMED a.k FROM a [Range 5] a, {table} r WHERE a.k = r.k AND {NEGATION}"
    )
    for one in compared(the_query(database)):
        joins = [n for n in walk(one.plan) if isinstance(n, (Join, NonRetroactiveJoin))]
        assert joins
        for join in joins:
            sides = [n for n in join.inputs if not any(isinstance(p, TableScan) for p in walk(n))]
            assert all(side.pattern is not Pattern.STR for side in sides), one.plan.text


def test_a_non_retroactive_join_stays_above_a_negation(folder):
    """What comes back is looked up again then; below, it would have been looked up before."""
    plan = parse_plan(LOOKED_UP, database_of(folder, JOIN).catalog)
    optimizer = Optimizer(frozenset())
    found = alternatives(optimizer.optimized(plan), optimizer, NOTHING)
    assert len(found) > 1
    for one in found:
        (join,) = (n for n in walk(one.plan) if isinstance(n, NonRetroactiveJoin))
        assert any(isinstance(n, AntiJoin) for n in walk(join))


@pytest.mark.slow
@pytest.mark.parametrize("rule", COSTED, ids=lambda rule: rule.__name__)
def test_all_plans_that_are_compared_answer_alike(rule):
    found = 0
    for trial in trials(range(40_000, 40_000 + 30 * SCALE), rule.__name__):
        optimizer = Optimizer(frozenset())
        compared = alternatives(optimizer.optimized(trial.plan), optimizer, NOTHING)[:6]
        for one in compared[1:]:
            done = optimizer.finished(one.plan)
            assert done.schema.equals(trial.plan.schema)
            found += assert_same_answers(trial, done, trial.plan)
    assert found >= 6


def test_every_random_plan_has_a_cost():
    for trial in trials(range(50_000, 50_000 + 25 * SCALE)):
        costs = [cost_of(trial.plan, NOTHING, strategy) for strategy in STRATEGIES]
        assert all(0 <= cost < float("inf") for cost in costs), trial.plan.text
