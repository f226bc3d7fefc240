"""Checked trees as the text that an author would write: for laws that begin with text."""

from __future__ import annotations

from functools import singledispatch

from millstream.algebra.expressions import Call, Case, Cast, Literal
from millstream.algebra.types import STRING, type_name
from millstream.blocks.leaves import (
    Among,
    Argument,
    Exists,
    Field,
    Oldest,
    Quantified,
    Result,
    Scalar,
    SqlCode,
)
from millstream.blocks.queries import (
    Called,
    Combined,
    Local,
    Ordered,
    RoutineName,
    Select,
    Source,
    Tabled,
    Values,
)
from millstream.blocks.routine import Block, Delete, Insert, LocalTable, Routine, Update

Calls = tuple[Called, ...]


def script(routine: Routine) -> str:
    """The definitions that a routine calls and does not hold, then its own."""
    inside = {inner.name for inner in routine.inner}
    others = [text_of(other) for name, other in routine.calls.items() if name not in inside]
    return "\n".join([*others, text_of(routine)])


def text_of(routine: Routine) -> str:
    """A definition as text."""
    word = "FUNCTION" if routine.is_function else "AGGREGATE"
    head = f"{'WINDOW ' if routine.is_window else ''}{word} {routine.name}"
    parts = [f"{head}({_columns(routine.arguments)}) : ({_columns(routine.returns)}) {{"]
    if routine.inwindow is not None:
        parts.append(f"TABLE inwindow({_columns(routine.inwindow)});")
    parts += [_table(table) for table in routine.tables]
    parts += [text_of(inner) for inner in routine.inner]
    if routine.is_function:
        parts.append(_block(routine.initialize))
    else:
        for label in ("initialize", "iterate", "terminate", "expire"):
            if (block := getattr(routine, label)) is not None:
                parts.append(f"{label.upper()} : {{ {_block(block)} }}")
    return "\n".join([*parts, "}"])


def _columns(columns) -> str:
    return ", ".join(f"{name} {type_name(kind)}" for name, kind in columns)


def _table(table: LocalTable) -> str:
    begins = "" if table.begins is None else f" AS {query(table.begins)}"
    return f"TABLE {table.name}({_columns(table.columns)}){begins};"


def _block(statements: Block) -> str:
    return " ".join(_statement(s) for s in statements)


def _statement(statement) -> str:
    match statement:
        case Insert(table=table, query=rows):
            return f"INSERT INTO {table} {query(rows)};"
        case Update(table=table, label=label, values=values, where=where):
            sets = ", ".join(f"{name} = {_own(value, label, table)}" for name, value in values)
            return f"UPDATE {table} SET {sets}{_where(where, label, table)};"
        case Delete(table=table, label=label, where=where):
            return f"DELETE FROM {table}{_where(where, label, table)};"
    raise TypeError(statement)


def _own(value, label: int, table: str) -> str:
    """An expression over the row that is changed, which is called as its table is."""
    return text(value, ()).replace(f"s{label}.", f"{table}.")


def _where(where, label: int, table: str) -> str:
    return "" if where is None else f" WHERE {_own(where, label, table)}"


@singledispatch
def query(rows) -> str:
    """A query as text."""
    raise TypeError(rows)


@query.register
def _(rows: Values) -> str:
    listed = ", ".join(f"({', '.join(text(v, ()) for v in row)})" for row in rows.rows)
    return f"VALUES {listed}" + ("" if rows.where is None else f" WHERE {text(rows.where, ())}")


@query.register
def _(rows: Select) -> str:
    calls = rows.calls
    outputs = ", ".join(f"{text(value, calls)} AS {name}" for name, value in rows.outputs)
    parts = [f"SELECT {'DISTINCT ' if rows.distinct else ''}{outputs}"]
    if rows.sources:
        parts.append("FROM " + " ".join(_source(s, at) for at, s in enumerate(rows.sources)))
    if rows.where is not None:
        parts.append(f"WHERE {text(rows.where, ())}")
    if rows.keys:
        parts.append("GROUP BY " + ", ".join(text(key, ()) for key in rows.keys))
    if rows.having is not None:
        parts.append(f"HAVING {text(rows.having, calls)}")
    if rows.order:
        parts.append("ORDER BY " + ", ".join(_ordered(o) for o in rows.order))
    return " ".join(parts) + _cut(rows)


