"""A spec as Millstream text."""

from datetime import datetime, timedelta

from .forms import domain_of
from .spec import (
    EPOCH,
    After,
    Aggregate,
    AnyQuery,
    Between,
    Bin,
    Both,
    Case,
    Coalesce,
    Col,
    Delete,
    Derived,
    Events,
    Exists,
    Expr,
    Func,
    InList,
    InQuery,
    Insert,
    IsNull,
    Item,
    Join,
    Like,
    Lit,
    Not,
    Now,
    Order,
    Quantified,
    Query,
    Scalar,
    Script,
    SetOperation,
    Source,
    StreamSpec,
    Sync,
    TableSpec,
    Ticks,
    Update,
    Window,
)
from .syncs import sync_domain

UNITS = ((3_600_000_000, "Hour"), (60_000_000, "Minute"), (1_000_000, "Second"))
JOINS = {
    "inner": " JOIN",
    "left": " LEFT JOIN",
    "right": " RIGHT JOIN",
    "full": " FULL JOIN",
    "cross": " CROSS JOIN",
    "comma": ",",
}
Meaning = dict[str, str]


def script_sql(script: Script) -> str:
    """All statements, one per line; the sources are files beside the script."""
    statements = [stream_sql(stream) for stream in script.streams]
    statements += [table_sql(table) for table in script.tables]
    statements += [sync_sql(sync, script) for sync in script.syncs]
    tables = sorted(script.tables, key=lambda table: table.name in script.last)
    derived = sorted(script.derived, key=lambda d: d.name in script.last)
    queries = [query_sql(query, domain_of(script, query)) for query in script.queries]
    for is_last in (False, True):
        for table in tables:
            if (table.name in script.last) == is_last:
                statements += [statement_sql(table, step) for step in table.statements]
        statements += [
            derived_sql(script, d) for d in derived if (d.name in script.last) == is_last
        ]
        statements += queries if not is_last else []
    return "".join(f"{statement};\n" for statement in statements)


def sync_sql(sync: Sync, script: Script) -> str:
    """The view of a stream of time points."""
    match sync.of:
        case Ticks(every, at, first, clock):
            name = f"{clock}.clockStr" if clock else "clockStr"
            later = (
                "" if first is None else f" AND {tick_sql(first, sync_domain(script, sync.name))}"
            )
            text = f"SELECT Timepoint FROM {name} WHERE Timepoint % {every} = {at}{later}"
        case Events(stream, column, op, value):
            text = f"SELECT ts FROM {stream} WHERE {column} {op} {literal_sql(value)}"
        case After(stream, delay):
            text = (
                f"SELECT Timepoint FROM {stream}.clockStr c, R({stream}) s "
                f"WHERE c.Timepoint = s.ts + {delay}"
            )
        case Both(op, left, right):
            text = f"SELECT * FROM {left} {op.upper()} SELECT * FROM {right}"
    return f"CREATE VIEW {sync.name} AS {text}"


def tick_sql(tick: int, domain: str) -> str:
    """A condition that the clock has come to a tick."""
    if domain != "timestamp":
        return f"Timepoint >= {tick}"
    return f"Timepoint >= {literal_sql(EPOCH + timedelta(seconds=tick))}"


def stream_sql(stream: StreamSpec) -> str:
    order = f" ORDER BY {stream.order_by}" if stream.order_by else ""
    order += " SECONDS" if stream.in_seconds else ""
    slack = f" SLACK {duration_sql(stream.slack, stream.domain)}" if stream.slack else ""
    head = f"CREATE STREAM {stream.name} ({columns_sql(stream)})"
    return f"{head}{order}{slack} SOURCE '{stream.name}.csv'"


def table_sql(table: TableSpec) -> str:
    key = f" KEY ({', '.join(table.key)})" if table.key else ""
    reach = "" if table.retroactive else " NON RETROACTIVE"
    source = "" if table.feed == "statements" else f" SOURCE '{table.name}.csv'"
    return f"CREATE TABLE {table.name} ({columns_sql(table)}){key}{reach}{source}"


