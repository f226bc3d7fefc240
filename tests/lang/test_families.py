"""Families of statements: each is one file and one line, and what it reads it can write."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from millstream.errors import MillstreamError
from millstream.lang import parse_script, routines, statements, to_sql
from millstream.lang.families import all_statements
from millstream.lang.families.all_statements import FAMILIES, WRITERS
from millstream.lang.families.family import Family
from millstream.lang.parser import Parser
from millstream.lang.statements import CreateStream, Named, QueryStatement, Statement

MODULES = (statements.__name__, routines.__name__)


def kinds(base: type) -> set[type]:
    """The statements of the language: classes that no other derives from, but for streams: a
    registered source is one."""
    below = [kind for kind in base.__subclasses__() if kind.__module__ in MODULES]
    own = {base} if not below or base is CreateStream else set()
    return own.union(*map(kinds, below))


def test_every_statement_is_written_by_one_family():
    assert set(WRITERS) == kinds(Statement) - {QueryStatement}
    assert sum(len(family.writers) for family in FAMILIES) == len(WRITERS)


def test_no_two_families_begin_alike():
    words = [words for family in FAMILIES for words in (*family.readers, *family.short)]
    assert len(words) == len(set(words))


@dataclass(frozen=True, kw_only=True)
class Pause(Named):
    """A statement that the language does not have."""


def read_pause(parser, first) -> Pause:
    return Pause(**parser.named_parts(first, parser.read_name("the name of a query")))


def test_a_family_is_added_by_one_line(monkeypatch):
    writers = {Pause: lambda node, write: ["PAUSE QUERY", node.name]}
    family = Family({"PAUSE QUERY": read_pause}, writers)
    readers = {**all_statements.READERS, **family.readers}
    monkeypatch.setattr(all_statements, "READERS", readers)
    monkeypatch.setattr(all_statements, "WRITERS", {**WRITERS, **family.writers})
    monkeypatch.setattr(all_statements, "BEGINNINGS", (*all_statements.BEGINNINGS, "PAUSE"))
    (statement,) = parse_script("pause query busy;")
    assert statement == Pause(name="busy", name_place=statement.place, place=statement.place)
    assert to_sql(statement) == "PAUSE QUERY busy"
    with pytest.raises(MillstreamError, match=r"^expected QUERY after PAUSE"):
        parse_script("PAUSE busy")


def test_the_parts_of_the_grammar_lie_side_by_side_around_a_core():
    own = [c for c in Parser.__mro__ if c.__module__.startswith("millstream")]

    def depth(kind: type) -> int:
        return 1 + max((depth(base) for base in kind.__bases__ if base in own), default=0)

    assert depth(Parser) == 5  # Parser, Grammar, one of its parts, Core, Faults
