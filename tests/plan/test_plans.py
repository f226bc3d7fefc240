"""The update pattern of every edge of plans, against a table written by hand from the rules."""

from __future__ import annotations

import pytest

from millstream.algebra.node import walk
from millstream.algebra.pattern import Pattern
from millstream.operators import OPERATORS, Intersect, Join, UnionAll
from millstream.plan.annotate import line_of, outline, with_patterns
from plan.table import Entry, read_table

FIGURE_6 = 2
"""The first entries are the two plans of the paper's figure."""

SCRIPT, ENTRIES = read_table()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: " ".join(entry.query.split()))
def test_every_edge_has_its_pattern(entry: Entry) -> None:
    plan = entry.plan(SCRIPT)
    found = [(line_of(node, depth), node.pattern.name) for depth, node in outline(plan)]
    fits = len(found) == len(entry.lines) and all(
        line.startswith(wanted) for (line, _), (wanted, _) in zip(found, entry.lines)
    )
    assert fits, f"the plan is another one:\n{with_patterns(plan)}"
    wrong = [
        f"{line.strip()}: {pattern}, and {wanted} is expected"
        for (line, pattern), (_, wanted) in zip(found, entry.lines)
        if pattern != wanted
    ]
    assert not wrong, "\n".join([*wrong, "in", with_patterns(plan)])


def test_the_table_is_large_enough() -> None:
    assert len(ENTRIES) >= FIGURE_6 + 40
    assert len({entry.query for entry in ENTRIES if entry.stage == "bound"}) >= FIGURE_6 + 40


def test_the_plans_of_figure_6_differ_only_around_the_negation() -> None:
    left, right = (dict(_stripped(entry)) for entry in ENTRIES[:FIGURE_6])
    assert (left["AntiJoin"], left["Join"]) == ("STR", "WK")
    assert (right["AntiJoin"], right["Join"]) == ("STR", "STR")


def _stripped(entry: Entry) -> list[tuple[str, str]]:
    return [(line.strip(), pattern) for line, pattern in entry.lines]


def test_the_table_has_every_operator_rule_and_combination() -> None:
    plans = [entry.plan(SCRIPT) for entry in ENTRIES]
    nodes = {node for plan in plans for node in walk(plan)}
    assert {type(node) for node in nodes} == set(OPERATORS)
    seen = {(node.label.rule, node.pattern) for node in nodes}
    mon, wks, wk, strict = Pattern
    for rule, given in {1: (wks, wk, strict), 2: (wks, wk, strict), 3: (wk, strict)}.items():
        assert {(rule, pattern) for pattern in given} <= seen
    assert {p for r, p in seen if r == 4} == {wk} and {p for r, p in seen if r == 5} == {strict}
    below = {
        kind: {frozenset(n.pattern for n in node.inputs) for node in nodes if type(node) is kind}
        for kind in (UnionAll, Join, Intersect)
    }
    for pair in ({mon}, {mon, wks}, {wks}, {wks, wk}, {wks, strict}, {wk, strict}):
        assert frozenset(pair) in below[UnionAll]
    for pair in ({mon}, {mon, wks}, {wks}, {wks, wk}, {wk}, {wks, strict}, {mon, strict}):
        assert frozenset(pair) in below[Join]
    for pair in ({mon}, {wks}, {wk}, {wks, strict}):
        assert frozenset(pair) in below[Intersect]


def test_every_label_has_a_reason() -> None:
    for entry in ENTRIES:
        for node in walk(entry.plan(SCRIPT)):
            assert node.label.reason and str(node.label).endswith(node.label.reason)
            assert node.label.rule in (None, 1, 2, 3, 4, 5)