def columns_sql(relation: StreamSpec | TableSpec) -> str:
    return ", ".join(f"{name} {type_}" for name, type_ in relation.columns)


def statement_sql(table: TableSpec, step: Insert | Update | Delete) -> str:
    at = f" AT {step.at if isinstance(step.at, int) else literal_sql(step.at)}"
    if isinstance(step, Insert):
        rows = ", ".join(f"({', '.join(map(literal_sql, row))})" for row in step.rows)
        return f"INSERT INTO {table.name} VALUES {rows}{at}"
    where = "" if step.where is None else f" WHERE {expression_sql(step.where, {}, '')}"
    if isinstance(step, Delete):
        return f"DELETE FROM {table.name}{where}{at}"
    changes = [f"{name} = {expression_sql(e, {}, '')}" for name, e in step.assignments]
    return f"UPDATE {table.name} SET {', '.join(changes)}{where}{at}"


def derived_sql(script: Script, d: Derived) -> str:
    text = query_sql(d.query, domain_of(script, d.query))
    return f"CREATE {d.kind.upper()} {d.name} AS {text}"


def query_sql(query: AnyQuery, domain: str) -> str:
    """One query, with its operator."""
    if isinstance(query, SetOperation):
        text = set_sql(query, domain)
        return text if query.output is None else f"{query.output.capitalize()}({text})"
    return select_sql(query, domain)


def set_sql(query: SetOperation, domain: str) -> str:
    """Both sides with the operation between; a side that is not a plain SELECT in parentheses."""
    sides = []
    for side in (query.left, query.right):
        text = query_sql(side, domain)
        plain = isinstance(side, Query) and side.limit is None
        sides.append(text if plain else f"({text})")
    word = query.op.upper() + (" ALL" if query.all else "")
    return f"{sides[0]} {word} {sides[1]}{limit_sql(query)}"


def limit_sql(query: AnyQuery) -> str:
    if query.limit is None:
        return ""
    order = ", ".join(map(order_sql, query.order_by))
    offset = f" OFFSET {query.offset}" if query.offset else ""
    return f" ORDER BY {order} LIMIT {query.limit}{offset}"


def order_sql(order: Order) -> str:
    nulls = f" NULLS {order.nulls.upper()}" if order.nulls else ""
    return f"{order.name}{' DESC' if order.descending else ''}{nulls}"


def select_sql(query: Query, domain: str) -> str:
    """One SELECT; over groups, the names of expressions and aggregates become their text."""
    meaning = {item.name: expression_sql(item.expression, {}, domain) for item in query.group_by}
    meaning |= {aggregate.name: aggregate_sql(aggregate) for aggregate in query.aggregates}
    items = ", ".join(item_sql(item, meaning, domain) for item in query.select) or "*"
    body = f" FROM {source_sql(query.sources[0], query, domain)}" if query.sources else ""
    body += "".join(join_sql(join, query, domain) for join in query.joins)
    if query.where is not None:
        body += f" WHERE {expression_sql(query.where, {}, domain)}"
    if query.group_by:
        body += " GROUP BY " + ", ".join(meaning[item.name] for item in query.group_by)
    if query.having is not None:
        body += f" HAVING {expression_sql(query.having, meaning, domain)}"
    body += limit_sql(query)
    distinct = "DISTINCT " if query.distinct else ""
    match query.output:
        case "streamed" | "complete":
            return f"SELECT {query.output.upper()} {distinct}{items}{body}"
        case "istream" | "dstream" | "rstream" if "around" in query.style or query.limit:
            return f"{query.output.capitalize()}(SELECT {distinct}{items}{body})"
        case "istream" | "dstream" | "rstream":
            return f"SELECT {query.output.capitalize()}({distinct}{items}){body}"
        case _:
            return f"SELECT {distinct}{items}{body}"