@query.register
def _(rows: Combined) -> str:
    word = rows.operator.upper() + (" ALL" if rows.all else "")
    order = ", ".join(
        f"{place + 1}{_direction(descending, first)}" for place, descending, first in rows.order
    )
    left, right = (f"SELECT * FROM ({_derived(side)}) AS u" for side in (rows.left, rows.right))
    return f"{left} {word} {right}" + (f" ORDER BY {order}" if order else "") + _cut(rows)


def _derived(rows) -> str:
    """A query in FROM, where VALUES cannot stand."""
    if not isinstance(rows, Values):
        return query(rows)
    names = [name for name, _ in rows.columns]
    where = "" if rows.where is None else f" WHERE {text(rows.where, ())}"
    listed = (
        ", ".join(f"{text(value, ())} AS {name}" for name, value in zip(names, row))
        for row in rows.rows
    )
    return " UNION ALL ".join(f"SELECT {row}{where}" for row in listed)


def _cut(rows) -> str:
    limit = "" if rows.limit is None else f" LIMIT {text(rows.limit, ())}"
    return limit + ("" if rows.offset is None else f" OFFSET {text(rows.offset, ())}")


def _source(source: Source, at: int) -> str:
    match source.of:
        case Local(name=name):
            of = name
        case Tabled(routine=routine, arguments=arguments):
            of = f"TABLE({routine.name}({', '.join(text(a, ()) for a in arguments)}))"
        case rows:
            of = f"({_derived(rows)})"
    names = ", ".join(name for name, _ in source.columns)
    named = f"{of} AS s{source.label}" + ("" if isinstance(source.of, Local) else f"({names})")
    if source.join == "cross":
        return named if at == 0 else f", {named}"
    return f"{source.join.upper()} JOIN {named} ON {text(source.on, ())}"


def _ordered(part: Ordered) -> str:
    return text(part.value, ()) + _direction(part.descending, part.nulls_first)


def _direction(descending: bool, nulls_first: bool) -> str:
    return f"{' DESC' if descending else ''} NULLS {'FIRST' if nulls_first else 'LAST'}"


def _called(call: Called) -> str:
    function = call.function
    name = function.name if isinstance(function, RoutineName) else function.called
    inside = ", ".join(text(a, ()) for a in call.arguments) or "*"
    inside += "" if call.parameter is None else f", '{call.parameter}'"
    once = "DISTINCT " if call.distinct else ""
    order = ", ".join(_ordered(o) for o in call.feeding)
    where = "" if call.where is None else f" FILTER (WHERE {text(call.where, ())})"
    return f"{name}({once}{inside}{' ORDER BY ' + order if order else ''}){where}"


def text(value, calls: Calls) -> str:
    """An expression as text; `calls` are those of the select around."""

    def part(inner) -> str:
        return text(inner, calls)

    match value:
        case Literal(value=None, type=kind):
            return f"CAST(NULL AS {type_name(kind)})"
        case Literal(type=kind):
            return str(value) if kind == STRING else f"({value.value!r})"
        case Argument(name=name):
            return name
        case Field(label=label, name=name):
            return f"s{label}.{name}"
        case Result(call=call):
            return _called(calls[call])
        case Oldest(name=name):
            return f"oldest().{name}"
        case SqlCode():
            return "sqlcode"
        case Scalar(query=rows):
            return f"({query(rows)})"
        case Exists(query=rows):
            return f"EXISTS ({query(rows)})"
        case Among(value=inner, query=rows):
            return f"({part(inner)} IN ({query(rows)}))"
        case Quantified(operator=operator, every=every, value=inner, query=rows):
            return f"({part(inner)} {operator} {'ALL' if every else 'ANY'} ({query(rows)}))"
        case Cast(argument=inner, type=kind):
            return f"CAST({part(inner)} AS {type_name(kind)})"
        case Case(branches=branches, default=default):
            whens = " ".join(f"WHEN {part(c)} THEN {part(v)}" for c, v in branches)
            return f"CASE {whens} ELSE {part(default)} END"
        case Call(function="is_null", arguments=(inner,)):
            return f"({part(inner)} IS NULL)"
        case Call(function="not", arguments=(inner,)):
            return f"(NOT {part(inner)})"
        case Call(function=name, arguments=(left, right)) if not name.isalpha() or name in (
            "and",
            "or",
            "div",
        ):
            return f"({part(left)} {name} {part(right)})"
        case Call(function=name, arguments=arguments):
            return f"{name}({', '.join(part(a) for a in arguments)})"
    raise TypeError(value)
