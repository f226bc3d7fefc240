"""DROP, SHOW, DESCRIBE, EXPLAIN and SET."""

from __future__ import annotations

from sqlglot.tokens import Token, TokenType

from millstream.errors import closest
from millstream.lang.families.family import Family, Write, string_text
from millstream.lang.grammar.grammar import Grammar
from millstream.lang.statements import (
    Describe,
    DescribeFunction,
    Drop,
    Explain,
    ExplainRoutine,
    Set,
    Show,
)
from millstream.lang.tokens import quoted

KINDS = ("STREAM", "VIEW", "TABLE", "QUERY", "AGGREGATE", "FUNCTION")
LISTS = ("STREAMS", "TABLES", "VIEWS", "QUERIES", "SETTINGS", "FUNCTIONS", "AGGREGATES")
STAGES = (
    "BOUND",
    "OPTIMIZED",
    "PHYSICAL",
    "PATTERNS",
    "STATE",
    "COST",
    "LEGEND",
    "MACHINE",
    "SHARING",
    "POINTS",
)
FORMS = ("TEXT", "GRAPHVIZ", "SVG")
"""The forms of a machine: EXPLAIN MACHINE AS SVG."""

STAGES_ELSEWHERE = {
    "ANALYZE": "Write EXPLAIN STATE for what a running query holds, or EXPLAIN COST.",
    "EXTENDED": "Write EXPLAIN BOUND, EXPLAIN OPTIMIZED or EXPLAIN PHYSICAL.",
    "FORMATTED": "Write EXPLAIN PHYSICAL.",
    "LOGICAL": "Write EXPLAIN BOUND.",
}
"""What other systems write after EXPLAIN."""


def read_drop(parser: Grammar, first: Token) -> Drop:
    window = parser.at_words("WINDOW", "AGGREGATE") and parser.take_word("WINDOW")
    kind = ("window " if window else "") + parser.read_one_of(KINDS, "DROP")
    if_exists = parser.take_words("IF", "EXISTS")
    name = parser.read_name()
    if parser.at(TokenType.L_PAREN) and kind not in ("stream", "view", "table", "query"):
        parser.fail(
            f"DROP {kind.upper()} takes a name without arguments",
            hint=f"Write DROP {kind.upper()} {name.text}.",
        )
    return Drop(kind=kind, if_exists=if_exists, **parser.named_parts(first, name))


def read_show(parser: Grammar, first: Token) -> Show:
    what = parser.read_one_of(LISTS, "SHOW") if parser.current else None
    like = None
    if what is not None and parser.take(TokenType.LIKE):
        if not parser.take(TokenType.STRING):
            parser.expect("a pattern in quotes", hint=f"Write SHOW {what.upper()} LIKE '%a%'.")
        like = parser.previous.text
    elif what is not None and parser.current:
        parser.expect("LIKE or the end", hint=f"Write SHOW {what.upper()} LIKE '%a%'.")
    return Show(what=what, like=like, place=parser.since(first))


def read_describe(parser: Grammar, first: Token) -> Describe:
    if parser.following:
        parser.take_word(*KINDS)
    return Describe(**parser.named_parts(first, parser.read_name()))


def read_describe_function(parser: Grammar, first: Token) -> Describe | DescribeFunction:
    """Any word or sign may be the name of a function; without one, FUNCTION itself is a name."""
    name = parser.current or parser.previous
    if not parser.current:
        return Describe(**parser.named_parts(first, name))
    parser.advance()
    return DescribeFunction(**parser.named_parts(first, name))


def read_explain(parser: Grammar, first: Token) -> Explain:
    stage = None
    if parser.following and not parser.at_query():
        if parser.current.text.upper() not in STAGES:
            near = closest(parser.current.text, STAGES)
            known = f"Did you mean {near}?" if near else f"Write {', '.join(STAGES)}."
            parser.fail(
                f"stage {parser.written(parser.current)} does not exist",
                hint=STAGES_ELSEWHERE.get(parser.current.text.upper(), known),
            )
        stage = parser.read_one_of(STAGES, "EXPLAIN")
    form = _read_form(parser) if stage == "machine" else "text"
    if parser.current and parser.at_query():
        query = parser.parse_query()
        return Explain(stage=stage, form=form, query=query, place=parser.since(first))
    name = parser.read_name("a query or a name")
    return Explain(
        stage=stage,
        form=form,
        name=name.text,
        name_place=parser.place_at(name),
        place=parser.since(first),
    )


