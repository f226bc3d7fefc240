"""How rows live: what every node says of its rows, and what they do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from millstream.algebra.changes import Changes
from millstream.algebra.lifetime import Ends
from millstream.algebra.node import Node, walk
from millstream.algebra.pattern import Pattern
from millstream.algebra.time import INFINITY, Span
from millstream.operators import OPERATORS, Rows
from millstream.plan.distribute import distribute
from millstream.rules import optimize
from millstream.testing.golden_file import read_golden
from millstream.testing.stage import Definitions
from plan.table import Entry, read_table
from rules.random_plans import made, trials

SCRIPT, ENTRIES = read_table()
GOLDEN = sorted((Path(__file__).parents[2] / "golden").rglob("*.test"))


def check(plan: Node) -> None:
    """The laws of lifetimes, at every node of a plan."""
    for node in walk(plan):
        life = node.lifetime
        assert node.monotonic == (node.pattern is Pattern.MON), node.text
        if node.monotonic:
            assert node.never_retracts and not life.ends_known and not life.transient, node.text
        if node.is_stream:
            assert node.monotonic and life.bounded, node.text
        if life.ends is Ends.GIVEN:
            assert not all(below.is_stream for below in walk(node)), node.text


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: " ".join(entry.query.split()))
def test_the_laws_hold_in_the_table_of_patterns(entry: Entry) -> None:
    check(entry.plan(SCRIPT))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_laws_hold_in_golden_plans(path: Path, tmp_path: Path) -> None:
    defined = Definitions.of(read_golden(path), str(tmp_path))
    for query in defined.database.queries.values():
        bound = query.content_root or query.changes_root
        for plan in (bound, optimize(bound), distribute(optimize(bound))):
            check(plan)


@pytest.mark.slow
def test_the_laws_hold_in_generated_plans(tmp_path: Path) -> None:
    for seed in range(400):
        check(made(seed, str(tmp_path)).plan)


def broken(node: Node, out: Changes, span: Span) -> str | None:
    """What the rows that a node gave do that its lifetime denies.

    A window by rows swaps elements that are made of one row at two instants: they are two to it.
    """
    life, leaving = node.lifetime, out.exp > span.end
    if node.never_retracts and (out.weight < 0).any():
        return "retracts"
    if node.is_stream:
        return None
    if node.monotonic and (out.exp != INFINITY).any():
        return "rows of MON leave"
    if not life.ends_known and (out.exp[leaving] != INFINITY).any():
        return "ends are known"
    hidden = any(below.removes_copies or not below.inputs for below in walk(node))
    if life.transient and not hidden and (out.exp == INFINITY).any():
        return "rows stay for good"
    swaps = any(isinstance(below, Rows) and not below.input.has_arrival for below in walk(node))
    if life.consolidated and not swaps and not _is_consolidated(out):
        return "a row both enters and leaves"
    return None


def _is_consolidated(out: Changes) -> bool:
    """No row is retracted at the instant at which it enters."""
    values = map(str, out.rows.to_pylist()) if out.schema.names else [""] * len(out)
    known = list(zip(out.ts.tolist(), out.seq.tolist(), values))
    entered = {known[i] for i in np.flatnonzero(out.weight > 0)}
    return not any(known[i] in entered for i in np.flatnonzero(out.weight < 0))


@pytest.mark.slow
def test_rows_live_as_their_operators_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Generated plans run, and what every operator gives is held against its lifetime."""
    found: dict[str, str] = {}
    seen: set[type[Node]] = set()

    def watched(step: Callable) -> Callable:
        def stepped(node: Node, state: object, *given: object) -> tuple:
            after, out = step(node, state, *given)
            if len(out):
                seen.add(type(node))
                fault = broken(node, out, given[-1])
                if fault is not None:
                    found.setdefault(f"{type(node).__name__}: {fault}", node.text)
            return after, out

        return stepped

    for operator in OPERATORS:
        monkeypatch.setattr(operator, "step", watched(operator.step))
    for trial in trials(range(60)):
        trial.answers(trial.plan)
    assert not found, "\n".join(f"{fault} in\n{text}" for fault, text in found.items())
    assert len(seen) > 20
