"""Expressions from plan text, as they are printed there or as people type them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal
from typing import TypeVar

import pyarrow as pa

from millstream.algebra.expressions import Call, Case, Cast, Column, Expression, Literal
from millstream.algebra.functions import FUNCTIONS
from millstream.algebra.lengths import unit_size
from millstream.algebra.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    type_from_text,
)
from millstream.bind.expressions.constants import coerce
from millstream.errors import MillstreamError

T = TypeVar("T")
TOKEN = re.compile(
    r"""\s*(?P<token>'(?:[^']|'')*' | "(?:[^"]|"")*" | -?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?
        | [^\W\d][\w.]* | \#\w+ | <= | >= | <> | [-+*/%=<>(),:] )""",
    re.VERBOSE,
)
LEVELS = (
    ("or",),
    ("and",),
    ("=", "<>", "<", "<=", ">", ">=", "like"),
    ("+", "-"),
    ("*", "/", "%", "div"),
)
"""What binds weakly comes first; within a level from the left."""


class Tokens:
    """The words of one line of plan text, taken one after the other."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.found: list[str] = []
        at = 0
        while text[at:].strip():
            match = TOKEN.match(text, at)
            if match is None:
                raise MillstreamError(f'the plan text cannot be read at "{text[at:].strip()}"')
            self.found.append(match["token"])
            at = match.end()

    @property
    def next(self) -> str:
        """The word ahead; empty at the end of the line."""
        return self.found[self.at] if self.at < len(self.found) else ""

    @property
    def second(self) -> str:
        return self.found[self.at + 1] if self.at + 1 < len(self.found) else ""

    def take(self) -> str:
        self.at += 1
        return self.found[self.at - 1] if self.at <= len(self.found) else ""

    def has(self, word: str) -> bool:
        """Take the word if it is ahead."""
        here = self.next.lower() == word.lower()
        self.at += here
        return here

    def expect(self, word: str) -> None:
        if not self.has(word):
            raise MillstreamError(f'"{word}" is expected before "{self.next}" in "{self.text}"')

    def name(self) -> str:
        return unquoted(self.take())

    def names(self) -> tuple[str, ...]:
        return self.listed(self.name)

    def listed(self, one: Callable[[], T]) -> tuple[T, ...]:
        """Several of a kind, between commas."""
        found = [one()]
        while self.has(","):
            found.append(one())
        return tuple(found)


def length_of(tokens: Tokens) -> int:
    """A length of time: a number, in units of time that may follow it."""
    amount = int(tokens.take())
    size = unit_size(tokens.next)
    if size is None:
        return amount
    tokens.take()
    return amount * size


def unquoted(token: str) -> str:
    quote = token[:1]
    if quote not in ("'", '"'):
        return token
    return token[1:-1].replace(quote * 2, quote)


def parse_expression(tokens: Tokens, schema: pa.Schema, level: int = 0) -> Expression:
    """A typed expression over the columns of the schema.

    Law: printing an expression and reading it gives the same expression.

    >>> text = "price > 10 and not(is_null(item))"
    >>> str(parse_expression(Tokens(text), pa.schema({"price": DOUBLE, "item": STRING})))
    '((price > 10.0) and not(is_null(item)))'
    """
    if level == len(LEVELS):
        return _single(tokens, schema)
    left = parse_expression(tokens, schema, level + 1)
    while tokens.next.lower() in LEVELS[level]:
        operator = tokens.take().lower()
        left = _call(operator, [left, parse_expression(tokens, schema, level + 1)])
    return left


def _single(tokens: Tokens, schema: pa.Schema) -> Expression:
    token = tokens.take()
    word = token.lower()
    if word == "(":
        inner = parse_expression(tokens, schema)
        tokens.expect(")")
        return inner
    if token[0] == "'":
        return Literal(unquoted(token), STRING)
    if re.match(r"-?\d", token):
        whole = re.fullmatch(r"-?\d+", token)
        return Literal(int(token), INTEGER) if whole else Literal(float(token), DOUBLE)
    if word in ("true", "false"):
        return Literal(word == "true", BOOLEAN)
    if word == "null":
        return Literal(None, NULL)
    if word == "case":
        return _case(tokens, schema)
    if word == "cast" and tokens.has("("):
        value = parse_expression(tokens, schema)
        tokens.expect("as")
        kind = _type(tokens.take(), tokens)
        tokens.expect(")")
        return Cast(value, kind)
    if word == "array" and (missing := _missing_array(tokens)) is not None:
        return missing
    if type_from_text(word) is not None and (constant := _constant(token, tokens)) is not None:
        return constant
    if tokens.has("("):
        arguments: tuple[Expression, ...] = ()
        if tokens.next != ")":
            arguments = tokens.listed(lambda: parse_expression(tokens, schema))
        tokens.expect(")")
        return _call(word, list(arguments))
    return _column(unquoted(token), schema)


def _column(name: str, schema: pa.Schema) -> Column:
    if name not in schema.names:
        raise MillstreamError(f'column "{name}" does not exist below in the plan')
    return Column(name, schema.field(name).type)


def _call(name: str, arguments: list[Expression]) -> Expression:
    function = FUNCTIONS.get(name)
    signature = function.sign([a.type for a in arguments]) if function is not None else None
    if signature is None:
        raise MillstreamError(f'"{name}" does not take {", ".join(str(a) for a in arguments)}')
    wanted, result = signature
    return Call(name, tuple(coerce(a, kind) for a, kind in zip(arguments, wanted)), result)


def _case(tokens: Tokens, schema: pa.Schema) -> Expression:
    branches = []
    while tokens.has("when"):
        condition = parse_expression(tokens, schema)
        tokens.expect("then")
        branches.append((condition, parse_expression(tokens, schema)))
    tokens.expect("else")
    default = parse_expression(tokens, schema)
    tokens.expect("end")
    return Case(tuple(branches), default, default.type)


def _type(word: str, tokens: Tokens) -> pa.DataType:
    if word.lower() == "array" and tokens.has("<"):
        inner = _type(tokens.take(), tokens)
        tokens.expect(">")
        return pa.list_(inner)
    text = word
    if tokens.has("("):
        text += f"({', '.join(tokens.names())})"
        tokens.expect(")")
    kind = type_from_text(text)
    if kind is None:
        raise MillstreamError(f'type "{text}" does not exist')
    return kind


def _missing_array(tokens: Tokens) -> Literal | None:
    """array<string> NULL; None if it is a column of that name."""
    here = tokens.at
    try:
        kind = _type("array", tokens)
    except MillstreamError:
        kind = NULL
    if pa.types.is_list(kind) and tokens.has("null"):
        return Literal(None, kind)
    tokens.at = here
    return None


def _constant(word: str, tokens: Tokens) -> Literal | None:
    """A constant after its type: date '2024-01-01' or bigint NULL; None if it is a column."""
    here = tokens.at
    parenthesis = tokens.next == "(" and tokens.second[:1].isdigit()
    if not parenthesis and tokens.next[:1] != "'" and tokens.next.lower() != "null":
        return None
    kind = _type(word, tokens)
    if tokens.has("null"):
        return Literal(None, kind)
    if tokens.next[:1] != "'":
        tokens.at = here
        return None
    text = unquoted(tokens.take())
    if kind == INTERVAL:
        tokens.expect("second")
        return Literal(dt.timedelta(microseconds=int(Decimal(text) * 1_000_000)), kind)
    readers: dict[pa.DataType, Callable[[str], object]] = {
        TIMESTAMP: dt.datetime.fromisoformat,
        DATE: dt.date.fromisoformat,
        DOUBLE: float,
    }
    return Literal(readers.get(kind, Decimal)(text), kind)
