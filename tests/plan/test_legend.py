"""The legend of EXPLAIN: every operator and pattern has a line, and a plan gets those it needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.algebra.node import Node
from millstream.algebra.pattern import Pattern
from millstream.database import Database
from millstream.operators import OPERATORS
from millstream.plan.legend import legend_of, meaning_of, whole_legend

SCRIPT = """
CREATE STREAM s (t int, room string, degrees int) ORDER BY t;
CREATE VIEW hot AS SELECT STREAMED room, degrees FROM s [Range 5] WHERE degrees > 30;
"""
MONOTONIC = "--   MON  rows never leave"


@pytest.fixture
def told(tmp_path: Path) -> tuple[Database, list[str]]:
    texts: list[str] = []
    database = Database(base=tmp_path, tell=texts.append)
    database.execute(SCRIPT)
    return database, texts


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.__name__)
def test_an_operator_says_in_a_line_what_it_gives(operator: type[Node]) -> None:
    meaning = meaning_of(operator)
    assert operator.__doc__ != Node.__doc__ and 20 <= len(meaning) <= 98
    assert meaning.endswith(".") and (meaning[0] == "`" or meaning[0].isupper())


def test_a_docstring_of_several_sentences_gives_its_first() -> None:
    class Fold(Node):
        """Rows in pairs, the first with the second.  More of it
        here.

        Law: none.
        """

    assert meaning_of(Fold) == "Rows in pairs, the first with the second."


def test_the_legend_of_a_plan_has_what_occurs_in_it(told: tuple[Database, list[str]]) -> None:
    database, _ = told
    lines = legend_of([database.plan_of(database.find_query("hot"), "bound")]).splitlines()
    assert [line.split()[1] for line in lines if line.startswith("--   ")] == [
        *("MON", "WKS"),
        *("Tagged", "Project", "Filter", "Range", "Scan"),
    ]
    assert MONOTONIC in lines


def test_explain_legend(told: tuple[Database, list[str]]) -> None:
    database, texts = told
    database.execute("EXPLAIN LEGEND; EXPLAIN hot; EXPLAIN LEGEND hot")
    database.execute("EXPLAIN LEGEND SELECT t FROM s")
    whole, plain, both, of_query = texts
    assert whole == whole_legend()
    assert all(f"--   {pattern.name} " in whole for pattern in Pattern)
    assert all(f"--   {operator.__name__} " in whole for operator in OPERATORS)
    assert both.startswith(plain + "\n") and MONOTONIC in both and MONOTONIC not in plain
    assert "--   Elements  " in of_query and "--   Tagged" not in of_query


def test_a_query_named_legend_is_explained(told: tuple[Database, list[str]]) -> None:
    database, texts = told
    database.execute("CREATE VIEW legend AS SELECT room FROM hot; EXPLAIN legend")
    assert texts[-1].startswith("-- legend: ")


@pytest.mark.parametrize("stage", ["state", "cost"])
def test_stages_without_patterns_get_operators_only(told, stage: str) -> None:
    database, _ = told
    legend = database.legend([database.find_query("hot")], stage)
    assert "--   Exchange" in legend and MONOTONIC not in legend
