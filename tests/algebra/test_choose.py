"""Rows chosen with a layout are those chosen one by one."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from millstream.algebra import choose
from millstream.algebra.changes import Changes
from millstream.algebra.evaluate import computed_once, holds
from millstream.algebra.expressions import Call, Column, Literal, conjunction
from millstream.algebra.types import BOOLEAN, DATE, DOUBLE, INTEGER, STRING, TIMESTAMP

ROWS = pa.record_batch(
    {
        "n": pa.array([3, None, -3, 8, 3, 0, 13, None, 8, 3]),
        "s": pa.array(["a", "b", None, "", "a", "A", "b", "b", "", "a"]),
        "d": pa.array([dt.date(2024, 1, 1 + i % 3) for i in range(10)]),
        "x": pa.array([0.0, -0.0, float("nan"), None, 1.5, 0.0, 1.5, 2.0, 2.0, 0.0]),
        "whole": pa.array(range(10)),
        "real": pa.array([-0.0, float("nan"), 0.5] * 3 + [9.0]),
        "at": pa.array([dt.datetime(2024, 1, 1, i) for i in range(10)], pa.timestamp("us")),
    }
)
CHANGES = Changes(ROWS, *(np.arange(10) + start for start in (5, 100, -3, 70)))
N, X = Column("n", INTEGER), Column("x", DOUBLE)
VALUES = {
    "column": (N, [3, 8, 99, None, 0, -3]),
    "remainder": (Call("%", (N, Literal(5, INTEGER)), INTEGER), [0, 1, 2, 3, 4, -3]),
    "text": (Column("s", STRING), ["a", "", "b", "A", "z"]),
    "date": (Column("d", DATE), [dt.date(2024, 1, d) for d in (1, 2, 3, 4)]),
    "double": (X, [0.0, float("nan"), 1.5, 2.0]),
}
MORE = Call(">", (X, Literal(0.5, DOUBLE)), BOOLEAN)


@pytest.mark.parametrize("asked", [0, 8, 10**9])
@pytest.mark.parametrize("most", [0, 4096])
@pytest.mark.parametrize("rest", [[], [MORE]], ids=["alone", "with another"])
@pytest.mark.parametrize("name", VALUES)
def test_many_comparisons_of_a_value_choose_what_each_chooses(name, rest, most, asked, monkeypatch):
    monkeypatch.setattr(choose, "MOST", most)
    monkeypatch.setattr(choose, "ASKED", asked)
    value, constants = VALUES[name]
    with computed_once():
        for constant in constants:
            equal = Call("=", (value, Literal(constant, value.type)), BOOLEAN)
            condition = conjunction([equal, *rest])
            wanted = CHANGES.pick(np.flatnonzero(holds(condition, ROWS, 10)))
            found = choose.kept(condition, CHANGES)
            assert repr(found.rows.to_pylist()) == repr(wanted.rows.to_pylist())
            for time in ("ts", "exp", "weight", "seq"):
                assert getattr(found, time).tolist() == getattr(wanted, time).tolist()


@pytest.mark.parametrize("few", [0, 1, 3, 10**9])
@pytest.mark.parametrize("comparison", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("name", ["n", "x", "whole", "real", "at"])
def test_many_constants_choose_the_rows_on_their_side(name, comparison, few, monkeypatch):
    monkeypatch.setattr(choose, "FEW_OF", few)
    value = Column(name, {"n": INTEGER, "whole": INTEGER, "at": TIMESTAMP}.get(name, DOUBLE))
    constants = [dt.datetime(2024, 1, 1, 3)] if name == "at" else [3, -1, 0, 8, 9, 14]
    with computed_once():
        for constant in (*constants, *constants):
            given = float(constant) if value.type == DOUBLE else constant
            test = Call(comparison, (value, Literal(given, value.type)), BOOLEAN)
            wanted = np.flatnonzero(holds(test, ROWS, 10)).tolist()
            assert choose.kept(test, CHANGES).ts.tolist() == [5 + place for place in wanted]


def test_the_rows_are_laid_out_once_from_the_second_comparison_on(monkeypatch):
    made = []
    lay_out = choose._Asked._laid_out
    monkeypatch.setattr(
        choose._Asked, "_laid_out", lambda *given: made.append(1) or lay_out(*given)
    )
    counts = []
    with computed_once():
        for constant in (3, 8, 0, 13):
            equal = Call("=", (N, Literal(constant, INTEGER)), BOOLEAN)
            choose.kept(equal, CHANGES)
            counts.append(len(made))
    assert counts == [0, 1, 1, 1]
