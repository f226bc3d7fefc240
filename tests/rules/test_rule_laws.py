"""The law of every rule: with it or without, the same answers; and plan text, printed and read."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from oracle.generate import random_case, write

from millstream.algebra.expressions import Call
from millstream.algebra.node import Node, map_inputs
from millstream.engine import job
from millstream.operators import Filter
from millstream.plan.distribute import distribute
from millstream.plan.text import parse_plan
from millstream.rules import RULES, optimize
from millstream.session import Session
from millstream.testing import run_script
from millstream.testing.results import BAG, STREAM, TAGGED, Shape, difference, rows_of

pytestmark = pytest.mark.slow

SEEDS = range(400)
FIRINGS = 25
"""How often a rule must have applied for its law to count as tested."""


def session_of(script: str, folder: str) -> Session:
    session = Session(base=folder, tell=lambda text: None)
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
    "stream_now_as_elements": RULES[0],
    "merge_filters": split_filters,
}
"""What is done to plans first, so that a rule finds something to do."""


def shape_of(name: str, session: Session, table) -> Shape:
    """How a result is compared: streams by time, everything else as a bag."""
    query = session.queries.get(name.removesuffix(".changes"))
    if query is None or (query.form == "complete" and not name.endswith(".changes")):
        return Shape(BAG, table.schema)
    return Shape(STREAM if query.form == "stream" else TAGGED, table.schema)


def different(with_rule, without, session: Session) -> list[str]:
    assert with_rule.keys() == without.keys()
    found = []
    for name, table in without.items():
        shape = shape_of(name, session, table)
        wrong = difference(shape, rows_of(shape, table), rows_of(shape, with_rule[name]))
        found += [f"{name}: {wrong}"] if wrong else []
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_answers_are_the_same_with_the_rule_and_without(rule, monkeypatch):
    def prepared(plan: Node) -> Node:
        first = PREPARED.get(rule.__name__)
        return plan if first is None else applied(first, plan)

    fired = 0
    for seed in SEEDS:
        if fired >= FIRINGS:
            break
        with tempfile.TemporaryDirectory() as folder:
            script = write(random_case(seed), Path(folder)).read_text()
            session = session_of(script, folder)
            plans = [prepared(q.changes_root) for q in session.queries.values()]
            if all(applied(rule, plan) == plan for plan in plans):
                continue
            fired += 1
            monkeypatch.setattr(job, "optimize", prepared)
            without = run_script(script, folder)
            monkeypatch.setattr(job, "optimize", lambda plan: applied(rule, prepared(plan)))
            wrong = different(run_script(script, folder), without, session)
        assert not wrong, f"seed {seed}\n{script}\n{wrong[0]}"
    assert fired >= FIRINGS, f"{rule.__name__} applied to {fired} cases only"


def test_generated_plans_are_read_as_they_are_printed():
    for seed in SEEDS:
        case = random_case(seed)
        with tempfile.TemporaryDirectory() as folder:
            session = session_of(write(case, Path(folder)).read_text(), folder)
        for query in session.queries.values():
            for plan in (query.changes_root, distribute(optimize(query.changes_root))):
                assert parse_plan(plan.text, session.catalog) == plan, plan.text
