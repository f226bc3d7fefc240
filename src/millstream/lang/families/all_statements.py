"""All families of statements: which words a statement begins with, and what reads and writes it."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from sqlglot.tokens import Token, TokenType

from millstream.errors import closest
from millstream.lang.families.commands import COMMANDS
from millstream.lang.families.definitions import DEFINITIONS
from millstream.lang.families.family import Write
from millstream.lang.families.modifications import MODIFICATIONS
from millstream.lang.families.refused import NEVER, NOT_YET, refuse_creation
from millstream.lang.families.routines import ROUTINES
from millstream.lang.families.tagged import TAGGED
from millstream.lang.grammar.grammar import Grammar
from millstream.lang.statements import Definition, QueryStatement, Statement

FAMILIES = (DEFINITIONS, TAGGED, MODIFICATIONS, COMMANDS, ROUTINES)
READERS = {words: reader for family in FAMILIES for words, reader in family.readers.items()}
WRITERS = {kind: writer for family in FAMILIES for kind, writer in family.writers.items()}
SHORT = {word: meant for family in FAMILIES for word, meant in family.short.items()}
BEGINNINGS = ("SELECT", *dict.fromkeys(words.split()[0] for words in READERS), "WITH")


def read_statement(parser: Grammar) -> Statement:
    """Take a statement: a query, or what the words at its beginning stand for."""
    first = parser.current
    word = _word(first)
    is_call = word not in (*BEGINNINGS, *NOT_YET, *NEVER) and parser.at_bare_call()
    if parser.at_query() or is_call:
        query = parser.parse_query()
        return QueryStatement(query=query, place=parser.since(first))
    word = SHORT.get(word, word)
    if word == "CREATE" and parser.following.token_type == TokenType.OR:
        return _read_replacement(parser, first)
    pair = f"{word} {_word(parser.following)}"
    if pair in READERS:
        parser.advance(2)
        return READERS[pair](parser, first)
    if word not in BEGINNINGS:
        _wrong_beginning(parser, word)
    parser.advance()
    if word not in READERS:
        _wrong_second_word(parser, word)
    return READERS[word](parser, first)


def statement_parts(node: Statement, write: Write) -> list[str]:
    """The parts of a statement's canonical text; empty ones are left out."""
    if isinstance(node, QueryStatement):
        return [write(node.query)]
    return [part for part in WRITERS[type(node)](node, write) if part]


def _word(token: Token) -> str:
    """A word without quotes, in upper case; nothing else is the beginning of a statement."""
    quoted = token.token_type in (TokenType.IDENTIFIER, TokenType.STRING)
    return "" if quoted else token.text.upper()


def _read_replacement(parser: Grammar, first: Token) -> Statement:
    """CREATE OR REPLACE, then what CREATE is followed by."""
    parser.advance(2)
    if parser.take_word("REFRESH"):
        wrong = parser.previous
        refuse_creation(parser)
        parser.fail(
            "CREATE OR REFRESH is not part of the language", wrong, "Write CREATE OR REPLACE."
        )
    if not parser.take_word("REPLACE"):
        parser.expect("REPLACE after CREATE OR")
    pair = f"CREATE {_word(parser.current)}" if parser.current else ""
    if pair not in READERS:
        _wrong_second_word(parser, "CREATE", "CREATE OR REPLACE")
    parser.advance()
    statement = READERS[pair](parser, first)
    assert isinstance(statement, Definition)
    return replace(statement, replaces=True)


def _wrong_second_word(parser: Grammar, first: str, said: str = "") -> NoReturn:
    refuse_creation(parser)
    words = [pair.split()[1] for pair in READERS if pair.startswith(f"{first} ")]
    near = closest(parser.current.text, words) if parser.current else None
    listed = " or ".join((", ".join(words[:-1]), words[-1])) if words[1:] else words[0]
    parser.expect(
        f"{listed} after {said or first}",
        hint=f"Did you mean {near}?" if near else None,
    )


def _name_after(parser: Grammar) -> str:
    """The name that a statement of another system is about."""
    parser.advance()
    while parser.take_word("TABLE", "STREAM", "VIEW", "INTO", "TO", "FROM", "QUERY"):
        pass
    is_name = parser.current.token_type in (TokenType.VAR, TokenType.IDENTIFIER)
    return parser.current.text if is_name else "…"


CLAUSES = ("SOURCE", "SLACK", "ORDER", "KEY", "WHERE", "GROUP", "HAVING", "FROM", "LIMIT", "UNION")
"""Words that go on with a statement."""


def _wrong_beginning(parser: Grammar, word: str) -> NoReturn:
    if word in CLAUSES and ";" in parser.sql[: parser.current.start]:
        parser.fail(
            f"{word} goes on with a statement that a semicolon has ended",
            hint=f"Leave out the semicolon before {word}.",
        )
    if word in NOT_YET:
        parser.fail(f"{word} is not part of the language yet", hint=NOT_YET[word])
    if word in NEVER:
        first, name = parser.current, _name_after(parser)
        hint = NEVER[word].format(name=name) or None
        parser.fail(f"{word} is not part of the language", first, hint)
    near = closest(word, BEGINNINGS)
    parser.fail(
        f"a statement cannot begin with {parser.written(parser.current)}",
        hint=f"Did you mean {near}?" if near else f"Begin with {', '.join(BEGINNINGS)}.",
    )