def _read_form(parser: Grammar) -> str:
    """Take AS TEXT, AS GRAPHVIZ or AS SVG."""
    if not parser.take(TokenType.ALIAS):
        return "text"
    return parser.read_one_of(FORMS, "EXPLAIN MACHINE AS")


def read_explain_routine(parser: Grammar, first: Token) -> Explain | ExplainRoutine:
    """EXPLAIN AGGREGATE f; without a name, AGGREGATE itself is that of a query."""
    if parser.current:
        return ExplainRoutine(**parser.named_parts(first, parser.read_name()))
    name = parser.previous
    return Explain(name=name.text, name_place=parser.place_at(name), place=parser.since(first))


def read_set(parser: Grammar, first: Token) -> Set:
    if parser.current and parser.current.token_type == TokenType.STRING:
        hint = "Names of settings stand without quotes: SET batch_rows = 1000."
        if "." in parser.current.text:
            hint = "Leave it out, and write SHOW SETTINGS to see what can be set here."
        parser.fail(f'setting "{parser.current.text}" does not exist', hint=hint)
    token = parser.read_name("the name of a setting")
    name = token.text.lower()
    while parser.take(TokenType.DOT):
        name += f".{parser.read_name().text.lower()}"
    if not parser.take(TokenType.EQ) and not parser.take_word("TO"):
        parser.expect('"="', hint=f"Write SET {name} = value.")
    start = parser.current
    value = parser.read_value()
    return Set(
        name=name,
        value=value,
        value_place=parser.since(start),
        name_place=parser.place_at(token),
        place=parser.since(first),
    )


def _drop_text(node: Drop, write: Write) -> list[str]:
    exists = "IF EXISTS" if node.if_exists else ""
    return ["DROP", node.kind.upper(), exists, quoted(node.name)]


def _show_text(node: Show, write: Write) -> list[str]:
    like = "" if node.like is None else f"LIKE {string_text(node.like)}"
    return ["SHOW", (node.what or "").upper(), like]


def _describe_text(node: Describe, write: Write) -> list[str]:
    return ["DESCRIBE", quoted(node.name)]


def _describe_function_text(node: DescribeFunction, write: Write) -> list[str]:
    name = node.name if node.name.isidentifier() else string_text(node.name)
    return ["DESCRIBE FUNCTION", name]


def _explain_text(node: Explain, write: Write) -> list[str]:
    what = write(node.query) if node.query is not None else quoted(node.name or "")
    form = "" if node.form == "text" else f"AS {node.form.upper()}"
    return ["EXPLAIN", (node.stage or "").upper(), form, what]


def _explain_routine_text(node: ExplainRoutine, write: Write) -> list[str]:
    return ["EXPLAIN AGGREGATE", quoted(node.name)]


def _set_text(node: Set, write: Write) -> list[str]:
    return ["SET", ".".join(map(quoted, node.name.split("."))), "=", string_text(node.value)]


COMMANDS = Family(
    readers={
        "DROP": read_drop,
        "SHOW": read_show,
        "DESCRIBE FUNCTION": read_describe_function,
        "DESCRIBE": read_describe,
        "EXPLAIN AGGREGATE": read_explain_routine,
        "EXPLAIN FUNCTION": read_explain_routine,
        "EXPLAIN": read_explain,
        "SET": read_set,
    },
    writers={
        Drop: _drop_text,
        Show: _show_text,
        Describe: _describe_text,
        DescribeFunction: _describe_function_text,
        Explain: _explain_text,
        ExplainRoutine: _explain_routine_text,
        Set: _set_text,
    },
    short={"DESC": "DESCRIBE"},
)
