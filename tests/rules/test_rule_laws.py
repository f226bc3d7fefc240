"""The law of every rule: with it or without, the same answers; and plan text, printed and read."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

from laws.scale import SCALE
from millstream import rules
from millstream.algebra.expressions import Call
from millstream.algebra.node import Node, map_inputs, walk
from millstream.database import Database
from millstream.operators import Filter
from millstream.plan.distribute import distribute
from millstream.plan.text import parse_plan
from millstream.rules import OTHER_WAY, RULES, optimize
from millstream.rules.push_filter_below_window import push_filter_below_window
from millstream.rules.reduce_unbounded_to_now import reduce_unbounded_to_now
from oracle.generate import random_case, write
from rules.random_plans import Trial, trials

pytestmark = pytest.mark.slow

SEEDS = range(2_000)
FIRINGS = 5 * SCALE
"""How often a rule must have applied, to plans with an answer, for its law to count as tested."""

STEPS_PER_NODE = 20
"""The optimizer comes to an end well before it has applied this many rules for each operator."""


def session_of(script: str, folder: str) -> Database:
    session = Database(base=folder, tell=lambda text: None)
    session.execute(script)
    return session


def applied(rule, plan: Node) -> Node:
    """The plan with one rule applied wherever it can be, inputs first, until nothing changes."""
    plan = map_inputs(plan, lambda child: applied(rule, child))
    changed = rule(plan)
    return plan if changed is None else applied(rule, changed)


def split_filters(node: Node) -> Node | None:
    """What merge_filters takes back: nobody writes two filters in a row."""
    match node:
        case Filter(condition=Call(function="and", arguments=(left, right)), input=source):
            return Filter(right, Filter(left, source))
    return None


PREPARED = {
    "stream_now_as_elements": reduce_unbounded_to_now,
    "merge_filters": split_filters,
    "pull_filter_above_window": push_filter_below_window,
}
"""What is done to plans first, so that a rule finds something to do."""

TIES = ("read_clock_as_now",)
"""Rules after which rows of one instant come in the order of arrival, not of their values."""


def assert_same_outside(new: Node, old: Node) -> None:
    assert new.schema.equals(old.schema)
    assert new.is_stream == old.is_stream


def assert_same_answers(trial: Trial, new: Node, old: Node, ties: bool = False) -> bool:
    """True when there was an answer to compare. `ties` says that rows of one instant may come in
    another order."""
    after, before = trial.answers(new, old)
    if ties:
        after, before = (
            t.sort_by([(n, "ascending") for n in t.schema.names]) for t in (after, before)
        )
    assert shown(after) == shown(before), f"seed {trial.seed}\n{old.text}"
    return before.num_rows > 0


def shown(table: pa.Table) -> str:
    """The rows in their order; which of two equal zeros is shown is nobody's business."""
    return str(table.to_pydict()).replace("-0.0", "0.0")


@pytest.mark.parametrize("rule", (*RULES, *OTHER_WAY), ids=lambda rule: rule.__name__)
def test_answers_are_the_same_with_the_rule_and_without(rule):
    fired = 0
    for trial in trials(SEEDS, rule.__name__):
        if fired >= FIRINGS:
            break
        first = PREPARED.get(rule.__name__)
        plan = trial.plan if first is None else applied(first, trial.plan)
        changed = applied(rule, plan)
        if changed != plan:
            assert_same_outside(changed, plan)
            fired += assert_same_answers(trial, changed, plan, rule.__name__ in TIES)
    assert fired >= FIRINGS, f"{rule.__name__} applied to {fired} plans only"


def test_answers_are_the_same_with_all_rules_and_without():
    for trial in trials(range(10_000, 10_000 + 70 * SCALE)):
        changed = optimize(trial.plan)
        assert_same_outside(changed, trial.plan)
        assert_same_answers(trial, changed, trial.plan)


def test_the_optimizer_comes_to_an_end(monkeypatch):
    fired = 0

    def counted(rule):
        def apply(node: Node) -> Node | None:
            nonlocal fired
            changed = rule(node)
            fired += changed is not None
            return changed

        return apply

    monkeypatch.setattr(rules, "MAIN", tuple(counted(rule) for rule in rules.MAIN))
    monkeypatch.setattr(rules, "KEYED", ())  # their projections keep joins where they stand
    for trial in trials(range(20_000, 20_000 + 200 * SCALE)):
        fired = 0
        done = optimize(trial.plan)
        assert fired <= STEPS_PER_NODE * len(list(walk(trial.plan))), trial.plan.text
        assert optimize(done) == done, f"a second time does more\n{trial.plan.text}"


def test_random_plans_are_read_as_they_are_printed():
    for trial in trials(range(30_000, 30_000 + 100 * SCALE)):
        for plan in (trial.plan, distribute(optimize(trial.plan))):
            assert parse_plan(plan.text, trial.session.catalog) == plan, plan.text


def test_generated_queries_are_read_as_they_are_printed():
    for seed in range(200):
        case = random_case(seed)
        with tempfile.TemporaryDirectory() as folder:
            session = session_of(write(case, Path(folder)).read_text(), folder)
        for query in session.queries.values():
            for plan in (query.changes_root, distribute(optimize(query.changes_root))):
                assert parse_plan(plan.text, session.catalog) == plan, plan.text
