"""Lengths of time in plans, as a person writes them."""

from __future__ import annotations

import pytest

from millstream.algebra.lengths import UNITS, length_text, unit_size
from millstream.algebra.node import Node
from millstream.algebra.time import Domain
from millstream.database import Database
from millstream.operators import Range, RangeSlide, Rows
from millstream.plan.text import parse_plan

MINUTE = UNITS["minute"]


@pytest.fixture
def session() -> Database:
    made = Database(tell=lambda text: None)
    made.execute(
        "CREATE STREAM bids (at timestamp, item int) ORDER BY at;"
        "CREATE STREAM ticks (n int, item int) ORDER BY n;"
    )
    return made


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (0, "0 seconds"),
        (1, "1 microsecond"),
        (59_999_999, "59999999 microseconds"),
        (1_500_000, "1500 milliseconds"),
        (MINUTE, "1 minute"),
        (90 * MINUTE, "90 minutes"),
        (48 * 60 * MINUTE, "2 days"),
        (7 * 24 * 60 * MINUTE, "1 week"),
    ],
)
def test_a_length_is_read_as_it_is_printed(session: Database, length: int, text: str) -> None:
    assert length_text(length, Domain.TIMESTAMP) == text
    plan = Range(length, session.catalog.find("bids").scan())
    assert plan.words == text
    assert parse_plan(plan.text, session.catalog) == plan


def windows(stream: Node) -> list[tuple[str, Node]]:
    return [
        ("1 minute Slide 5 seconds", RangeSlide(MINUTE, 5_000_000, stream)),
        ("Unbounded Slide 2 hours", RangeSlide(None, 120 * MINUTE, stream)),
        ("3 Range 1 minute", Rows(3, (), MINUTE, 1, stream)),
        ("Partition By item 3 Range 10 seconds", Rows(3, ("item",), 10_000_000, 1, stream)),
        ("3 Slide 2", Rows(3, (), None, 2, stream)),
    ]


def test_every_window_prints_its_lengths(session: Database) -> None:
    for words, window in windows(session.catalog.find("bids").scan()):
        assert window.words == words
        assert parse_plan(window.text, session.catalog) == window


def test_instants_that_are_numbers_have_no_unit(session: Database) -> None:
    for _, window in windows(session.catalog.find("ticks").scan()):
        assert not any(unit in window.words for unit in UNITS)
        assert parse_plan(window.text, session.catalog) == window


def test_units_are_words_in_singular_and_plural() -> None:
    assert unit_size("minute") == unit_size("Minutes") == MINUTE
    assert unit_size("slide") is None and unit_size("") is None
