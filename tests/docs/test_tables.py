"""The tables of the manual say what the code says."""

from __future__ import annotations

import pytest

from docs.examples import ROOT
from docs.tables import HOLE, SETTINGS, filled
from millstream.aggregates.builtin import BUILTINS
from millstream.algebra.functions import FUNCTIONS
from millstream.algebra.meanings import MEANINGS
from millstream.settings import Settings

PAGES = [p for p in sorted((ROOT / "docs" / "language").glob("*.md")) if HOLE.search(p.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_table_is_up_to_date(page) -> None:
    assert page.read_text() == filled(page), "run: make docs"


def test_everything_is_explained() -> None:
    assert set(MEANINGS) == set(FUNCTIONS)
    assert all(aggregate.usage and aggregate.meaning for aggregate in BUILTINS)
    assert set(SETTINGS) == set(vars(Settings()))
