"""AGGREGATE and FUNCTION: definitions made of blocks."""

from __future__ import annotations

from typing import Any

from sqlglot.tokens import Token, TokenType

from millstream.errors import Place, closest
from millstream.lang.families.block_statements import (
    at_block_statement,
    block_text,
    read_block_statement,
    read_local_table,
    table_text,
)
from millstream.lang.families.family import Family, Write, string_text
from millstream.lang.grammar.grammar import Grammar
from millstream.lang.routines import (
    LABELS,
    BlockStatement,
    CreateForeignAggregate,
    CreateRoutine,
    LocalTableDef,
    Section,
)
from millstream.lang.statements import ColumnDef
from millstream.lang.tokens import quoted

Head = CreateRoutine | CreateForeignAggregate
_WORDS = ("ALGEBRAIC", "WINDOW", "AGGREGATE", "FUNCTION")


def read_routine(parser: Grammar, first: Token) -> Head:
    """A definition, of whose first words ALGEBRAIC, WINDOW, AGGREGATE or FUNCTION was taken."""
    words = [parser.previous.text.upper()]
    while words[-1] in ("ALGEBRAIC", "WINDOW"):
        if not parser.take_word("ALGEBRAIC", "WINDOW", "AGGREGATE"):
            parser.expect(f"AGGREGATE after {words[-1]}")
        words.append(parser.previous.text.upper())
    name = parser.read_name(f"the name of {_article(words[-1])}")
    arguments = _read_arguments(parser, name)
    returns, named = _read_returns(parser, name, words[-1])
    head: dict[str, Any] = {
        "arguments": arguments,
        "returns": returns,
        "gives_columns": named,
        "is_algebraic": "ALGEBRAIC" in words,
        "is_window": "WINDOW" in words,
    }
    if parser.take_word("LANGUAGE"):
        return _finish_foreign(parser, first, name, head)
    body = _Body(parser, words[-1].lower(), name.text)
    body.read()
    return CreateRoutine(
        kind=words[-1].lower(),
        tables=tuple(body.tables),
        inner=tuple(body.inner),
        sections=tuple(body.sections),
        **head,
        **parser.named_parts(first, name),
    )


def _article(word: str) -> str:
    return "an aggregate" if word == "AGGREGATE" else "a function"


def _read_arguments(parser: Grammar, name: Token) -> tuple[ColumnDef, ...]:
    if not parser.take(TokenType.L_PAREN):
        parser.expect('"(" and arguments', hint=f"Write for example {name.text}(x double).")
    found: list[ColumnDef] = []
    while not parser.at(TokenType.R_PAREN):
        found.append(read_typed(parser, "argument"))
        if not parser.take(TokenType.COMMA):
            break
    parser.close()
    return tuple(found)


def read_typed(parser: Grammar, what: str) -> ColumnDef:
    """Take a name and a type; `what` the name is of."""
    name = parser.read_name(f"the name of an {what}" if what[0] in "aeiou" else f"a {what}")
    if parser.current.token_type in (TokenType.COMMA, TokenType.R_PAREN):
        parser.fail(
            f'{what} "{name.text}" has no type', name, hint=f"Write for example {name.text} double."
        )
    kind = parser.read_type().name
    return ColumnDef(name=name.text, type=kind, place=parser.since(name))


def _read_returns(parser: Grammar, name: Token, word: str) -> tuple[tuple[ColumnDef, ...], bool]:
    """The columns of what is returned, and whether they were named."""
    if not parser.take(TokenType.COLON):
        wanted = "type" if word == "AGGREGATE" else "(column type)"
        parser.expect(
            f'":" and what the {word.lower()} returns',
            hint=f"Write {word} {name.text}(…) : {wanted} {{ … }}.",
        )
    if parser.take(TokenType.L_PAREN):
        columns = [read_typed(parser, "column")]
        while parser.take(TokenType.COMMA):
            columns.append(read_typed(parser, "column"))
        parser.close()
        return tuple(columns), True
    start = parser.current
    kind = parser.read_type().name
    return (ColumnDef(name=name.text, type=kind, place=parser.since(start)),), False


def _finish_foreign(
    parser: Grammar, first: Token, name: Token, head: dict[str, Any]
) -> CreateForeignAggregate:
    language = parser.read_name("a language").text.lower()
    if not parser.take(TokenType.ALIAS) or not parser.at(TokenType.STRING):
        parser.expect("AS and a string", hint="Write LANGUAGE python AS 'module:Class'.")
    parser.advance()
    of, of_place = parser.previous.text, parser.place_at(parser.previous)
    return CreateForeignAggregate(
        language=language, of=of, of_place=of_place, **head, **parser.named_parts(first, name)
    )


