"""REGISTER SOURCE and CREATE STREAM … OVER: raw streams, and what their elements modify."""

from __future__ import annotations

from sqlglot.tokens import Token, TokenType

from millstream.lang.families.clauses import read_clauses
from millstream.lang.families.columns import read_columns, read_swapped_column
from millstream.lang.families.family import Family, Write, names_text, string_text
from millstream.lang.grammar.grammar import Grammar
from millstream.lang.statements import CreateStreamOver, RegisterSource
from millstream.lang.tokens import quoted

SOURCE_CLAUSES = ("ORDER BY", "SLACK", "FROM", "SOURCE", "WITH")
"""`SOURCE` says what `FROM` says, as in CREATE STREAM."""


def read_source(parser: Grammar, first: Token) -> RegisterSource:
    """REGISTER SOURCE: the columns, then FROM and a file, a folder or a port, if it has any."""
    name = parser.read_name("the name of a source")
    columns, key, key_token = read_columns(parser, read_swapped_column)
    if key:
        parser.fail(
            "a source has no key",
            key_token,
            hint=f"Write CREATE STREAM … OVER {name.text} KEY {', '.join(key)}.",
        )
    clauses = read_clauses(parser, SOURCE_CLAUSES)
    if "source" in clauses and "port" in clauses:
        parser.fail("FROM stands twice", name, hint="Remove one of them.")
    clauses.setdefault("source_place", clauses.pop("port_place", None))
    return RegisterSource(columns=columns, **clauses, **parser.named_parts(first, name))


def read_over(parser: Grammar, first: Token, name: Token) -> CreateStreamOver:
    """The rest of CREATE STREAM name OVER source KEY columns | NULL."""
    over = parser.read_name("the name of a source or stream after OVER")
    clause = parser.current
    if not parser.take_word("KEY"):
        parser.expect(
            "KEY after the name",
            hint="Write KEY and the columns that name a row, or KEY NULL for rows of their own.",
        )
    key = None if parser.take(TokenType.NULL) else _read_key(parser)
    return CreateStreamOver(
        over=over.text,
        key=key,
        over_place=parser.place_at(over),
        key_place=parser.since(clause),
        **parser.named_parts(first, name),
    )


def _read_key(parser: Grammar) -> tuple[str, ...]:
    if parser.at(TokenType.L_PAREN):
        return parser.read_names()
    names = [parser.read_name("a column or NULL after KEY").text]
    while parser.take(TokenType.COMMA):
        names.append(parser.read_name("a column").text)
    return tuple(names)


def _source_text(node: RegisterSource, write: Write) -> list[str]:
    columns = ", ".join(f"{quoted(column.name)} {column.type}" for column in node.columns)
    options = ", ".join(f"{string_text(k)} = {string_text(v)}" for k, v in node.options)
    origin = node.port if node.source is None else string_text(node.source)
    origin = f"FROM {origin}" if origin else ""
    return [
        f"REGISTER SOURCE {quoted(node.name)} ({columns})",
        f"ORDER BY {quoted(node.order_by)}" if node.order_by else "",
        f"{node.order_unit.upper()}S" if node.order_unit else "",
        f"SLACK {node.slack}" if node.slack else "",
        origin,
        f"WITH ({options})" if options else "",
    ]


def _over_text(node: CreateStreamOver, write: Write) -> list[str]:
    create = "CREATE OR REPLACE" if node.replaces else "CREATE"
    key = names_text(node.key) if node.key else " NULL"
    return [f"{create} STREAM {quoted(node.name)} OVER {quoted(node.over)} KEY{key}"]


TAGGED = Family(
    readers={"REGISTER SOURCE": read_source},
    writers={RegisterSource: _source_text, CreateStreamOver: _over_text},
)
