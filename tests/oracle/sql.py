"""A spec as Millstream text."""

from datetime import datetime

from .infer import domain_of
from .spec import (
    Aggregate,
    Between,
    Bin,
    Case,
    Coalesce,
    Col,
    Expr,
    Func,
    InList,
    IsNull,
    Item,
    Like,
    Lit,
    Not,
    Query,
    Script,
    StreamSpec,
    TableSpec,
    Window,
)

UNITS = ((3_600_000_000, "Hour"), (60_000_000, "Minute"), (1_000_000, "Second"))


def script_sql(script: Script) -> str:
    """All statements, one per line; the sources are files beside the script."""
    domain = domain_of(script)
    statements = [stream_sql(stream) for stream in script.streams]
    statements += [table_sql(table) for table in script.tables]
    for d in script.derived:
        text = query_sql(d.query, domain[d.query.stream])
        statements.append(f"CREATE {d.kind.upper()} {d.name} AS {text}")
    statements += [query_sql(query, domain[query.stream]) for query in script.queries]
    return "".join(f"{statement};\n" for statement in statements)


def stream_sql(stream: StreamSpec) -> str:
    order = f" ORDER BY {stream.order_by}" if stream.order_by else ""
    slack = f" SLACK {duration_sql(stream.slack, stream.domain)}" if stream.slack else ""
    head = f"CREATE STREAM {stream.name} ({columns_sql(stream)})"
    return f"{head}{order}{slack} SOURCE '{stream.name}.csv'"


def table_sql(table: TableSpec) -> str:
    return f"CREATE TABLE {table.name} ({columns_sql(table)}) SOURCE '{table.name}.csv'"


def columns_sql(relation: StreamSpec | TableSpec) -> str:
    return ", ".join(f"{name} {type_}" for name, type_ in relation.columns)


def query_sql(query: Query, domain: str) -> str:
    """One query; over groups, the names of expressions and aggregates become their text."""
    meaning = {item.name: expression_sql(item.expression, {}) for item in query.group_by}
    meaning |= {aggregate.name: aggregate_sql(aggregate) for aggregate in query.aggregates}
    items = ", ".join(item_sql(item, meaning) for item in query.select) or "*"
    body = f" FROM {source_sql(query, domain)}"
    for join in query.joins:
        kind = {"inner": "JOIN", "left": "LEFT JOIN", "cross": "CROSS JOIN"}[join.kind]
        on = f" ON {expression_sql(join.condition, {})}" if join.condition is not None else ""
        body += f" {kind} {join.table}{on}"
    if query.where is not None:
        body += f" WHERE {expression_sql(query.where, {})}"
    if query.group_by:
        body += " GROUP BY " + ", ".join(meaning[item.name] for item in query.group_by)
    if query.having is not None:
        body += f" HAVING {expression_sql(query.having, meaning)}"
    match query.output:
        case "streamed" | "complete":
            return f"SELECT {query.output.upper()} {items}{body}"
        case "istream" | "dstream" | "rstream" if "around" in query.style:
            return f"{query.output.capitalize()}(SELECT {items}{body})"
        case "istream" | "dstream" | "rstream":
            return f"SELECT {query.output.capitalize()}({items}){body}"
        case _:
            return f"SELECT {items}{body}"


def source_sql(query: Query, domain: str) -> str:
    window = f" {window_sql(query.window, domain)}" if query.window else ""
    alias = f" AS {query.alias}" if query.alias else ""
    tail = f"{alias}{window}" if "alias_first" in query.style else f"{window}{alias}"
    return f"{query.stream}{tail}"


def window_sql(window: Window, domain: str) -> str:
    match window.kind:
        case "now":
            return "[Now]"
        case "unbounded":
            return "[Range Unbounded]"
        case "range":
            slide = f" Slide {duration_sql(window.slide, domain)}" if window.slide else ""
            return f"[Range {duration_sql(window.range, domain)}{slide}]"
    by = f"Partition By {', '.join(window.partition_by)} " if window.partition_by else ""
    rows = "Unbounded" if window.rows is None else window.rows
    range_ = f" Range {duration_sql(window.range, domain)}" if window.range is not None else ""
    slide = f" Slide {window.slide}" if window.slide else ""
    return f"[{by}Rows {rows}{range_}{slide}]"


def duration_sql(length: int, domain: str) -> str:
    if domain != "timestamp":
        return str(length)
    for size, unit in UNITS:
        if length and length % size == 0:
            return f"{length // size} {unit}{'' if length == size else 's'}"
    return f"{length // 1000} Milliseconds"


def item_sql(item: Item, meaning: dict[str, str]) -> str:
    text = expression_sql(item.expression, meaning)
    return text if text == item.name else f"{text} AS {item.name}"


def aggregate_sql(aggregate: Aggregate) -> str:
    if aggregate.argument is None:
        return "count(*)"
    argument = expression_sql(aggregate.argument, {})
    if aggregate.function == "count_distinct":
        return f"count(DISTINCT {argument})"
    return f"{aggregate.function}({argument})"


def expression_sql(e: Expr, meaning: dict[str, str]) -> str:
    """An expression with every operation in parentheses; `meaning` replaces names."""

    def text(inner: Expr) -> str:
        return expression_sql(inner, meaning)

    match e:
        case Col(name, None):
            return meaning.get(name, name)
        case Col(name, qualifier):
            return f"{qualifier}.{name}"
        case Lit(value):
            return literal_sql(value)
        case Bin(op, left, right):
            return f"({text(left)} {op} {text(right)})"
        case Not(operand):
            return f"(NOT {text(operand)})"
        case IsNull(operand, negated):
            return f"({text(operand)} IS {'NOT ' if negated else ''}NULL)"
        case Between(operand, low, high):
            return f"({text(operand)} BETWEEN {text(low)} AND {text(high)})"
        case InList(operand, items):
            return f"({text(operand)} IN ({', '.join(map(text, items))}))"
        case Like(operand, pattern):
            return f"({text(operand)} LIKE {literal_sql(pattern)})"
        case Case(whens, otherwise):
            arms = "".join(f" WHEN {text(c)} THEN {text(v)}" for c, v in whens)
            last = f" ELSE {text(otherwise)}" if otherwise is not None else ""
            return f"CASE{arms}{last} END"
        case Coalesce(operands):
            return f"coalesce({', '.join(map(text, operands))})"
        case Func(name, operand):
            return f"{name}({text(operand)})"
    raise TypeError(e)


def literal_sql(value: object) -> str:
    """A literal of exactly one type: a double is written with an exponent."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime():
            return f"TIMESTAMP '{value}'"
        case float():
            text = repr(value) if "e" in repr(value) else f"{value!r}e0"
            return f"({text})" if value < 0 else text
    return f"({value})" if value < 0 else str(value)
