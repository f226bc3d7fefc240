"""What people of other systems write: it works, or the message says what does here."""

from __future__ import annotations

from collections import Counter

import pytest

from errors.spellings import Spelling, said_to, spellings

ALL = spellings()


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.written)
def test_spelling(one: Spelling) -> None:
    assert said_to(one.written) == one.answer


@pytest.mark.parametrize("one", [s for s in ALL if not s.works], ids=lambda one: one.written)
def test_a_refusal_has_a_place_and_a_hint(one: Spelling) -> None:
    assert one.hint.endswith((".", "…")) and "^" in one.answer
    assert not one.message.endswith(".")


@pytest.mark.parametrize("one", [s for s in ALL if s.instead], ids=lambda one: one.instead)
def test_what_is_shown_instead_works(one: Spelling) -> None:
    assert said_to(one.instead) == "works"


def test_there_are_enough_of_them() -> None:
    systems = Counter(one.system for one in ALL)
    assert len(ALL) >= 60 and len(systems) >= 8 and min(systems.values()) >= 6
