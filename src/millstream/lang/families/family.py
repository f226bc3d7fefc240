"""What a family of statements is: how they are read, and how they are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp
from sqlglot.tokens import Token

from millstream.lang.grammar.grammar import Grammar
from millstream.lang.statements import Statement
from millstream.lang.tokens import quoted

Read = Callable[[Grammar, Token], Statement]
"""Reads the rest of a statement, after its first words; the token is the first of all."""

Write = Callable[[exp.Expr], str]
"""The text of a query or expression inside a statement."""


@dataclass(frozen=True)
class Family:
    """Statements that belong together.

    `readers` are found by the first word of a statement, or by its first two. `writers` give the
    parts of the canonical text, which parses to an equal statement. `short` words stand for others.
    """

    readers: Mapping[str, Read]
    writers: Mapping[type[Statement], Callable[[Any, Write], list[str]]]
    short: Mapping[str, str] = field(default_factory=dict)


def names_text(names: tuple[str, ...] | None) -> str:
    """Names in parentheses, after a space; nothing where there are none."""
    return f" ({', '.join(map(quoted, names))})" if names else ""


def string_text(text: str) -> str:
    """A string constant."""
    escaped = text.replace("'", "''")
    return f"'{escaped}'"
