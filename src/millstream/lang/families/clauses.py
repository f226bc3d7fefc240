"""The clauses after the columns: ORDER BY, SLACK, KEY, SOURCE, WITH and others, in any order."""

from __future__ import annotations

from typing import Any

from sqlglot.tokens import TokenType

from millstream.errors import closest
from millstream.lang.grammar.grammar import Grammar
from millstream.lang.interval import CALENDAR_UNITS, unit_named
from millstream.lang.statements import Options


def read_clauses(parser: Grammar, allowed: tuple[str, ...]) -> dict[str, Any]:
    """Take the clauses after the columns, each once, in any order."""
    found: dict[str, Any] = {}
    while parser.current:
        clause, word = parser.current, " ".join(parser.current.text.upper().split())
        if parser.at_words("NON", "RETROACTIVE"):
            word = "NON RETROACTIVE"
        if word not in allowed:
            _wrong_clause(parser, word, allowed)
        parser.advance()
        key, value = _parse_clause(parser, word)
        if key in found:
            parser.fail(f"{word} stands twice", clause, hint="Remove one of them.")
        if word == "ORDER BY":
            found["order_unit"] = _order_unit(parser)
        short = key.removesuffix("_by")
        found |= {key: value, f"{short}_place": parser.since(clause)}
    return found


def _wrong_clause(parser: Grammar, word: str, allowed: tuple[str, ...]) -> None:
    if word == "ORDER" or word == "KEY":
        hint = "Write ORDER BY." if word == "ORDER" else "A key belongs to a table."
    elif word in parser.BEGINNINGS and word not in allowed:
        hint = "End the statement before it with a semicolon."
    else:
        near = closest(word, allowed)
        hint = f"Did you mean {near}?" if near else f"Clauses are {', '.join(allowed)}."
    parser.fail(f"unexpected {parser.written(parser.current)}", hint=hint)


def _parse_clause(parser: Grammar, word: str) -> tuple[str, Any]:
    if word == "ORDER BY":
        name = parser.read_name("a column or current_time").text
        return "order_by", "current_time" if name.lower() == "current_time" else name
    if word == "SLACK":
        return "slack", parser.read_length("SLACK")
    if word == "KEY":
        return "key", parser.read_names()
    if word == "FROM":
        return _parse_origin(parser)
    if word == "NON RETROACTIVE":
        parser.advance()
        return "non_retroactive", True
    if word == "SOURCE":
        if not parser.take(TokenType.STRING):
            parser.expect("a string after SOURCE", hint="Write for example SOURCE 'bids.csv'.")
        return "source", parser.previous.text
    return "options", _parse_options(parser)


def _parse_origin(parser: Grammar) -> tuple[str, str]:
    """Take what REGISTER SOURCE reads: a string, or the name of a port."""
    if parser.take(TokenType.STRING):
        return "source", parser.previous.text
    if not parser.at(TokenType.VAR):
        parser.expect("a string or a port after FROM", hint="Write for example FROM 'cars.csv'.")
    return "port", parser.read_name().text


def _order_unit(parser: Grammar) -> str | None:
    """The unit of time after the column of ORDER BY, if one stands there."""
    if not parser.at(TokenType.VAR) or (unit := unit_named(parser.current.text)) is None:
        return None
    if unit in CALENDAR_UNITS:
        parser.fail(f"a {unit} has no fixed length", hint="Order by days or a shorter unit.")
    parser.advance()
    return unit


def _parse_options(parser: Grammar) -> Options:
    if not parser.take(TokenType.L_PAREN):
        parser.expect('"(" after WITH', hint="Write WITH (name = value, …).")
    options = [_parse_option(parser)]
    while parser.take(TokenType.COMMA):
        options.append(_parse_option(parser))
    parser.close()
    return tuple(options)


def _parse_option(parser: Grammar) -> tuple[str, str]:
    if parser.take(TokenType.STRING) or parser.take(TokenType.NULL):
        name = parser.previous.text
    else:
        name = parser.read_name("the name of an option").text
    while parser.take(TokenType.DOT):
        name += f".{parser.read_name().text}"
    if not parser.take(TokenType.EQ):
        parser.expect('"="', hint="Write WITH (name = value, …).")
    return name, parser.read_value((TokenType.COMMA, TokenType.R_PAREN))
