"""Text that is too long, too deep or not text is refused with a place, and quickly."""

import sys

import pytest

from millstream.errors import MillstreamError
from millstream.lang import parse_script, to_sql
from millstream.lang.guard import DEEPEST_NESTING, LONGEST_SCRIPT

NESTINGS = {
    "parentheses": ("(", "a", ")"),
    "calls": ("f(", "a", ")"),
    "sums": ("(a + ", "a", ")"),
    "cases": ("CASE WHEN a THEN ", "a", " END"),
    "nots": ("NOT ", "a", ""),
    "signs": ("- ", "a", ""),
}


@pytest.mark.parametrize("kind", NESTINGS)
def test_deep_nesting_parses_up_to_the_limit(kind: str) -> None:
    opening, middle, closing = NESTINGS[kind]

    def script(depth: int) -> str:
        return f"SELECT {opening * depth}{middle}{closing * depth} FROM t"

    (statement,) = parse_script(script(DEEPEST_NESTING))
    assert parse_script(to_sql(statement)) == (statement,)
    for depth in (DEEPEST_NESTING + 2, 1_000, 20_000):
        with pytest.raises(MillstreamError, match="nested more than 200 deep") as caught:
            parse_script(script(depth))
        assert caught.value.place is not None


@pytest.mark.parametrize("word", ["+", "AND", "OR", "||"])
def test_long_chains(word: str) -> None:
    (statement,) = parse_script("SELECT " + f" {word} ".join(["a"] * 400))
    assert parse_script(to_sql(statement)) == (statement,)
    with pytest.raises(MillstreamError, match="operators deep"):
        parse_script("SELECT " + f" {word} ".join(["a"] * 5_000))


def test_nesting_in_strings_and_comments_does_not_count() -> None:
    deep = "(" * 1_000
    (statement,) = parse_script(f"SELECT '{deep}' /* {deep} */ -- {deep}\nFROM t")
    assert statement.query.expressions[0].name == deep


def test_long_lists_are_not_deep() -> None:
    (statement,) = parse_script("SELECT a FROM t WHERE a IN (" + ", ".join(["1"] * 5_000) + ")")
    assert len(statement.query.args["where"].this.expressions) == 5_000


def test_long_scripts() -> None:
    with pytest.raises(MillstreamError, match="the limit is 1,000,000"):
        parse_script(" " * (LONGEST_SCRIPT + 1))
    assert parse_script(" " * LONGEST_SCRIPT) == ()


@pytest.mark.parametrize(
    ("text", "message", "start"),
    [
        ("SELECT 'a\0'", "the script holds a zero byte and is not text", 9),
        ("SELECT 'abc", "the string does not end", 7),
        ("SELECT 'it''s", "the string does not end", 7),
        ('SELECT "abc', "the quoted name does not end", 7),
        ("SELECT `abc", "the quoted name does not end", 7),
        ("SELECT 1 /* abc", "the comment does not end", 9),
        ("SELECT ‘a’", 'the character "‘" has no meaning here', 7),
        ("SELECT \x01", "the character U+0001 has no meaning here", 7),
    ],
)
def test_unreadable_text(text: str, message: str, start: int) -> None:
    with pytest.raises(MillstreamError) as caught:
        parse_script(text)
    assert caught.value.message == message and caught.value.place.start == start


def test_a_byte_order_mark_is_no_mistake() -> None:
    (statement,) = parse_script("\ufeffSELECT a FROM t")
    assert statement.place.start == 1


def test_the_recursion_limit_comes_back() -> None:
    before = sys.getrecursionlimit()
    parse_script("SELECT 1")
    with pytest.raises(MillstreamError):
        parse_script("SELECT")
    assert sys.getrecursionlimit() == before
