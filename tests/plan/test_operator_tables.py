"""What is known of operators is complete: every table has every operator."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from millstream import operators
from millstream.algebra.by_operator import entry_for
from millstream.operators import OPERATORS, Filter, Scan
from millstream.plan.cost import COSTS
from plan.operator_tables import TABLES, OperatorTable, complaints_about_facts

SOURCE = Path(__file__).parents[2] / "src" / "millstream"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_table_has_every_operator(table: OperatorTable) -> None:
    assert set(table.entries) == set(OPERATORS), "\n".join(table.complaints(OPERATORS))


def test_every_operator_says_how_its_rows_live() -> None:
    missing = complaints_about_facts(OPERATORS)
    assert not missing, "\n".join(missing)


def test_every_table_by_operators_is_tested() -> None:
    """A dict of which most keys are operators is a table by operators."""
    names = {operator.__name__ for operator in OPERATORS}
    found = set()
    for path in (*(SOURCE / "plan").glob("*.py"), *(SOURCE / "rules").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
                keys = [key.id for key in node.value.keys if isinstance(key, ast.Name)]
                if len(names & set(keys)) > len(names) / 2:
                    found.add((ast.unparse(node.target), f"{path.parent.name}/{path.name}"))
    assert found == {(table.name, table.file) for table in TABLES}


def test_an_operator_without_an_entry_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(COSTS, Filter)
    (table,) = (table for table in TABLES if table.name == "COSTS")
    (complaint,) = table.complaints(operators.OPERATORS)
    assert complaint.startswith("Filter is not in COSTS of plan/cost.py: write what it costs")
    with pytest.raises(TypeError, match=r"Scan has no entry in COSTS of plan/cost.py"):
        entry_for(object.__new__(Scan), {}, "COSTS of plan/cost.py")


def test_plan_modules_do_not_choose_by_operator_with_a_default() -> None:
    """A `match` over three operators or more is a table that nobody asks to be complete.

    Rewrites are about certain operators, so that they stop at all others: they are in rules/.
    """
    names = {operator.__name__ for operator in OPERATORS}
    for path in (SOURCE / "plan").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Match):
                patterns = [c for c in ast.walk(node) if isinstance(c, ast.MatchClass)]
                met = {ast.unparse(c.cls) for c in patterns} & names
                assert len(met) < 4, f"{path.name}, line {node.lineno}: {sorted(met)}"
