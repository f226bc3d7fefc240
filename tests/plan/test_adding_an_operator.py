"""The operator of docs/design/adding-an-operator.md: added, run and removed as the page says."""

from __future__ import annotations

import importlib
import re
import sys
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from millstream import operators
from millstream.algebra.node import Node
from millstream.algebra.pattern import Pattern
from millstream.algebra.time import Domain
from millstream.database import Database
from millstream.engine.job import Job
from millstream.engine.outputs import STREAMED, Query
from millstream.local.host import LocalHost
from millstream.operators import Project
from millstream.operators.project import handed_on
from millstream.plan.bounds import bound
from millstream.plan.cost import cost_of
from millstream.plan.statistics import NOTHING
from millstream.plan.text import parse_plan
from millstream.rules import optimize
from millstream.testing.golden import check_golden
from millstream.testing.run import KeptResults
from plan.operator_tables import TABLES, complaints_about_facts

PAGE = Path(__file__).parents[2] / "docs" / "design" / "adding-an-operator.md"
BLOCKS = re.findall(r"^```(\w+) ([^\n]+)\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
TEXTS = {name: text for kind, name, text in BLOCKS if kind == "text"}
CODE = [(name, text) for kind, name, text in BLOCKS if kind == "python"]
ENTRY = re.compile(r"^(\w+) = [({]\n    …\n    Shift(?:: (.+))?,\n[)}]$", re.M)


def complaints() -> list[str]:
    """What the tests of tables and facts say."""
    every = operators.OPERATORS
    return [*complaints_about_facts(every), *(c for t in TABLES for c in t.complaints(every))]


@cache
def written() -> types.ModuleType:
    """The operator's file, as a module: one for all tests, since plans are kept by equality."""
    (file, text), *_ = CODE
    assert file == "operators/shift.py"
    module = types.ModuleType("millstream.operators.shift")
    sys.modules[module.__name__] = module
    exec(text, vars(module))
    return module


def define(monkeypatch: pytest.MonkeyPatch) -> type[Node]:
    """Add the operator's file, and its line in OPERATORS."""
    listed, line = CODE[1]
    assert listed == "operators/__init__.py" and ENTRY.search(line)
    shift: type[Node] = written().Shift
    monkeypatch.setattr(operators, "OPERATORS", (*operators.OPERATORS, shift))
    return shift


def enter(monkeypatch: pytest.MonkeyPatch, shift: type[Node], file: str, text: str) -> None:
    """Write what a block has into the table that it names."""
    module = importlib.import_module(f"millstream.{file.removesuffix('.py').replace('/', '.')}")
    found = ENTRY.search(text)
    assert found is not None
    scope = {**vars(module), "Shift": shift}
    exec(text[: found.start()], scope)
    monkeypatch.setitem(getattr(module, found[1]), shift, eval(found[2], scope))


@pytest.fixture(scope="module", autouse=True)
def removed() -> Iterator[None]:
    """Afterwards there is no such file."""
    yield
    sys.modules.pop("millstream.operators.shift", None)


@pytest.fixture
def shift() -> Iterator[type[Node]]:
    """The operator, as long as the test runs."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        made = define(monkeypatch)
        for file, text in CODE[2:]:
            enter(monkeypatch, made, file, text)
        yield made


@pytest.fixture
def session(tmp_path: Path) -> Database:
    (tmp_path / "bids.csv").write_text(TEXTS["rows"])
    made = Database(base=str(tmp_path), tell=lambda text: None)
    made.execute("CREATE STREAM bids (ts int, item string) ORDER BY ts SOURCE 'bids.csv';")
    return made


def test_tests_say_what_to_write_and_are_content_when_it_is_written() -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        shift = define(monkeypatch)
        assert complaints() == TEXTS["complaints"].splitlines()
        for left, (file, text) in enumerate(CODE[2:], 1):
            enter(monkeypatch, shift, file, text)
            assert len(complaints()) == len(TABLES) - left
    assert not complaints() and "shift" not in str(operators.OPERATORS).lower()


def test_an_operator_that_does_not_say_how_its_rows_live_is_named(shift: type[Node]) -> None:
    bare = type("Bare", (shift,), {"lives": Node.lives})
    (complaint,) = complaints_about_facts((*operators.OPERATORS, bare))
    assert complaint.startswith("Bare has no method `lives`: write how its rows live")


def test_it_stands_in_plan_text_and_golden_files(
    shift: type[Node], session: Database, tmp_path: Path
) -> None:
    plan = parse_plan(TEXTS["plan"], session.catalog)
    assert type(plan) is shift and plan.text == TEXTS["plan"].rstrip()
    golden = tmp_path / "shift.test"
    golden.write_text(TEXTS["golden"])
    assert not check_golden(golden)


def test_all_that_is_known_of_operators_is_known_of_it(
    shift: type[Node], session: Database
) -> None:
    plan = parse_plan(TEXTS["plan"], session.catalog)
    assert plan.pattern is Pattern.WKS and plan.never_retracts and plan.lifetime.transient
    assert bound(plan, plan.state_parts[0]) == "rows of bids in the last 3 instants"
    assert cost_of(plan, NOTHING) > 0
    whole = parse_plan(TEXTS["plan"].replace("(item)", "(ts, item)"), session.catalog)
    narrow = optimize(Project(handed_on(whole.schema, ["item"]), whole))
    assert narrow == plan


@pytest.mark.parametrize("strategy", ["update_pattern", "direct", "negative"])
@pytest.mark.parametrize("batch_rows", ["1", "2", "100"])
def test_it_runs(
    shift: type[Node], session: Database, tmp_path: Path, strategy: str, batch_rows: str
) -> None:
    plan = parse_plan(TEXTS["plan"], session.catalog)
    settings = session.settings
    for name, value in (("strategy", strategy), ("batch_rows", batch_rows), ("buckets", "3")):
        settings = settings.with_value(name, value)
    query = Query("q", plan, STREAMED, Domain.INTEGER)
    job = Job(session.job(frozenset()).streams, (query,), settings)
    kept = KeptResults()
    host = LocalHost(job, session.sources(False), [kept])
    while not host.is_done:
        host.batch()
        host = host.restarted(tmp_path / "checkpoint", None)
    host.finish()
    rows = kept.tables()["q"].to_pylist()
    found = [",".join(str(value) for value in row.values()) for row in rows]
    assert found == TEXTS["changes"].splitlines()
