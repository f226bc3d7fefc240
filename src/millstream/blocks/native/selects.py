"""Queries as loops: what is done with each row is written where the innermost loop stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from millstream.algebra.expressions import Expression, Literal, conjuncts
from millstream.blocks.leaves import Exists, Field, Scalar
from millstream.blocks.native.expressions import value_of
from millstream.blocks.native.functions import LARGEST
from millstream.blocks.native.indexes import all_rows, fixes_key, rows_of_key
from millstream.blocks.native.kinds import NotNative, Value, holds, zero
from millstream.blocks.native.ordered import keep, put_in_order, write_kept
from millstream.blocks.native.place import Many, Place, Single, Sink
from millstream.blocks.native.totals import Total, total_of
from millstream.blocks.native.writer import Writer
from millstream.blocks.queries import (
    Called,
    Columns,
    Combined,
    Local,
    Query,
    RoutineName,
    Select,
    Source,
    Stored,
    Tabled,
    Values,
)
from millstream.blocks.walking import parts_of


def write_query(place: Place, query: Query, sink: Sink, stop: str | None = None) -> None:
    """Write the loops of a query, with the sink in them. `stop` is a name of what ends them."""
    match query:
        case Values():
            with where(place, conjuncts(query.where) if query.where else []) as inside:
                for row in query.rows:
                    sink(inside, [value_of(inside, e) for e in row])
        case Combined(operator="union", all=True, order=(), limit=None, offset=None):
            write_query(place, query.left, sink, stop)
            with place.w.when(f"not {stop}" if stop else "True"):
                write_query(place, query.right, sink, stop)
        case Select():
            write_select(place, query, sink, stop)
        case _:
            raise NotNative(f"{query.operator} has no native form")


def write_select(place: Place, query: Select, sink: Sink, stop: str | None) -> None:
    if query.distinct or query.keys:
        raise NotNative("DISTINCT and GROUP BY have no native form")
    if query.keys is not None:
        if query.order or query.limit is not None or query.offset is not None:
            raise NotNative("ORDER BY and LIMIT over one group have no native form")
        write_group(place, query, sink, stop)
    elif _is_first_only(query):
        write_first(place, query, sink)
    elif query.order:
        write_ordered(place, query, sink, stop)
    else:
        limited, stop = _limited(place, query, sink, stop)
        write_rows(
            place,
            query,
            lambda at, _: limited(at, [value_of(at, e) for _, e in query.outputs]),
            stop,
        )


def _limited(place: Place, query: Select, sink: Sink, stop: str | None) -> tuple[Sink, str | None]:
    """The sink, for so many rows only, behind those that OFFSET passes over. A NULL is none."""
    if query.limit is None and query.offset is None:
        return sink, stop
    w = place.w
    skipped = _number(place, query.offset, "0")
    left = _number(place, query.limit, str(LARGEST))
    over = w.name()
    w.line(f"{over} = {left} <= 0")

    def some(inside: Place, row: Sequence[Value]) -> None:
        with w.block(f"if {skipped} > 0"):
            w.line(f"{skipped} -= 1")
        with w.block(f"elif {left} > 0"):
            w.line(f"{left} -= 1")
            sink(inside, row)
        w.line(f"{over} = {left} <= 0" + (f" or {stop}" if stop else ""))

    return some, over


def _number(place: Place, expression: Expression | None, otherwise: str) -> str:
    """A name that counts down from the number of LIMIT or OFFSET."""
    w, name = place.w, place.w.name()
    if expression is None:
        w.line(f"{name} = {otherwise}")
        return name
    value = w.fixed(value_of(place, expression))
    code = value.code if value.valid is None else f"{value.code} if {value.valid} else {otherwise}"
    w.line(f"{name} = {code}")
    return name


def write_rows(place: Place, query: Select, sink: Sink, stop: str | None) -> None:
    """The loops over the sources of a query, under its conditions, each as early as it can be."""
    conditions = conjuncts(query.where) if query.where is not None else []
    labels = [source.label for source in query.sources]
    levels: list[list[Expression]] = [[] for _ in range(len(labels) + 1)]
    for condition in conditions:
        used = {p.label for p in parts_of(condition) if isinstance(p, Field)}
        levels[max((i + 1 for i, label in enumerate(labels) if label in used), default=0)].append(
            condition
        )
    with where(place, levels[0]) as inside:
        inside = inside.knowing(answered(inside, query, set(labels))) if query.sources else inside
        _write_sources(inside, query.sources, levels[1:], sink, stop)


def _write_sources(
    place: Place,
    sources: Sequence[Source],
    levels: Sequence[Sequence[Expression]],
    sink: Sink,
    stop: str | None,
) -> None:
    if not sources:
        sink(place, [])
        return
    source, *rest = sources
    if source.join != "cross":
        raise NotNative("an outer join has no native form")

    def go_on(inside: Place, done: Expression | None) -> None:
        with where(inside, [c for c in levels[0] if c is not done]) as met:
            _write_sources(met, rest, levels[1:], sink, stop)

    write_source(place, source, levels[0], go_on, stop)


GoOn = Callable[[Place, Expression | None], None]
"""What is written inside of the loop over a source; one condition may be met already."""


def write_source(
    place: Place, source: Source, conditions: Sequence[Expression], go_on: GoOn, stop: str | None
) -> None:
    """The rows of one entry of FROM."""
    match source.of:
        case Local(name=name, depth=depth):
            scan(place, place.table(name, depth), source, conditions, go_on, stop)
        case Stored() as table:
            scan(place, place.stored(table), source, conditions, go_on, stop)
        case Tabled() as called:
            from millstream.blocks.native.calls import write_function

            write_function(
                place,
                called,
                lambda at, row: go_on(at.with_row(source.label, source.columns, row), None),
            )
        case query:

            def take(inside: Place, row: Sequence[Value]) -> None:
                held = [inside.w.fixed(value) for value in row]
                go_on(inside.with_row(source.label, source.columns, held), None)

            write_query(place, query, take, stop)


def scan(
    place: Place,
    table: Single | Many,
    source: Source,
    conditions: Sequence[Expression],
    go_on: GoOn,
    stop: str | None,
) -> None:
    """The rows of a table, in the order of insertion; by its index where a condition fixes it."""
    w, columns = place.w, named_columns(source, table)
    if isinstance(table, Single):
        with w.block(f"if {table.name}"):
            go_on(place.with_row(source.label, columns, table.row()), None)
        return
    found = fixes_key(table, columns, source.label, conditions)
    if found is None:
        with all_rows(w, table, place.ends.get(table.name)) as at:
            go_on(place.with_row(source.label, columns, table.row(at)), None)
            _stop(w, stop)
        return
    condition, other = found
    with rows_of_key(w, table, value_of(place, other), place.ends.get(table.name)) as (at, _):
        go_on(place.with_row(source.label, columns, table.row(at)), condition)
        _stop(w, stop)


def _stop(w: Writer, stop: str | None) -> None:
    if stop is not None:
        with w.block(f"if {stop}"):
            w.line("break")


def named_columns(source: Source, table: Single | Many) -> Columns:
    """The columns of a table as the source names them; hidden ones are left out."""
    if len(source.columns) <= len(table.columns):
        names = [name for name, _ in table.columns]
        if all(name in names for name, _ in source.columns):
            return table.columns
    return source.columns


@contextmanager
def where(place: Place, conditions: Sequence[Expression]) -> Iterator[Place]:
    """What is written here stands under conditions; those that take loops are looked at last."""
    with ExitStack() as stack:
        ready = [c for c in conditions if not _has_query(c)]
        later = [c for c in conditions if _has_query(c)]
        codes = [holds(value_of(place, condition)) for condition in ready]
        codes = [code for code in codes if code != "True"]
        if codes:
            stack.enter_context(place.w.block(f"if {' and '.join(codes)}"))
        for condition in later:
            stack.enter_context(place.w.when(holds(value_of(place, condition))))
        yield place


def _has_query(expression: Expression) -> bool:
    return any(isinstance(part, Query) for part in parts_of(expression))


def answered(place: Place, tree: object, labels: set[int]) -> Mapping[Expression, Value]:
    """Subqueries that do not look at the rows of the statement: they are answered once, before."""
    found: dict[Expression, Value] = {}
    for part in parts_of(tree):
        if isinstance(part, (Scalar, Exists)) and part not in place.known and part not in found:
            own = {p.label for p in parts_of(part) if isinstance(p, Source)}
            used = {p.label for p in parts_of(part) if isinstance(p, Field)}
            at_hand = {label for label, _ in place.fields}
            if used <= own | (at_hand - labels):
                found[part] = place.w.fixed(value_of(place, part))
    return found


def write_group(place: Place, query: Select, sink: Sink, stop: str | None) -> None:
    """One group of all rows, also of none."""
    own = [call for call in query.calls if isinstance(call.function, RoutineName)]
    if own:
        from millstream.blocks.native.calls import write_own_calls

        write_own_calls(place, query, sink)
        return
    totals = [total_of(place, call) for call in query.calls]

    def take(inside: Place, _: Sequence[Value]) -> None:
        for call, total in zip(query.calls, totals):
            feed(inside, call, total)

    write_rows(place, query, take, None)
    results = {
        (i, call.columns[0][0]): total.finish(place)
        for i, (call, total) in enumerate(zip(query.calls, totals))
    }
    finish_group(place, query, results, sink)


def feed(inside: Place, call: Called, total: Total) -> None:
    """Give a row to an aggregate."""
    with where(inside, [call.where] if call.where is not None else []):
        total.add(inside, [value_of(inside, argument) for argument in call.arguments])


def finish_group(
    place: Place, query: Select, results: Mapping[tuple[int, str], Value], sink: Sink
) -> None:
    after = replace(place, results={**place.results, **results})
    having = conjuncts(query.having) if query.having is not None else []
    with where(after, having) as inside:
        sink(inside, [value_of(inside, e) for _, e in query.outputs])


def _is_first_only(query: Select) -> bool:
    """Whether one row is wanted, the first by ORDER BY."""
    limit = query.limit
    one = isinstance(limit, Literal) and limit.value == 1
    return bool(query.order) and one and query.offset is None


def write_ordered(place: Place, query: Select, sink: Sink, stop: str | None) -> None:
    """ORDER BY: rows are kept until all are there."""
    outputs = [e for _, e in query.outputs]
    expressions = [*(part.value for part in query.order), *outputs]
    kept = keep(
        place,
        expressions,
        lambda take: write_rows(place, query, lambda inside, _: take(inside), None),
    )
    put_in_order(place, kept, query.order)
    limited, over = _limited(place, query, sink, stop)
    write_kept(place, kept, len(query.order), limited, over)


def write_first(place: Place, query: Select, sink: Sink) -> None:
    """ORDER BY … LIMIT 1: the first row of those that come first."""
    from millstream.blocks.native.ordering import comes_before

    w = place.w
    found = w.name()
    w.line(f"{found} = False")
    mark, depth = len(w.lines), w.depth
    kinds = [part.value.type for part in query.order] + [e.type for _, e in query.outputs]
    names = [(w.name(), w.name()) for _ in kinds]

    def look(inside: Place, _: Sequence[Value]) -> None:
        keys = [w.fixed(value_of(inside, part.value)) for part in query.order]
        best = [Value(name, known) for name, known in names[: len(keys)]]
        before = comes_before(inside, query.order, keys, best)
        with w.block(f"if not {found} or {before}"):
            w.line(f"{found} = True")
            row = [value_of(inside, e) for _, e in query.outputs]
            for (name, known), value in zip(names, [*keys, *row]):
                w.line(f"{name} = {value.code}")
                w.line(f"{known} = {value.valid or 'True'}")

    write_rows(place, query, look, None)
    for (name, known), kind in zip(names, kinds):
        w.insert(mark, depth, f"{name} = {zero(kind)}")
        w.insert(mark, depth, f"{known} = False")
    with w.block(f"if {found}"):
        sink(place, [Value(name, known) for name, known in names[len(query.order) :]])


def first_value(place: Place, query: Query) -> Value:
    """The first row of a query of one column; NULL where there is none."""
    w = place.w
    mark, depth = len(w.lines), w.depth
    kind = query.columns[0][1]
    found, value, valid = w.name(), w.name(), w.name()
    rows: list[tuple[int, Value]] = []

    def take(inside: Place, row: Sequence[Value]) -> None:
        rows.append((w.depth, row[0]))
        if w.depth == depth:
            return
        with w.block(f"if not {found}"):
            w.line(f"{found} = True")
            w.line(f"{value} = {row[0].code}")
            w.line(f"{valid} = {row[0].valid or 'True'}")

    write_query(place, query, take, found)
    if len(rows) == 1 and rows[0][0] == depth:
        return rows[0][1]
    if any(at == depth for at, _ in rows):
        raise NotNative("a scalar subquery of several sure rows has no native form")
    w.insert(mark, depth, f"{value} = {zero(kind)}")
    w.insert(mark, depth, f"{found} = {valid} = False")
    return Value(value, valid)


def whether_any(place: Place, query: Query) -> Value:
    w = place.w
    found = w.name()
    w.line(f"{found} = False")

    def look(inside: Place, row: Sequence[Value]) -> None:
        w.line(f"{found} = True")

    write_query(place, query, look, found)
    return Value(found)
