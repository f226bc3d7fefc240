"""Every recipe of the cookbook is a question with data, a query, a result and a reason."""

from __future__ import annotations

import re

import pytest

from docs.examples import ROOT, examples

PAGE = ROOT / "docs" / "cookbook.md"
RECIPES = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)
LISTED, QUESTIONS = RECIPES[0], [recipe.partition("\n")[0] for recipe in RECIPES[1:]]


def test_there_are_enough_recipes() -> None:
    assert len(QUESTIONS) >= 20


@pytest.mark.parametrize("recipe", RECIPES[1:], ids=QUESTIONS)
def test_a_recipe_has_all_its_parts(recipe: str) -> None:
    question, _, body = recipe.partition("\n")
    assert question.endswith("?")
    assert "```csv " in body or "```jsonl " in body
    assert "\n```sql\n" in body and "\n```result " in body
    reason = body.rpartition("```\n")[2].strip()
    assert reason.endswith("."), "a recipe says at its end why it works"


def test_every_recipe_shows_a_result() -> None:
    silent = [str(example) for example in examples(PAGE) if not example.answers]
    assert not silent


def test_every_recipe_is_listed_once() -> None:
    anchors = re.findall(r"\]\(#([^)]*)\)", LISTED)
    assert len(anchors) == len(set(anchors)) == len(QUESTIONS)
