"""One SELECT inside a block: its list, its groups, its order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from millstream.algebra.expressions import Expression, Literal, conjunction
from millstream.algebra.types import INTEGER, NULL, STRING
from millstream.bind.blocks.calls import Collector, bind_ordered
from millstream.bind.blocks.scalars import Scalars
from millstream.bind.blocks.sources import From
from millstream.bind.expressions.constants import coerce
from millstream.blocks.leaves import Field, Result
from millstream.blocks.queries import Ordered, Select
from millstream.blocks.walking import parts_of
from millstream.errors import MillstreamError
from millstream.lang import name_place_of, place_of, to_sql


@dataclass(frozen=True)
class Item:
    """One column of the result, and what it was written as."""

    name: str
    value: Expression
    node: exp.Expr


def bind_select(node: exp.Select, entries: From) -> Select:
    """A SELECT over the entries of FROM."""
    rows = entries.scalars()
    conditions = list(entries.conditions)
    if (where := node.args.get("where")) is not None:
        conditions.append(rows.condition(where.this, "WHERE"))
    collector = Collector(replace(rows, clause="the select list"))
    groups = replace(
        rows, clause="the select list", aggregate=collector.builtin, collector=collector
    )
    items = _items(node, groups)
    keys = _keys(node.args.get("group"), items, replace(rows, clause="GROUP BY"))
    named = {i.node.alias.lower(): i.value for i in items if isinstance(i.node, exp.Alias)}
    having = None
    if (clause := node.args.get("having")) is not None:
        having = replace(groups, clause="HAVING", aliases=named).condition(clause.this, "HAVING")
    order, feeding = _order(node, items, keys, replace(groups, aliases=named))
    calls = collector.fed_in(feeding)
    grouped = keys is not None or bool(calls) or having is not None
    made = Select(
        tuple(entries.sources),
        tuple((item.name, item.value) for item in items),
        conjunction(conditions) if conditions else None,
        (keys or ()) if grouped else None,
        calls,
        having,
        bool(node.args.get("distinct")),
        order,
        *_counts(node, rows),
    )
    if grouped:
        _check_groups(made, items, node, rows)
    _check_distinct(made, node, rows)
    return made


def _items(node: exp.Select, groups: Scalars) -> list[Item]:
    items = [item for part in node.expressions for item in _item(part, groups)]
    found, taken = [], set[str]()
    for item in items:
        name, number = item.name, 1
        while name.lower() in taken:
            number += 1
            name = f"{item.name}_{number}"
        taken.add(name.lower())
        found.append(replace(item, name=name))
    return found


def _item(node: exp.Expr, groups: Scalars) -> list[Item]:
    """What one part of the select list stands for: several columns, if it is a star or a call."""
    star = node.this if isinstance(node, exp.Column) else node
    if isinstance(star, exp.Star):
        return _star(node, groups)
    inner = node.this if isinstance(node, (exp.Alias, exp.Aliases)) else node
    call = inner.this if isinstance(inner, exp.Filter) else inner
    if isinstance(call, exp.Anonymous) and not isinstance(node, exp.Alias):
        called = groups.body.routine(call.name)
        if called is not None and (len(called.returns) > 1 or isinstance(node, exp.Aliases)):
            names = [name for name, _ in called.returns]
            if isinstance(node, exp.Aliases):
                names = _names(node, names, called.name, groups)
            values = groups.results(call, called)
            return [Item(name, value, node) for name, value in zip(names, values)]
    if isinstance(node, exp.Aliases):
        raise MillstreamError(
            "a list of names stands after an aggregate of several columns only",
            place_of(node, groups.text),
            hint="Give the column one name: AS a.",
        )
    value = groups.bind(inner)
    value = coerce(value, STRING) if value.type == NULL else value
    return [Item(_name(node), value, node)]


def _name(node: exp.Expr) -> str:
    if isinstance(node, exp.Alias):
        return node.alias
    if isinstance(node, exp.Dot):
        return node.expression.name
    return node.name if isinstance(node, exp.Column) else to_sql(node)


def _names(node: exp.Aliases, there: list[str], called: str, groups: Scalars) -> list[str]:
    names = [name.name for name in node.expressions]
    if len(names) != len(there):
        raise MillstreamError(
            f'aggregate "{called}" gives {len(there)} columns, and here are {len(names)} names',
            place_of(node, groups.text),
            hint=f"Its columns are {', '.join(there)}.",
        )
    return names


def _star(node: exp.Expr, groups: Scalars) -> list[Item]:
    scope = groups.scope
    table = node.table if isinstance(node, exp.Column) else None
    if not scope.members:
        raise MillstreamError(
            "* needs FROM", place_of(node, groups.text), hint="Name a local table after FROM."
        )
    try:
        columns = scope.all_columns(table)
    except MillstreamError as error:
        raise error.at(place_of(node, groups.text)) from None
    return [Item(name, groups.field_of(column), node) for name, column in columns]


def _keys(
    group: exp.Expr | None, items: list[Item], rows: Scalars
) -> tuple[Expression, ...] | None:
    """What GROUP BY names: columns, expressions, positions or names of the select list."""
    if group is None:
        return None
    named = {i.name.lower(): i.value for i in items if not _results(i.value)}
    rows = replace(rows, aliases=named)
    keys: list[Expression] = []
    for part in group.expressions:
        for node in part.expressions if isinstance(part, exp.Tuple) else [part]:
            bound = rows.bind(node)
            if isinstance(bound, Literal) and bound.type == INTEGER:
                bound = _at_position(bound, items, node, rows).value
                if _results(bound):
                    raise MillstreamError(
                        f"GROUP BY {to_sql(node)} stands for an aggregate",
                        place_of(node, rows.text),
                        hint="Group by a column, and test the aggregate in HAVING.",
                    )
            keys += [] if bound in keys else [bound]
    return tuple(keys)


def _at_position(bound: Literal, items: list[Item], node: exp.Expr, rows: Scalars) -> Item:
    if bound.value is None or not 1 <= bound.value <= len(items):
        raise MillstreamError(
            f"position {bound.value} of the select list does not exist",
            place_of(node, rows.text),
            hint=f"Write a number from 1 to {len(items)}, or a column.",
        )
    return items[bound.value - 1]


def _order(
    node: exp.Select, items: list[Item], keys: tuple[Expression, ...] | None, groups: Scalars
) -> tuple[tuple[Ordered, ...], tuple[Ordered, ...]]:
    """The order of the rows that come out, and that in which aggregates are fed.

    What is no key and no result of an aggregate is a matter of the rows that go in.
    """
    clause = node.args.get("order")
    parts = [] if clause is None else clause.expressions
    bound = [_ordered(part, items, groups) for part in parts]
    assert groups.collector is not None
    if keys is None and not groups.collector.calls:
        return tuple(bound), ()
    order = tuple(o for o in bound if _is_of_groups(o.value, keys or (), groups))
    return order, tuple(o for o in bound if o not in order)


def _ordered(node: exp.Expr, items: list[Item], groups: Scalars) -> Ordered:
    made = bind_ordered(node, replace(groups, clause="ORDER BY"))
    if isinstance(made.value, Literal) and made.value.type == INTEGER:
        this = node.this if isinstance(node, exp.Ordered) else node
        return replace(made, value=_at_position(made.value, items, this, groups).value)
    return made


def _is_of_groups(value: Expression, keys: tuple[Expression, ...], groups: Scalars) -> bool:
    return not list(_ungrouped(value, keys, _labels(groups)))


def _labels(groups: Scalars) -> set[int]:
    return {value.label for value in groups.fields.values() if isinstance(value, Field)}


def _ungrouped(
    value: Expression, keys: tuple[Expression, ...], labels: set[int]
) -> Iterator[Field]:
    """The columns of the rows that an expression over groups looks at."""
    for part in parts_of(value, without=keys):
        if isinstance(part, Field) and part.label in labels:
            yield part


def _check_groups(made: Select, items: list[Item], node: exp.Select, rows: Scalars) -> None:
    """That what stands after grouping rests on keys and on results of aggregates."""
    labels = {source.label for source in made.sources}
    tested = [(item.value, item.node) for item in items]
    if made.having is not None:
        tested.append((made.having, node.args["having"].this))
    for value, written in tested:
        for found in _ungrouped(value, made.keys or (), labels):
            column = next(
                (c for c in written.find_all(exp.Column) if c.name.lower() == found.name.lower()),
                written,
            )
            add = "Add it to GROUP BY" if made.keys else f"Add GROUP BY {found.name}"
            raise MillstreamError(
                f'column "{found.name}" is neither in GROUP BY nor inside an aggregate',
                name_place_of(column, rows.text),
                hint=f"{add}, or write max({found.name}).",
            )


def _check_distinct(made: Select, node: exp.Select, rows: Scalars) -> None:
    values = [value for _, value in made.outputs]
    if made.distinct and any(o.value not in values for o in made.order):
        raise MillstreamError(
            "ORDER BY of SELECT DISTINCT names columns of the select list",
            place_of(node.args["order"], rows.text),
            hint="Select what the rows are ordered by.",
        )


def _results(value: Expression) -> bool:
    """Whether an expression rests on an aggregate of its own query."""
    return isinstance(value, Result) or any(_results(part) for part in value.children)


def _counts(node: exp.Select, rows: Scalars) -> tuple[Expression | None, Expression | None]:
    return tuple(  # type: ignore[return-value]
        bind_count(node.args.get(word), word.upper(), rows) for word in ("limit", "offset")
    )


def bind_count(clause: exp.Expr | None, word: str, scalars: Scalars) -> Expression | None:
    """The number of LIMIT or OFFSET: a constant, or made of arguments."""
    if clause is None:
        return None
    bound = replace(scalars, clause=word).bind(clause.expression)
    negative = isinstance(bound, Literal) and bound.type == INTEGER and not bound.value >= 0
    if bound.type != INTEGER or negative:
        raise MillstreamError(
            f"{word} needs a whole number that is not negative",
            place_of(clause.expression, scalars.text),
            hint=f"Write for example {word} 10.",
        )
    return bound