def join_sql(join: Join, query: Query, domain: str) -> str:
    text = f"{JOINS[join.kind]} {source_sql(join.entry, query, domain)}"
    if join.using:
        return f"{text} USING ({', '.join(join.using)})"
    if join.condition is None:
        return text
    return f"{text} ON {expression_sql(join.condition, {}, domain)}"


def source_sql(source: Source, query: Query, domain: str) -> str:
    text = source.of if isinstance(source.of, str) else f"({query_sql(source.of, domain)})"
    text = text if source.sync is None else f"R({text}, {source.sync})"
    window = f" {window_sql(source.window, domain)}" if source.window else ""
    alias = f" AS {source.alias}" if source.alias else ""
    tail = f"{alias}{window}" if "alias_first" in query.style else f"{window}{alias}"
    return f"{text}{tail}"


def slide_sql(window: Window, domain: str) -> str:
    """The slide of a window by time."""
    return f" Slide {duration_sql(window.slide, domain)}" if window.slide else ""


def window_sql(window: Window, domain: str) -> str:
    match window.kind:
        case "now":
            return "[Now]"
        case "unbounded":
            return f"[Range Unbounded{slide_sql(window, domain)}]"
        case "range":
            slide = slide_sql(window, domain)
            return f"[Range {duration_sql(window.range, domain)}{slide}]"
        case "tumble" | "hop":
            every = f" Every {duration_sql(window.slide, domain)}" if window.slide else ""
            offset = f" Offset {duration_sql(window.offset, domain)}" if window.offset else ""
            length = duration_sql(window.range, domain)
            return f"[{window.kind.capitalize()} {length}{every}{offset}]"
    by = f"Partition By {', '.join(window.partition_by)} " if window.partition_by else ""
    if window.kind == "session":
        return f"[{by}Session {duration_sql(window.range, domain)}]"
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


def item_sql(item: Item, meaning: Meaning, domain: str) -> str:
    text = expression_sql(item.expression, meaning, domain)
    return text if text == item.name else f"{text} AS {item.name}"


def aggregate_sql(aggregate: Aggregate) -> str:
    if aggregate.argument is None:
        return "count(*)"
    argument = expression_sql(aggregate.argument, {}, "")
    if aggregate.function == "count_distinct":
        return f"count(DISTINCT {argument})"
    if aggregate.function == "quantile":
        return f"quantile({argument}, 0.25)"
    if aggregate.function == "string_agg":
        return f"string_agg({argument}, ',')"
    return f"{aggregate.function}({argument})"


def expression_sql(e: Expr, meaning: Meaning, domain: str) -> str:
    """An expression with every operation in parentheses; `meaning` replaces names."""

    def text(inner: Expr) -> str:
        return expression_sql(inner, meaning, domain)

    match e:
        case Col(name, None):
            return meaning.get(name, name)
        case Col(name, qualifier):
            return f"{qualifier}.{name}"
        case Lit(value):
            return literal_sql(value)
        case Now():
            return "Now"
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
        case Exists(query, negated):
            return f"({'NOT ' if negated else ''}EXISTS ({query_sql(query, domain)}))"
        case InQuery(operand, query, negated):
            word = "NOT IN" if negated else "IN"
            return f"({text(operand)} {word} ({query_sql(query, domain)}))"
        case Quantified(operand, op, quantifier, query):
            return f"({text(operand)} {op} {quantifier} ({query_sql(query, domain)}))"
        case Scalar(query):
            return f"({query_sql(query, domain)})"
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
        case timedelta():
            return f"INTERVAL '{value.total_seconds()}' SECOND"
        case float():
            text = repr(value) if "e" in repr(value) else f"{value!r}e0"
            return f"({text})" if value < 0 else text
    return f"({value})" if value < 0 else str(value)