class _Body:
    """Reads what stands between the braces of a routine, in any order."""

    def __init__(self, parser: Grammar, kind: str, name: str) -> None:
        self.parser, self.kind, self.name = parser, kind, name
        self.tables: list[LocalTableDef] = []
        self.inner: list[CreateRoutine] = []
        self.sections: list[Section] = []

    def read(self) -> None:
        parser = self.parser
        opening = self._open(f'"{{" and the body of {self.kind} "{self.name}"')
        loose: list[BlockStatement] = []
        start = parser.current
        while not parser.take(TokenType.R_BRACE):
            self._check_end(opening)
            if parser.take(TokenType.SEMICOLON):
                continue
            if self._at_label():
                self._read_section()
            elif at_block_statement(parser):
                start = start if loose else parser.current
                loose.append(read_block_statement(parser))
            elif parser.take_word("TABLE"):
                self.tables.append(read_local_table(parser, parser.previous))
            else:
                self._read_inner()
        if loose:
            self._check_loose(loose[0])
            place = parser.since(start)
            self.sections.append(Section(labels=(), statements=tuple(loose), place=place))

    def _open(self, what: str) -> Token:
        if not self.parser.take(TokenType.L_BRACE):
            self.parser.expect(what, hint="Statements stand in braces: { … }.")
        return self.parser.previous

    def _check_end(self, opening: Token) -> None:
        if not self.parser.current:
            self.parser.fail(
                f'the block of {self.kind} "{self.name}" does not end',
                opening,
                hint="Close it with }.",
            )

    def _at_label(self) -> bool:
        after = self.parser.following
        return bool(after) and after.token_type == TokenType.COLON

    def _read_section(self) -> None:
        parser, first = self.parser, self.parser.current
        labels: list[str] = []
        places: list[Place] = []
        while self._at_label():
            labels.append(self._read_label([*labels, *self._taken()]))
            places.append(parser.place_at(parser.previous))
            parser.advance()
        opening = self._open(f'"{{" after {labels[-1].upper()} :')
        statements: list[BlockStatement] = []
        while not parser.take(TokenType.R_BRACE):
            self._check_end(opening)
            if parser.take(TokenType.SEMICOLON):
                continue
            if not at_block_statement(parser):
                parser.expect(
                    "INSERT, UPDATE, DELETE or LOAD",
                    hint="A block gives rows by INSERT INTO RETURN.",
                )
            statements.append(read_block_statement(parser))
        section = Section(
            labels=tuple(labels),
            statements=tuple(statements),
            label_places=tuple(places),
            place=parser.since(first),
        )
        self.sections.append(section)

    def _read_label(self, taken: list[str]) -> str:
        parser, token = self.parser, self.parser.current
        word = token.text.lower()
        if word not in LABELS:
            near = closest(word, LABELS)
            known = f"Labels are {', '.join(LABELS).upper()}."
            parser.fail(
                f'label "{token.text}" does not exist',
                hint=f"Did you mean {near.upper()}?" if near else known,
            )
        if self.kind == "function":
            parser.fail(
                f"a function has no labels, and here is {word.upper()}",
                hint="Write its statements one after the other, or define an AGGREGATE.",
            )
        if word in taken:
            parser.fail(
                f"label {word.upper()} stands twice",
                hint="Put the statements of both into one block.",
            )
        parser.advance()
        return word

    def _taken(self) -> list[str]:
        return [label for section in self.sections for label in section.labels]

    def _read_inner(self) -> None:
        parser, first = self.parser, self.parser.current
        if not first or first.text.upper() not in (*_WORDS, "CREATE"):
            if first and first.text.lower() in LABELS:
                parser.fail(
                    f"label {first.text.upper()} has no colon",
                    first,
                    hint=f"Write {first.text.upper()} : {{ … }}.",
                )
            parser.expect(
                "a label, TABLE, INSERT, UPDATE, DELETE, AGGREGATE or FUNCTION",
                hint=f"Labels are {', '.join(LABELS).upper()}.",
            )
        parser.advance()
        if first.text.upper() == "CREATE" and not parser.take_word(*_WORDS):
            parser.expect("AGGREGATE or FUNCTION after CREATE", hint="A local table is TABLE t(…).")
        made = read_routine(parser, first)
        if isinstance(made, CreateForeignAggregate):
            parser.fail(
                f"an aggregate in {made.language} cannot stand inside another",
                first,
                hint="Define it by itself, and call it here.",
            )
        self.inner.append(made)

    def _check_loose(self, first: BlockStatement) -> None:
        """Statements stand either under labels, or by themselves."""
        if self.sections:
            start = first.place.start
            token = next(t for t in self.parser._tokens if t.start == start)
            self.parser.fail(
                "this statement stands under no label",
                token,
                hint="Put it into one of the blocks, or remove the labels: a body without them is "
                "INITIALIZE and ITERATE.",
            )


def _head_text(node: Head, word: str) -> str:
    words = ["CREATE OR REPLACE" if node.replaces else "CREATE"]
    words += ["ALGEBRAIC"] if node.is_algebraic else []
    words += ["WINDOW"] if node.is_window else []
    arguments = _columns_text(node.arguments)
    returns = _columns_text(node.returns) if node.gives_columns else node.returns[0].type
    return f"{' '.join([*words, word])} {quoted(node.name)}{arguments} : {returns}"


def _columns_text(columns: tuple[ColumnDef, ...]) -> str:
    return f"({', '.join(f'{quoted(c.name)} {c.type}' for c in columns)})"


def _routine_text(node: CreateRoutine, write: Write) -> list[str]:
    parts = [_head_text(node, node.kind.upper()), "{"]
    parts += [f"{table_text(table, write)};" for table in node.tables]
    for routine in node.inner:
        parts += _routine_text(routine, write)
    for section in node.sections:
        statements = [f"{block_text(statement, write)};" for statement in section.statements]
        if section.labels:
            labels = " ".join(f"{label.upper()} :" for label in section.labels)
            statements = [labels, "{", *statements, "}"]
        parts += statements
    return [*parts, "}"]


def _foreign_text(node: CreateForeignAggregate, write: Write) -> list[str]:
    return [_head_text(node, "AGGREGATE"), f"LANGUAGE {node.language} AS {string_text(node.of)}"]


ROUTINES = Family(
    readers={f"{create}{word}": read_routine for create in ("CREATE ", "") for word in _WORDS},
    writers={CreateRoutine: _routine_text, CreateForeignAggregate: _foreign_text},
)
